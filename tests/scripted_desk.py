"""A workspace for the tests of pages: one refinement in memory, a decision log, rules of refusal. No database."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.testing.v1 import AppTest

from pages._ui import session
from refiner import merge, review
from refiner.errors import DecisionRefused, NotReady, StoreError
from refiner.ids import text_key
from refiner.ports import Labelled
from refiner.reporting.counted import Counted, counted
from refiner.reporting.report import Decided, Inputs, Report
from refiner.review.ledger import Ledger, Look, ledger
from refiner.snapshot import Snapshot
from refiner.types import (
    Change,
    Citation,
    Cluster,
    Clustering,
    Contrast,
    ContrastTable,
    Criterion,
    Decision,
    Edit,
    Finding,
    MapPoint,
    Outcome,
    Proposal,
    Shortfall,
    SkillVersion,
    Span,
    Trace,
    Verdict,
)
from refiner.views import Item, Review, TraceView

NAME = "r1"
CORPUS = "books"
HOSTILE = "<img src=x onerror=alert(1)> ![x](http://evil.example/p.png) **bold** <script>alert(2)</script>"
SKILL = """---
name: books
---

# Books

## Saving

- Save with `save_book`.
- Never rush.

## Reading

- Read with `read_book`.
"""
STATUS = {"accept": "accepted", "amend": "accepted", "reject": "rejected", "skip": "skipped"}


class ScriptedDesk:
    """What the pages of review ask for. `now` is the clock; a decision less than 0.7 s after `shown_at` is refused."""

    def __init__(self, made: Report, *, now: Any = None) -> None:
        self.made = made
        self.clashes = merge.conflicts(made.changes)
        self.log: list[Decision] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.elsewhere = 0
        self.looks: list[Look] = []
        self.running: SimpleNamespace | None = None
        self.newer_than = (0, 0)
        self.disputed: list[tuple[str, str, str]] = []
        self.now = now or (lambda: float("inf"))

    def reviewer(self) -> str:
        return "ada"

    def corpora(self) -> list[Any]:
        return [SimpleNamespace(name=CORPUS, scripted=False)]

    def corpus_of(self, refinement_id: str) -> str:
        return CORPUS

    def refinements(self, name: str) -> list[Any]:
        return [SimpleNamespace(id=NAME, status="running" if self.running else "done")]

    def job(self, refinement_id: str) -> Any:
        return self.running

    def newer(self, refinement_id: str) -> tuple[int, int]:
        return self.newer_than

    def report(self, refinement_id: str) -> Report:
        if self.running:
            raise NotReady("it runs")
        if refinement_id != NAME:
            raise StoreError(f"there is no refinement {refinement_id}; choose one on Refine")
        return self.made

    def review(self, refinement_id: str) -> Review:
        items = tuple(self._item(row) for row in self.made.decided)
        counts = {status: sum(item.status == status for item in items) for status in STATUS.values()}
        return Review(NAME, items, counts, len(self.log) + self.elsewhere, 4.0 if self.log else None)

    def last_event(self, refinement_id: str) -> int:
        return len(self.log) + self.elsewhere

    def _latest(self, change_id: str) -> Decision | None:
        mine = [one for one in self.log if one.change_id == change_id]
        while mine and mine[-1].action == "undo":
            mine = mine[:-2]
        return mine[-1] if mine else None

    def _item(self, row: Decided) -> Item:
        made = self._latest(row.change.key)
        status: Any = STATUS[made.action] if made else "open"
        edit = row.change.edits[0]
        clashes = [group for group in self.clashes if row.change in group]
        barred = self.made.barred.get(row.change.key)
        return Item(
            change_id=row.change.key,
            row=row,
            status=status,
            in_skill=status == "accepted",
            decision=made,
            conflicts=tuple(one.key for group in clashes for one in group if one != row.change),
            similar=None,
            seen=made is not None,
            tasks=max((one.tasks for one in row.verdicts), default=0),
            place=" › ".join(edit.section),
            intent=row.rule,
            text=edit.new,
            hash=text_key("shown", row.change.key, status),
            blocked=barred,
            releasable=barred is not None,
        )

    def decide(self, refinement_id: str, change_id: str, action: Any, **said: Any) -> Review:
        self.calls.append((action, {"change_id": change_id, **said}))
        item = self.review(NAME).item(change_id)
        assert item is not None
        if item.decision and (item.decision.action, said.get("amended")) == (action, None):
            return self.review(NAME)
        self._check(item, action, said)
        edits = (replace(item.row.change.edits[0], new=said["amended"]),) if said.get("amended") is not None else ()
        self.log.append(
            Decision(
                change_id, NAME, self.made.base.key, action, edits, said.get("reason_code", ""), said.get("reason", ""),
                item.row.result == "unsupported" and action in ("accept", "amend"), "ada",
            )
        )  # fmt: skip
        return self.review(NAME)

    def _check(self, item: Item, action: Any, said: dict[str, Any]) -> None:
        if self.now() - said["shown_at"] < 0.7:
            raise DecisionRefused(
                "This was on screen for less than a moment: look at it, then press again.", "too_fast"
            )
        if said["seen"] != item.hash:
            raise DecisionRefused("This change is not as it was: look again.", "stale")
        against = item.row.result == "unsupported" or item.blocked
        if action in ("accept", "amend") and against and not said.get("reason"):
            raise DecisionRefused("The gate says no: give a reason.", "needs_reason")

    def preview(self, refinement_id: str, change_id: str) -> tuple[merge.Merged, merge.Merged]:
        return review.either_way(review.lay_out(self.made), review.standing(self.log), change_id)

    def undo(self, refinement_id: str) -> Decision | None:
        last = next((one for one in reversed(self.log) if self._latest(one.change_id) is one), None)
        if last:
            self.log.append(replace(last, action="undo"))
        return last

    def trace(self, trace_id: str, *, refinement_id: str | None = None) -> TraceView:
        for one in self.made.snapshot.training:
            if one.trace.id == trace_id:
                quoted = [c for p in self.made.proposals for c in p.citations if c.trace_id == trace_id]
                name, at = one.trace.external_id, self.made.decisive.get(trace_id)
                return TraceView(one.trace, one.outcome, tuple(quoted), name, at, self.made.analyst)
        raise StoreError(f"there is no run {trace_id}; open one from Review")

    def nearest_opposite(self, refinement_id: str, change_id: str, n: int = 5) -> list[TraceView]:
        passed = [one for one in self.made.snapshot.training if one.outcome.status == "pass"]
        return [TraceView(one.trace, one.outcome, (), one.trace.external_id) for one in passed[:n]]

    def counted(self, refinement_id: str, change_id: str) -> dict[str, tuple[Counted, ...]]:
        row = next(row for row in self.made.decided if row.change.key == change_id)
        measured = next((one.contrast for one in row.verdicts if one.contrast), None)
        return counted(measured, self.made.snapshot.training) if measured else {}

    def ledger(self, refinement_id: str) -> Ledger:
        return ledger(review.lay_out(self.made), review.standing(self.log), self.looks)

    def look_again(self, refinement_id: str, change_id: str, answer: Any, *, shown_at: float) -> Ledger:
        if self.now() - shown_at < 0.7:
            raise DecisionRefused("that was too fast", "too_fast")
        self.looks.append(Look(change_id, answer, "ada", "2026-01-01T00:00:00.000Z", "ada"))
        return self.ledger(refinement_id)

    def dispute(self, name: str, trace_id: str, reason: str) -> None:
        self.disputed.append((name, trace_id, reason))


def run(
    name: str, status: Any, *, task: str = "", messages: int = 5, model: str = "m1", feedback: str = ""
) -> Labelled:
    """A run with a request, tool calls and an answer; failing ones save without reading back."""
    spans = [Span(0, "s1", "message", "user", "user", output=f"Please tidy {name}.")]
    for at in range(1, messages - 1):
        spans.append(
            Span(at, f"s{at + 1}", "tool_call", "save_book", input=f'{{"page": {at}}}', output=f"saved page {at}")
        )
    spans.append(Span(messages - 1, f"s{messages}", "message", "assistant", "assistant", output=f"Done with {name}."))
    trace = Trace(CORPUS, name, "canonical", f"Tidy {name}", task or name, "file", tuple(spans), model)
    return Labelled(trace, Outcome(trace.id, status, feedback=feedback or None))


def quote(one: Labelled, ordinal: int = 1) -> Citation:
    """A verified quote of one tool call as a whole."""
    span = one.trace.spans[ordinal]
    text = f"{span.name}\ninput: {span.input}\noutput: {span.output}"
    return Citation(one.trace.id, ordinal, span.span_id, text, 0, len(text), True)


def change(new: str, old: str = "- Save with `save_book`.", *, op: Any = "insert_after", why: str = "") -> Change:
    """A change of the section on saving."""
    section = ("Books", "Saving")
    start = SKILL.encode().index(old.encode())
    edit = Edit("SKILL.md", op, section, old, new, (start, start + len(old.encode()) + 1))
    return Change((edit,), (), why or f"Because of {new}")


def _proposal(made: Change, groups: tuple[str, ...], cited: tuple[Citation, ...]) -> Proposal:
    text = made.edits[0].new
    return Proposal("failure", "cluster", groups, "saving, page", text, "", behaviour="b", citations=cited)


def _verdict(made: Change, result: Any, cited: tuple[Citation, ...]) -> Verdict:
    contrast = Contrast(
        "absent(read_book after save_book)", 6, 5, 6, 0, 4, 3, True, 1e-6, 2e-5, 9, 1e-9, "yes", "5 of 6"
    )
    answers = {"supported": "yes", "undecided": "unknown", "unsupported": "no"}
    criteria = (
        Criterion("occurs", "yes", "5 runs show it", "counted", cited),
        Criterion("causes", answers[result], "counted within tasks", "measured"),
        Criterion("general", "yes", "4 tasks", "counted"),
        Criterion("covered", "no", "no line says so", "counted"),
        Criterion("harmful", "no", "no passing run breaks", "counted"),
    )
    measured = contrast if result != "undecided" else None
    return Verdict(made.proposal_ids[0], result, criteria, f"the gate says {result}", "offline", 1, 4, 5, measured)


def report(*, runs: int = 6, empty: bool = False, hostile: bool = False) -> Report:
    """Six changes: two supported, two undecided that edit the same text, one unsupported, one quarantined."""
    text = HOSTILE if hostile else "told so"
    failed = [run(f"fail-{at}", "fail", task=f"task {at % 4}", feedback=text) for at in range(runs)]
    passed = [run(f"pass-{at}", "pass", task=f"task {at % 4}", model="m2") for at in range(runs)]
    if hostile:
        failed = [_hostile(one) for one in failed]
    base = SkillVersion({"SKILL.md": SKILL.encode()})
    made = [] if empty else [
        change("- Read it back after saving."),
        change(f"- Wait for the disk. {text}"),
        change("- Never rush, but do not dawdle.", "- Never rush.", op="replace"),
        change("- Hurry.", "- Never rush.", op="replace"),
        change("- Save twice."),
        change("- Save under secret-4711."),
    ]  # fmt: skip
    cited = (quote(failed[0]), quote(failed[1], 2))
    cluster = Cluster("failure", "cluster", "", *_members(failed[: runs - 1]), 4, 0.2, 0.9)
    success = Cluster("success", "cluster", "", *_members(passed), 4, 0.2, None)
    proposals = tuple(_proposal(one, (cluster.key,), cited) for one in made)
    made = [replace(one, proposal_ids=(of.key,)) for one, of in zip(made, proposals, strict=True)]
    results = ("supported", "supported", "undecided", "undecided", "unsupported", "supported")
    side = [("failure", cluster, failed), ("success", success, passed)]
    return Report(
        refinement_id=NAME,
        base=base,
        snapshot=Snapshot("k", (*failed, *passed), 0, 0, {"pass": runs, "fail": runs}, 4, {"file": 4}, 4),
        inputs=Inputs((), (), 0, ()),
        config={"gate": "both"},
        versions={},
        seconds={},
        analyst="offline",
        include_undecided=False,
        audits_block=True,
        table=ContrastTable((), (), 9, 0.05, True, 20),
        summaries=(),
        clusterings=tuple(
            Clustering(name, {}, (group,), tuple(one.trace.id for one in items[len(group.members) :]), _picture(items))
            for name, group, items in side
        ),
        proposals=proposals,
        shortfalls=(
            Shortfall("failure", "too_few_tasks", f"rare thing {text}", 2, 2, "2 traces of 2 tasks; it takes 3."),
            Shortfall("failure", "near_miss", "close thing", 5, 4, "q = 0.07, it takes 0.05."),
        ),
        verdicts=tuple(_verdict(one, result, cited) for one, result in zip(made, results, strict=False)),
        changes=tuple(made),
        findings=tuple(
            Finding(one.key, "leak", "quarantine", "secret-4711", "notes of fail-1", "holds secret-4711 from the notes")
            for one in made[5:]
        ),
    )


def _members(items: list[Labelled]) -> tuple[Any, ...]:
    ids = tuple(one.trace.id for one in items)
    return ids, tuple(1 - at / 100 for at in range(len(ids))), ids[0], ids[-1:]


def _picture(items: list[Labelled]) -> tuple[MapPoint, ...]:
    return tuple(MapPoint(one.trace.id, at % 5 * 1.0, at // 5 * 1.0) for at, one in enumerate(items))


def _hostile(one: Labelled) -> Labelled:
    spans = tuple(replace(span, output=f"{span.output} {HOSTILE}") for span in one.trace.spans)
    trace = replace(one.trace, spans=spans, task=HOSTILE, task_id=HOSTILE, external_id=one.trace.external_id + HOSTILE)
    return Labelled(trace, replace(one.outcome, trace_id=trace.id))


ROOT = Path(__file__).parent.parent


def app(desk: ScriptedDesk, page: str, monkeypatch: Any, **params: str) -> AppTest:
    """The app opened on a page with these parameters, every page registered and the desk in place of a workspace."""
    monkeypatch.setattr(session, "workspace", lambda: desk)
    monkeypatch.setattr(session, "PAGES", {name: str(ROOT / path) for name, path in session.PAGES.items()})
    st.cache_resource.clear()
    test = AppTest.from_function(_script, args=(page,), default_timeout=20)
    for name, value in params.items():
        test.query_params[name] = value
    return test.run()


def _script(page: str) -> None:
    from pathlib import Path

    import streamlit as st

    from pages._ui import session

    files = {name: path for name, path in session.PAGES.items() if Path(path).exists()}
    st.navigation([st.Page(file, url_path=name, default=name == page) for name, file in files.items()]).run()


def html_of(test: AppTest) -> str:
    """Everything that the page draws by `st.html`, style sheets left out."""
    bodies = [one.proto.body for one in test.get("html")]
    return "\n".join(re.sub(r"<style>.*?</style>", "", body, flags=re.DOTALL) for body in bodies)


def words_of(test: AppTest) -> str:
    """What a person reads in the HTML: tags taken away, entities as characters."""
    return html.unescape(re.sub(r"<[^>]+>", " ", html_of(test)))


def labels_of(test: AppTest) -> list[str]:
    """The labels that are read as markdown: of buttons and links."""
    links = [one.proto.label for one in test.get("page_link")]
    return [one.label for one in test.button] + links
