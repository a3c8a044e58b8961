"""A refinement that waits for replies: its requests to take away, and the replies to bring back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, keys, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.job_views import JobView
    from refiner.model_views import Asks
    from refiner.views import Upload

GENERATION = "replies_generation"


def draw(job: JobView) -> None:
    """What to do while replies are waited for; nothing for any other refinement."""
    if job.asks is not None and job.asks.stopped == "waiting":
        panel(job.asks, "Resume", of(job, lambda: session.workspace().resume(job.refinement_id, keys.of(job.asks))))


@dataclass(frozen=True, slots=True)
class Post:
    """Where requests come from, where replies go, and what goes on once they are there."""

    requests: Callable[[], bytes]
    answer: Callable[[Upload], int]
    go_on: Callable[[], None]


def of(job: JobView, go_on: Callable[[], None]) -> Post:
    """The requests and replies of a refinement."""
    desk, name = session.workspace(), job.refinement_id
    return Post(lambda: desk.requests(name), lambda upload: desk.answer(name, upload), go_on)


def panel(asks: Asks, button: str, post: Post) -> None:
    """Requests to take away and replies to bring back; then it goes on by itself. `button` goes on by hand."""
    cards.card(
        "say",
        f"Download the requests, have them answered (the instructions are in them), and upload the replies. An agent "
        f"on this machine can also work in {asks.folder} itself; then press “{button}”.",
        f"Waiting for {count(asks.waiting, 'reply', 'replies')}",
    )
    generation = st.session_state.get(GENERATION, 0)
    with st.container(key="handoff", horizontal=True, vertical_alignment="top", gap="small"):
        st.download_button(
            f"Download {count(asks.waiting, 'request')}", post.requests(),
            "requests.zip", "application/zip", key="handoff_requests", type="primary", on_click="ignore",
            icon=":material/download:",
        )  # fmt: skip
        files = st.file_uploader(
            "Replies: .json files, or a zip of them", accept_multiple_files=True, key=f"handoff_replies_{generation}"
        )
    if files:
        st.session_state[GENERATION] = generation + 1
        take_in(files, post)
        st.rerun()


def take_in(files: list[Any], post: Post) -> None:
    """Takes the replies in and goes on; a file that is no reply is named and left."""
    from refiner.views import Upload

    found = [cards.attempt(post.answer, Upload(one.name, one)) for one in files]
    taken = sum(one.value for one in found if one)
    if not taken:
        cards.notice("warn", "None of these files holds a reply. Each reply is a file ID.json named like its request.")
    elif cards.attempt(post.go_on):
        cards.notice("done", f"{count(taken, 'file')} of replies taken in; it goes on.")
