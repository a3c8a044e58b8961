"""A scripted workspace for tests of the pages: the methods the pages call, plain values, and a log of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from pages._ui import session, style
from refiner.conversation_views import CutJob, CutReport
from refiner.errors import ConfigError, RefinerError
from refiner.evidence_views import GateJob, GateView
from refiner.job_views import Arrived, FailureRow, JobView, RefinementCard, StageView
from refiner.labels import ScoreRange
from refiner.resources import ROOT
from refiner.types import BadRecord
from refiner.views import (
    CorpusCard,
    CorpusView,
    Estimate,
    FileRow,
    IngestReport,
    LabelRow,
    SkillView,
    SuggestionRow,
    Upload,
)

STAGES = ("contrast", "summarise", "embed", "cluster", "propose", "recur", "fold", "gate", "merge", "audit")
FIXED = ("<style", style.ONE_PRESS)
"""How what the app draws by itself begins; no text of a person or a run is in it."""
HOSTILE = "<script>alert(1)</script> ![x](http://tracker/x.png) **bold** `code` $x$ :red[y]"


def skill_view(**fields: Any) -> SkillView:
    given = SkillView("key", "SKILL.md", "# Desk\n\n- Save early.\n", ("SKILL.md",), (), 3, 12)
    return replace(given, **fields)


def corpus_view(name: str = "runs", **fields: Any) -> CorpusView:
    given = CorpusView(
        name=name,
        traces=40,
        tasks=10,
        statuses={"pass": 18, "fail": 16, "unknown": 4, "infrastructure": 2},
        task_origins={"file": 40},
        tried_twice=9,
        failures_without_feedback=7,
        formats={"canonical": 40},
        models={"": 40},
        scripted=False,
        skill=skill_view(),
        warnings=(),
        disagreements=(),
        revision="r1",
    )
    return replace(given, **fields)


def label_rows(number: int = 4, **fields: Any) -> list[LabelRow]:
    rows = [
        LabelRow(f"id-{n}", f"run-{n}", f"Goal of run {n}", f"Answer {n}", f"Words {n}", "unknown", "", "", False)
        for n in range(1, number + 1)
    ]
    return [replace(row, **fields) for row in rows]


def job_view(status: str = "done", *, done: int = 10, **fields: Any) -> JobView:
    """A job with its first `done` stages passed; the next one runs when the job does."""
    stages = tuple(
        StageView(name, 4, 4, 1.0, 0, "done")
        if place < done
        else StageView(name, 1, 4, 2.0, 0, "running")
        if place == done and status == "running"
        else StageView(name, 0, 0, 0.0, 0, "waiting")
        for place, name in enumerate(STAGES)
    )
    given = JobView(
        refinement_id="ref-1",
        status=status,  # type: ignore[arg-type]
        stage=STAGES[min(done, 9)],
        stages=stages,
        failures=(),
        error=None,
        started_at="2026-01-31T12:00:00Z",
        seconds=12.0,
        reviewable=status in ("done", "cancelled"),
    )
    return replace(given, **fields)


def refinement_card(**fields: Any) -> RefinementCard:
    counts = {"supported": 5, "undecided": 3, "unsupported": 1}
    given = RefinementCard("ref-1", "2026-01-31T12:00:00Z", "done", "offline", "standard", counts, 0, 0)
    return replace(given, **fields)


class FakeDesk:
    """Answers from its attributes; every command is noted in `calls`; `refusals` holds what a command raises."""

    def __init__(self) -> None:
        self.views: dict[str, CorpusView] = {}
        self.rows: dict[str, list[LabelRow]] = {}
        self.made: dict[str, list[RefinementCard]] = {}
        self.jobs: dict[str, JobView] = {}
        self.uploads: dict[str, IngestReport] = {}
        self.now_running: str | None = None
        self.estimated = Estimate(16, 18, 2, 120, 14.0, 0, 0, 0.0, (), None)
        self.ingested = IngestReport(accepted=3, files=(FileRow("runs.jsonl", "canonical", 3, 0),))
        self.calls: list[tuple[Any, ...]] = []
        self.refusals: dict[str, RefinerError] = {}
        self.cut: CutJob | None = None
        self.waiting: list[SuggestionRow] = []
        self.arrivals: tuple[Arrived, ...] = ()
        self.name = "ada"
        self.steady = GateView(("Gate: deterministic.",), "", 0)

    def _command(self, *call: Any) -> None:
        self.calls.append(call)
        if refusal := self.refusals.get(call[0]):
            raise refusal

    def commands(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]

    def reviewer(self) -> str:
        return self.name

    def gate(self, refinement_id: str) -> GateView:
        return self.steady

    def calibrate(self, refinement_id: str, keys: Any, *, planted: bool = False) -> None:
        self._command("calibrate", refinement_id, planted)
        self.steady = replace(self.steady, job=GateJob("running", 3, 18))

    def cancel_calibration(self, refinement_id: str) -> None:
        self._command("cancel_calibration", refinement_id)
        self.steady = replace(self.steady, job=GateJob("cancelling", 3, 18))

    def set_reviewer(self, name: str) -> None:
        self._command("set_reviewer", name)
        self.name = name

    def corpora(self) -> list[CorpusCard]:
        return [
            CorpusCard(
                one.name, one.traces, one.tasks, one.statuses, one.scripted, one.skill is not None,
                len(self.made.get(one.name, ())), one.opened,
            )
            for one in self.views.values()
        ]  # fmt: skip

    def create_corpus(self, name: str) -> None:
        self._command("create_corpus", name)
        if name in self.views:
            raise ConfigError(f'there is a corpus "{name}" already; choose another name')
        self.views[name] = corpus_view(name, traces=0, tasks=0, statuses={}, skill=None)

    def remove_corpus(self, name: str) -> None:
        self._command("remove_corpus", name)
        del self.views[name]

    def corpus(self, name: str) -> CorpusView:
        return self.views[name]

    def load_sample(self) -> str:
        self._command("load_sample")
        self.views["sample"] = corpus_view("sample", scripted=True)
        return "sample"

    def ingest(self, name: str, uploads: Sequence[Upload], *, task_key: str | None = None) -> IngestReport:
        self._command("ingest", name, {one.name: one.data.read() for one in uploads})
        self.uploads[name] = self.ingested
        self.views[name] = replace(self.views[name], traces=self.views[name].traces + self.ingested.accepted)
        return self.ingested

    def last_upload(self, name: str) -> IngestReport | None:
        return self.uploads.get(name)

    def attach_labels(
        self, name: str, upload: Upload, *, pass_at: float = 1.0, lower_is_better: bool = False
    ) -> IngestReport:
        self._command("attach_labels", name, upload.name, pass_at, lower_is_better)
        return self.ingested

    def suggestions(self, name: str) -> list[SuggestionRow]:
        return list(self.waiting)

    def accept_suggestions(self, name: str, trace_ids: Sequence[str]) -> int:
        return self._answered("accept_suggestions", name, trace_ids)

    def dismiss_suggestions(self, name: str, trace_ids: Sequence[str]) -> int:
        return self._answered("dismiss_suggestions", name, trace_ids)

    def _answered(self, command: str, name: str, trace_ids: Sequence[str]) -> int:
        self._command(command, name, tuple(trace_ids))
        self.waiting = [row for row in self.waiting if row.trace_id not in trace_ids]
        return len(trace_ids)

    def score_ranges(self, name: str) -> list[ScoreRange]:
        return []

    def label(self, name: str, trace_id: str, status: str, *, note: str | None = None) -> None:
        self._command("label", name, trace_id, status, note)
        self.waiting = [row for row in self.waiting if row.trace_id != trace_id]
        self.rows[name] = [
            replace(row, status=status, origin="human") if row.trace_id == trace_id else row
            for row in self.rows.get(name, ())
        ]

    def dispute(self, name: str, trace_id: str, reason: str) -> None:
        self._command("dispute", name, trace_id, reason)

    def label_rows(self, name: str, *, status: str | None = None, offset: int = 0, limit: int = 60) -> list[LabelRow]:
        rows = [row for row in self.rows.get(name, ()) if status in (None, row.status)]
        return rows[offset : offset + limit]

    def cut_conversations(self, name: str) -> CutReport:
        self._command("cut_conversations", name)
        self.views[f"{name} episodes"] = corpus_view(f"{name} episodes", statuses={"unknown": 3})
        return CutReport(f"{name} episodes", 1, 1, 1, {"no reaction": 2}, 2)

    def cut_job(self, name: str) -> CutJob | None:
        return self.cut

    def cancel_cut(self, name: str) -> None:
        self._command("cancel_cut", name)

    def read_skill(self, uploads: Sequence[Upload]) -> dict[str, bytes]:
        return {one.name: one.data.read() for one in uploads}

    def set_skill(
        self,
        name: str,
        files: Mapping[str, bytes] | None,
        *,
        main: str = "SKILL.md",
        skill_name: str | None = None,
    ) -> SkillView:
        self._command("set_skill", name, files, main, skill_name)
        shown = skill_view(text=files[main].decode()) if files else skill_view(skeleton=True)
        self.views[name] = replace(self.views[name], skill=shown)
        return shown

    def estimate(self, name: str, settings: Mapping[str, Any]) -> Estimate:
        self._command("estimate", name, dict(settings))
        return self.estimated

    def start(self, name: str, settings: Mapping[str, Any], keys: object = None) -> str:
        self._command("start", name, dict(settings))
        self.jobs["ref-1"] = job_view("running", done=2)
        self.made[name] = [refinement_card(status="running", counts={})]
        self.now_running = "ref-1"
        return "ref-1"

    def job(self, refinement_id: str) -> JobView:
        return self.jobs[refinement_id]

    def running(self) -> str | None:
        return self.now_running

    def cancel(self, refinement_id: str) -> None:
        self._command("cancel", refinement_id)

    def resume(self, refinement_id: str, keys: object = None) -> None:
        self._command("resume", refinement_id)

    def rerun(self, refinement_id: str, stage: str, keys: object = None) -> None:
        self._command("rerun", refinement_id, stage)

    def arrived(self, refinement_id: str) -> tuple[Arrived, ...]:
        self._command("arrived", refinement_id)
        return self.arrivals

    def refinements(self, name: str) -> list[RefinementCard]:
        return self.made.get(name, [])

    def corpus_of(self, refinement_id: str) -> str:
        for name, made in self.made.items():
            if any(one.id == refinement_id for one in made):
                return name
        raise RefinerError(f"there is no refinement {refinement_id}")


def finish(desk: FakeDesk, name: str, **fields: Any) -> None:
    """A finished refinement of a corpus."""
    desk.made[name] = [refinement_card()]
    desk.jobs["ref-1"] = job_view("done", **fields)
    desk.now_running = None


def open_app(monkeypatch: pytest.MonkeyPatch, desk: object, page: str = "corpus", **params: str) -> AppTest:
    """The app on a page with that desk, drawn once."""
    monkeypatch.setattr(script_runner, "_mpa_v1", entry)
    monkeypatch.setattr(session, "opened", lambda path: desk)
    monkeypatch.setattr(session, "warm_up", lambda: None)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=20)
    for name, value in params.items():
        app.query_params[name] = value
    if page != "corpus":
        # The first run registers the pages; only then can one be switched to.
        app.run()
        app.switch_page(str(Path("pages") / f"{page}.py"))
        for name, value in params.items():
            app.query_params[name] = value
    return app.run()


def entry(path: str) -> None:
    """Runs `app.py` as a server does from its second run on; AppTest takes each run for a server's first."""
    PagesManager.uses_pages_directory = False
    exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), {"__name__": "__main__", "__file__": path})


def words(app: AppTest) -> str:
    """All text on the screen that pages draw with `st.html` and `st.text`."""
    return "\n".join(
        [
            *(one.proto.body for one in app.get("html") if not one.proto.body.startswith(FIXED)),
            *(one.value for one in app.text),
        ]
    )


def rejected(reason: str = "not JSON", path: str = "bad.jsonl", line: int = 7) -> BadRecord:
    return BadRecord(path, line, reason)


def failure(error: str = "429 too many requests") -> FailureRow:
    return FailureRow("propose", "cluster 3", error)
