"""Files on their way in: traces, zips, folders and label files, and the report of what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, corpora, session
from pages._ui.text import count

if TYPE_CHECKING:
    from refiner.views import IngestReport

GENERATION = "upload_generation"
SHOWN = 50
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


def report(name: str) -> None:
    """What became of the last upload to this corpus: counts, files, rejected records, and a CSV of it all."""
    one = session.workspace().last_upload(name)
    if one is None:
        return
    st.subheader("The last upload", anchor=False)
    _counts(one)
    cards.sentences([*one.conflicts, *one.warnings])
    _files(one)
    _rejected(one)
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
    if not (one.accepted or one.duplicates or one.grown or one.labels):
        cards.card("error", "None of these files holds a trace or a label that can be read. The rows below say why.")
        return
    numbers = {
        "new traces": one.accepted,
        "grown traces": one.grown,
        "already there": one.duplicates,
        "labels": one.labels,
        "rejected": len(one.rejected),
    }
    cards.metrics({words: f"{number:,}" for words, number in numbers.items()})


def _files(one: IngestReport) -> None:
    rows = [(row.path, row.format, f"{row.traces:,}", f"{row.rejected:,}") for row in one.files[:SHOWN]]
    if rows:
        cards.table(("File", "Read as", "Traces", "Rejected"), rows, numbers=(2, 3))
    _rest(len(one.files), "file")


def _rejected(one: IngestReport) -> None:
    rows = [(bad.path, bad.line or "", bad.reason) for bad in one.rejected[:SHOWN]]
    if rows:
        cards.table(("Rejected", "Line", "Why"), rows, numbers=(1,))
    _rest(len(one.rejected), "rejected record")


def _rest(total: int, noun: str) -> None:
    if total > SHOWN:
        cards.line(f"{count(total - SHOWN, 'more ' + noun)}: the CSV has them all.")
