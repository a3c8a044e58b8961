"""Trace: every message of one run, with a search, and what was cited from it. Draws; one read of the workspace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import streamlit as st

from pages._ui import cards, header, messages, review_panes, session
from pages._ui.run_facts import facts
from pages._ui.text import count, esc
from refiner.errors import RefinerError
from refiner.reporting.analysts import decisive_words
from refiner.types import Span

if TYPE_CHECKING:
    from refiner.views import TraceView

PAGE = 50


def draw(view: TraceView) -> None:
    head(view)
    at = session.param("at")
    wanted = int(at) if at and at.isdecimal() else None
    with st.container(key="tr_tools", horizontal=True, vertical_alignment="bottom", gap="small"):
        needle = st.text_input("Find", key="find", bind="query-params", type="search", live=True, width=280) or ""
        roles = st.pills("From", messages.ROLES, selection_mode="multi", key="role", bind="query-params")
        downloads(view)
        if view.decisive is not None:
            session.link(
                "trace", f"Where it may have gone wrong: #{view.decisive + 1}", **here(view.trace.id, view.decisive)
            )
    shown = matching(view.trace.spans, needle, roles)
    blamed = None if view.decisive is None else messages.Blamed(view.decisive, decisive_words(view.analyst))
    quoted = [one for one in view.cited if one.ordinal == messages.FEEDBACK]
    st.html(messages.feedback(view.outcome, quoted) or '<p class="sr-muted">No feedback was recorded.</p>')
    st.html(f'<p class="rv-meta">{summary(view, shown, needle, bool(roles))}</p>')
    for span in on_page(shown, wanted):
        cited = [one for one in view.cited if one.ordinal == span.ordinal]
        st.html(messages.message(span, cited, needle=needle, here=span.ordinal == wanted, blamed=blamed))
    if not shown:
        cards.empty("Nothing found", "No message holds this. Clear the search or choose other speakers.")


def head(view: TraceView) -> None:
    trace = view.trace
    line = "".join(f"<span>{esc(one, 120)}</span>" for one in facts(view))
    st.html(
        f'<div class="rv-trace-head"><b>{esc(view.external_id)}</b> {messages.outcome_chip(view.outcome)}'
        f'<p class="rv-facts rv-small">{line}</p><p class="rv-text">{esc(trace.task)}</p></div>'
    )


def here(trace_id: str, ordinal: int) -> dict[str, str | None]:
    """The address of a message of this run; the way back stays."""
    kept = {name: session.param(name) for name in ("change", "pick")}
    return {"id": trace_id, "at": str(ordinal), **kept}


def matching(spans: Sequence[Span], needle: str, roles: Sequence[str]) -> list[Span]:
    """The messages of these speakers (all when none is chosen) that hold what is searched for."""
    low = needle.lower()
    said = (span for span in spans if not roles or messages.role(span) in roles)
    return [span for span in said if not low or low in f"{messages.whole(span)}\n{span.error or ''}".lower()]


def summary(view: TraceView, shown: Sequence[Span], needle: str, filtered: bool) -> str:
    total = count(len(view.trace.spans), "message")
    places = len({one.ordinal for one in view.cited if one.ordinal != messages.FEEDBACK})
    cited = f", {places} of them cited" if places else ""
    return f"{len(shown):,} of {total}{cited}" if needle or filtered else f"{total}{cited}"


def on_page(shown: Sequence[Span], wanted: int | None) -> Sequence[Span]:
    """Fifty messages; at first those around the one that the link points at."""
    pages = -(-len(shown) // PAGE)
    if pages < 2:
        return shown
    place = next((at for at, span in enumerate(shown) if span.ordinal == wanted), 0)
    page = st.pagination(pages, default=place // PAGE + 1, key=f"tr_page_{session.param('id')}_{pages}")
    return shown[(page - 1) * PAGE : page * PAGE]


def downloads(view: TraceView) -> None:
    raw = json.dumps(asdict(view.trace), ensure_ascii=False, indent=2)
    with st.popover("Raw record", key="tr_raw", type="tertiary"):
        st.code(raw[:20_000], language="json", height=360)
        if len(raw) > 20_000:
            st.text("The rest is in the download.")
    data = raw.encode("utf-8", "backslashreplace")
    st.download_button("Download", data, "trace.json", "application/json", key="tr_download", on_click="ignore")


def way_back() -> None:
    if change := session.param("change"):
        session.link("review", "Back to the proposal", icon=":material/arrow_back:", change=change)
    elif session.param("refinement"):
        session.link("map", "Back to the map", icon=":material/arrow_back:", pick=session.param("pick"))


def page() -> None:
    review_panes.apply_style()
    header.show(None, "Run")
    way_back()
    if (wanted := session.param("id")) is None:
        cards.empty("No run chosen", "Open one from Review or from the map.")
        return
    draw(session.workspace().trace(wanted, refinement_id=session.current_refinement()))


try:
    page()
except RefinerError as error:
    cards.card("error", str(error), "This run cannot be shown")
    session.link("corpus", "See the runs that are there", icon=":material/arrow_forward:")
