"""Cards that every page uses: numbers, empty states, sentences that warn, and errors. Every text is shown as text."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, ParamSpec, TypeVar

import streamlit as st

from pages._ui.text import esc
from refiner.errors import RefinerError

P = ParamSpec("P")
T = TypeVar("T")
Kind = Literal["error", "warn", "done", "say"]
NOTICES = "notices"
log = logging.getLogger("refiner.app")


def metrics(numbers: Mapping[str, object]) -> None:
    """A row of numbers, each with its words."""
    cells = "".join(
        f'<div class="sr-metric"><b>{esc(value)}</b><span>{esc(words)}</span></div>' for words, value in numbers.items()
    )
    st.html(f'<div class="sr-metrics">{cells}</div>')


def empty(title: str, words: str) -> None:
    """What a page shows instead of its content, with a sentence that says what to do next."""
    st.html(f'<div class="sr-card sr-empty"><h3>{esc(title)}</h3><p>{esc(words)}</p></div>')


def card(kind: Kind, words: str, title: str = "") -> None:
    """A sentence with a coloured edge: an error, a warning, something done, or something to know."""
    head = f"<h3>{esc(title)}</h3>" if title else ""
    role = "alert" if kind == "error" else "note"
    st.html(f'<div class="sr-card sr-{kind}" role="{role}">{head}<p class="sr-quote">{esc(words)}</p></div>')


def line(words: str, *, strong: bool = False) -> None:
    """One line of text; muted unless `strong`."""
    if words:
        st.html(f'<p class="sr-line {"sr-strong" if strong else "sr-muted"}">{esc(words)}</p>')


def sentences(words: Iterable[str], kind: Kind = "warn") -> None:
    """One card with a line for each sentence; nothing when there is none."""
    lines = "".join(f"<p>{esc(one)}</p>" for one in words)
    if lines:
        st.html(f'<div class="sr-card sr-{kind}" role="note">{lines}</div>')


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> None:
    """A small table of text; the columns in `numbers` are aligned right."""

    def cell(tag: str, place: int, value: object) -> str:
        return f"<{tag}{' class=n' if place in numbers else ''}>{esc(value)}</{tag}>"

    head = "".join(cell("th", place, one) for place, one in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell('td', place, one) for place, one in enumerate(row))}</tr>" for row in rows)
    st.html(f'<table class="sr-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def pairs(rows: Iterable[tuple[str, object]]) -> None:
    """Words on the left, what they are on the right."""
    body = "".join(f"<dt>{esc(words)}</dt><dd>{esc(value)}</dd>" for words, value in rows)
    st.html(f'<dl class="sr-pairs">{body}</dl>')


def unexpected(error: Exception) -> None:
    """The card of an error that nobody foresaw: an id here, the details under that id in the log."""
    name = uuid.uuid4().hex[:8]
    log.error("error %s", name, exc_info=error)
    words = "Something went wrong on this page. Nothing that was stored is lost; reload to go on."
    line = f'<p class="sr-id">error {name}; the details are in the log of the server</p>'
    st.html(f'<div class="sr-card sr-error" role="alert"><p>{esc(words)}</p>{line}</div>')


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a command returned; only a command that went through has one."""

    value: T


def attempt(command: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Done[T] | None:
    """Runs a command. When it refuses, returns None and keeps its words as a notice for the next drawing."""
    try:
        return Done(command(*args, **kwargs))
    except RefinerError as error:
        notice("error", str(error))
    except Exception as error:
        name = uuid.uuid4().hex[:8]
        log.error("error %s", name, exc_info=error)
        notice("error", f"That did not work (error {name}; the details are in the log of the server).")
    return None


def notice(kind: Kind, words: str) -> None:
    """Keeps a sentence for the next drawing of the page."""
    waiting: list[Any] = st.session_state.setdefault(NOTICES, [])
    waiting.append((kind, words))


def notices() -> None:
    """Draws the kept sentences once, in the order in which they came."""
    for kind, words in st.session_state.pop(NOTICES, []):
        card(kind, words)
