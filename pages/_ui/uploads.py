"""Files on their way in: traces, zips, folders and label files, and the report of what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, corpora, session
from pages._ui.text import count
from refiner.file_reports import LISTED, by_format, by_reason, format_words

if TYPE_CHECKING:
    from refiner.types import BadRecord
    from refiner.views import CorpusView, IngestReport

GENERATION = "upload_generation"
SHOWN = 50
CLASHES = 5
SMALLEST = """{"trace_id": "run-1", "task_id": "refund-17", "spans": [
  {"name": "user", "output_text": "Please refund order 17"},
  {"name": "find_order", "input_text": "{\\"id\\": 17}", "output_text": "{\\"status\\": \\"delivered\\"}"},
  {"name": "assistant", "output_text": "Done."}]}"""
LABELS = """trace_id,outcome,feedback
run-1,fail,The order was delivered: it cannot be refunded."""


def traces(name: str, *, new: bool = False) -> None:
    """Takes traces for a corpus as soon as their bytes are there; with `new` the corpus is made first."""
    generation = st.session_state.get(GENERATION, 0)
    left, right = st.columns(2)
    with left:
        files = st.file_uploader("Files and zips", accept_multiple_files=True, key=f"upload_files_{generation}")
    with right:
        folder = st.file_uploader("A folder", accept_multiple_files="directory", key=f"upload_folder_{generation}")
    given = [*(files or ()), *(folder or ())]
    if given:
        with st.spinner(f"Reading {count(len(given), 'file')}"):
            _take_in(name, given, new)
        # A new key drops the reference to the bytes, which would stay in memory otherwise.
        st.session_state[GENERATION] = generation + 1
        st.rerun()


def schema() -> None:
    """The smallest file that can be read, with its copy button."""
    cards.line("The smallest trace, one JSON object a line (a .jsonl file):")
    st.code(SMALLEST, language="json", wrap_lines=True)
    cards.line("Outcomes may lie in a file beside it, CSV or JSON:")
    st.code(LABELS, language=None, wrap_lines=True)


def labels(name: str) -> None:
    """A form for a file of outcomes and feedback."""
    with st.form("labels_form", border=False, clear_on_submit=True):
        given = st.file_uploader(
            "Outcomes: CSV, JSON or JSONL by trace id, evaluation results, or a test report (CTRF, JUnit XML)",
            key="labels_file",
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.number_input(
                "A score passes from",
                0.0,
                1.0,
                1.0,
                0.05,
                key="labels_pass_at",
                width=180,
                help="Only read for scores.",
            )
            st.toggle("Lower is better", key="labels_lower")
        if st.form_submit_button("Attach", key="labels_attach", type="primary"):
            _attach(name, given)
            st.rerun()


def report(view: CorpusView) -> None:
    """What became of the last upload to this corpus: counts, files, what was left out, and a CSV of it all."""
    one = session.workspace().last_upload(view.name)
    if one is None:
        return
    st.subheader("The last upload", anchor=False)
    _counts(one)
    _next(view)
    clashes = [*one.conflicts[:CLASHES], *_rest(len(one.conflicts) - CLASHES, "more contradiction")]
    cards.sentences([*clashes, *one.warnings])
    _files(one)
    _reasons("Rejected", "Records", one.rejected)
    _reasons("Left out, since they are no trace files", "Files", one.skipped)
    st.download_button("Download as CSV", one.csv(), "ingest.csv", "text/csv", key="ingest_csv", on_click="ignore")


def _take_in(name: str, given: Sequence[Any], new: bool) -> None:
    from refiner.views import Upload

    made = corpora.create(name) if new else name
    if made is None:
        return
    uploads = [Upload(one.name, one) for one in given]
    if cards.attempt(session.workspace().ingest, made, uploads):
        session.put(corpus=made, view="traces")


def _attach(name: str, given: Any) -> None:
    from refiner.views import Upload

    if given is None:
        cards.notice("error", "No file was chosen: choose the file with the outcomes, then press “Attach”.")
        return
    cards.attempt(
        session.workspace().attach_labels,
        name,
        Upload(given.name, given),
        pass_at=st.session_state["labels_pass_at"],
        lower_is_better=st.session_state["labels_lower"],
    )


def _counts(one: IngestReport) -> None:
    if not (one.accepted or one.duplicates or one.grown or one.labels or one.conflicts):
        cards.card("error", "Nothing could be taken from these files. The rows below say why, and what to do.")
        return
    if one.duplicates and not (one.accepted or one.grown or one.conflicts):
        cards.card(
            "done", f"Nothing new: {count(one.duplicates, 'trace')} read, and already there. Nothing was changed."
        )
    numbers = {
        "new traces": one.accepted,
        "grown traces": one.grown,
        "already there": one.duplicates,
        "contradicting others": len(one.conflicts),
        "labelled by a file": one.labels,
        "rejected": len(one.rejected),
        "files left out": len(one.skipped),
    }
    cards.metrics({words: f"{number:,}" for words, number in numbers.items()})


def _next(view: CorpusView) -> None:
    """What the corpus holds after this, and where to go from here."""
    if not view.traces:
        return
    ends = view.statuses
    known = f"{ends['pass']:,} passed, {ends['fail']:,} failed, {ends['unknown']:,} without an outcome"
    with st.container(key="upload_next", horizontal=True, vertical_alignment="center", gap="small"):
        cards.line(f"The corpus holds {count(view.traces, 'trace')} now: {known}.", strong=True)
        if ends["pass"] or ends["fail"]:
            session.link("corpus", "Look at the corpus", icon=":material/arrow_forward:", view="overview")
        else:
            session.link("corpus", "Say how they ended", icon=":material/arrow_forward:", view="labels")


def _files(one: IngestReport) -> None:
    """A row a file, or a row a format when there are many."""
    many = len(one.files) > LISTED
    grouped = by_format(one.files) if many else [(row.format, row.path, [row]) for row in one.files]
    rows = [
        (where, format_words(name), sum(row.traces for row in inside), sum(row.rejected for row in inside))
        for name, where, inside in grouped
    ]
    if many:
        rows.append((count(len(one.files), "file"), "", sum(row[2] for row in rows), sum(row[3] for row in rows)))
    if rows:
        shown = [(where, name, f"{traces:,}", f"{bad:,}") for where, name, traces, bad in rows]
        cards.table(("File", "Read as", "Traces", "Rejected"), shown, numbers=(2, 3))
    if many:
        cards.line("The CSV has a row for each file.")


def _reasons(head: str, what: str, records: Sequence[BadRecord]) -> None:
    """The reasons for which records or files were left out, with the first places of each."""
    found = by_reason(records)
    if found:
        rows = [(one.words, f"{one.count:,}", one.where) for one in found[:SHOWN]]
        cards.table((head, what, "Where"), rows, numbers=(1,))
    for words in _rest(len(found) - SHOWN, "more reason"):
        cards.line(words)


def _rest(number: int, noun: str) -> list[str]:
    return [f"{count(number, noun)}: the CSV has them all."] if number > 0 else []
