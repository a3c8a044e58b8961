"""The app in a real browser with many traces and many changes: what a person waits for, in milliseconds.

The traces are taken in as uploads are; what their refinement found is generated, one group and one change beside the
other, so that its size is known. Times are from the press of a key or the click of the mouse to what it was for being
on screen, taken in the browser. The first screen counts from the start of the server process.
"""

from __future__ import annotations

import io
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from playwright.sync_api import Browser, expect

from refiner import merge
from refiner.ids import text_key
from refiner.ports import Labelled, Records, Tools
from refiner.sides import SIDES, side_of
from refiner.strategies import cluster
from refiner.types import (
    Change,
    Citation,
    Cluster,
    Clustering,
    Contrast,
    ContrastTable,
    Criterion,
    Edit,
    Embedding,
    MapPoint,
    Proposal,
    Side,
    SkillVersion,
    Step,
    Summary,
    Verdict,
)
from refiner.views import Upload
from refiner.workspace import Workspace
from tests.bench.planted import row
from tests.browser import chromium, helpers

TRACES, CHANGES = 20_000, 300
TIMES = 12
GROUP = 40
SECTIONS = 20
CORPUS = "many"
RESULTS = ("supported", "undecided", "unsupported")


def run(quick: bool = False, traces: int | None = None, changes: int | None = None) -> list[dict[str, Any]]:
    """The rows of the bench. `quick`: a small corpus, and each thing a few times only."""
    traces, changes = traces or (400 if quick else TRACES), changes or (20 if quick else CHANGES)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        database = Path(folder) / "refiner.duckdb"
        refinement = prepare(database, traces, changes)
        with chromium.launched() as browser:
            begun = time.perf_counter()
            with helpers.running(database) as app:
                with helpers.window(browser) as window, helpers.tab(window, app.url) as screen:
                    screen.open()
                    expect(screen.page.locator(".sr-title h1")).to_be_visible()
                    first = time.perf_counter() - begun
                size = f"{traces} traces, {changes} changes"
                rows = [row("first_screen", first, f"s from the start of the command, {size}", "3")]
                for name, taken in measured(browser, app.url, refinement, 3 if quick else TIMES):
                    rows.append(row(f"{name}_median", round(median(taken)), f"ms, {size}"))
                    rows.append(row(f"{name}_worst", round(max(taken)), f"ms, {size}"))
    return rows


# --- what a person does ---------------------------------------------------------------------------------------------


OTHER_CARD = "before => document.querySelector('.st-key-map_card')?.innerText !== before"
"""The card of the map says something else."""


def shown(screen: helpers.Screen, act: Callable[[], None], there: str) -> float:
    """Milliseconds from doing something until what this selector names is on screen; it is not there before."""
    screen.settle()
    begun = time.perf_counter()
    act()
    screen.page.wait_for_selector(there, timeout=helpers.PATIENCE)
    return 1000 * (time.perf_counter() - begun)


def measured(browser: Browser, url: str, refinement: str, times: int) -> Iterator[tuple[str, list[float]]]:
    with helpers.window(browser) as window, helpers.tab(window, url) as screen:
        begun = time.perf_counter()
        screen.page.goto(f"{url}/review?refinement={refinement}")
        screen.page.wait_for_selector(SIGNS["Review"], timeout=COLD)
        yield "first_review", [1000 * (time.perf_counter() - begun)]
        yield "page_switch", list(switches(screen, times))
        screen.open("review", refinement=refinement)
        yield "decision", list(decisions(screen, times))
        screen.open("map", refinement=refinement)
        yield "map_click", list(clicks(screen, times))


COLD = 300_000
"""Milliseconds that the first look at a refinement may take: the server reads all of it once."""
SIGNS = {
    "Corpus": ".sr-metrics",
    "Refine": ".st-key-job",
    "Map": ".js-plotly-plot canvas, .js-plotly-plot .points path",
    "Skill": ".st-key-sk_side h3",
    "Review": ".rv-intent",
}
"""What is on screen when a page is there."""


def switches(screen: helpers.Screen, times: int) -> Iterator[float]:
    """From page to page by their names on top, in turns."""
    names = list(SIGNS)
    for number in range(times * 2):
        name = names[number % len(names)]
        yield shown(screen, partial(screen.tab, name), SIGNS[name])


def decisions(screen: helpers.Screen, times: int) -> Iterator[float]:
    """Accepting one change after the other by key, to the next one being shown with its diff against the new skill."""
    expect(screen.page.locator(".rv-intent")).to_be_visible()
    queue = list(screen.marks())
    for number in range(times):
        screen.read()
        following = f".st-key-rv_row_here_{queue[number + 1]}"
        yield shown(screen, partial(screen.press, "a"), following)


def clicks(screen: helpers.Screen, times: int) -> Iterator[float]:
    """From the release of the mouse on a group to a card that speaks of what was clicked."""
    found = screen.groups("failure")
    for number in range(times):
        screen.click_group("failure", found[number % len(found)], release=False)
        before = screen.at("map_card").inner_text()
        begun = time.perf_counter()
        screen.page.mouse.up()
        screen.page.wait_for_function(OTHER_CARD, arg=before, timeout=helpers.PATIENCE)
        yield 1000 * (time.perf_counter() - begun)
        screen.settle()


# --- what is looked at ----------------------------------------------------------------------------------------------


def prepare(database: Path, traces: int, changes: int) -> str:
    """A database with so many traces and a refinement with so many changes."""
    desk = Workspace.open(database)
    try:
        desk.create_corpus(CORPUS)
        files = {"traces.jsonl": lines(traces), "rewards.json": json.dumps(rewards(traces)).encode()}
        desk.ingest(CORPUS, [Upload(name, io.BytesIO(data)) for name, data in files.items()])
        desk.set_skill(CORPUS, {"SKILL.md": skill().encode()})
        planted = [Planted(name, partial(made, name, changes)) for name in STAGES]
        with mock.patch.object(cluster, "stages", lambda config, tools: planted):
            refinement = desk.start(CORPUS, {"holdout": 0.0})
            desk.wait()
        assert len(desk.review(refinement).items) == changes
    finally:
        desk.close()
    return refinement


def lines(traces: int) -> bytes:
    """Four runs a task, each with a request, a few calls, and a last word."""
    return "".join(json.dumps(_record(number)) + "\n" for number in range(traces)).encode()


def _record(number: int) -> dict[str, Any]:
    calls = [
        {
            "name": f"tool_{(number + at) % 30}",
            "input_text": json.dumps({"cell": f"B{at}", "value": number}),
            "output_text": f"wrote B{at} of sheet {number % 97}",
        }
        for at in range(4)
    ]
    request = {"name": "user", "role": "user", "output_text": f"Set the totals of sheet {number // 4}."}
    said = {"name": "assistant", "role": "assistant", "output_text": "It is done."}
    return {"trace_id": f"run-{number:06}", "task_id": f"task-{number // 4:05}", "spans": [request, *calls, said]}


def rewards(traces: int) -> dict[str, bool]:
    return {f"run-{number:06}": number % 2 == 0 for number in range(traces)}


def skill() -> str:
    head = "---\nname: many\ndescription: Edit sheets. Use when a request names a sheet.\n---\n\n# Many\n"
    parts = (f"\n## Part {part}\n\n- Do what part {part} asks for.\n" for part in range(SECTIONS))
    return head + "".join(parts)


STAGES = ("contrast", "summarise", "embed", "cluster", "propose", "fold", "gate", "merge", "audit")
"""The stages that a report is read from."""


@dataclass(frozen=True)
class Planted:
    """A stage of one step whose records are generated."""

    name: str
    make: Callable[[Records], Sequence[Any]]
    version: int = 1

    def steps(self, records: Records) -> Iterator[Step]:
        yield Step(self.name, self.name, text_key("planted", self.name), records)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return tuple(self.make(step.payload))  # type: ignore[arg-type]


def made(stage: str, changes: int, records: Records) -> Sequence[Any]:
    """The records of a stage."""
    match stage:
        case "contrast":
            return [ContrastTable((), (), 0, 0.05, True, 0)]
        case "summarise":
            return [_summary(item) for item in records.labelled()]
        case "embed":
            return list(_vectors(records.labelled()))
        case "cluster":
            return [_clustering(side, records.labelled()) for side in SIDES]
        case "fold":
            return _proposals(records, changes)
        case "gate":
            return [_verdict(one, number) for number, one in enumerate(records.produced("fold"))]
        case "merge":
            return _changes(records.skill(), records.produced("fold"))
        case _:
            return []


def _summary(item: Labelled) -> Summary:
    return Summary(item.trace.id, item.trace.revision, side_of(item) or "failure", f"It ran {item.trace.task}", ())


def _vectors(items: Sequence[Labelled]) -> Iterator[Embedding]:
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(len(items), 256))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for item, vector in zip(items, rows.astype("<f4"), strict=True):
        yield Embedding(item.trace.id, vector.tobytes())


def _clustering(side: Side, items: Sequence[Labelled]) -> Clustering:
    """Groups of forty around places of their own; one run in twenty belongs to none."""
    at = random.Random(side)
    own = [item.trace for item in items if side_of(item) == side]
    loose = {trace.id for place, trace in enumerate(own) if place % 20 == 0}
    kept = [trace for trace in own if trace.id not in loose]
    groups, points = (
        [],
        [MapPoint(trace.id, at.uniform(0, 40), at.uniform(0, 40)) for trace in own if trace.id in loose],
    )
    for start in range(0, len(kept), GROUP):
        members = kept[start : start + GROUP]
        x, y = at.uniform(0, 40), at.uniform(0, 40)
        points += [MapPoint(trace.id, at.gauss(x, 0.5), at.gauss(y, 0.5)) for trace in members]
        ids = tuple(trace.id for trace in members)
        tasks = len({trace.task_id for trace in members})
        groups.append(
            Cluster(side, "cluster", f"group {start // GROUP}", ids, (1.0,) * len(ids), ids[0], ids[-3:], tasks)
        )
    return Clustering(side, {}, tuple(groups), tuple(sorted(loose)), tuple(points))


def _proposals(records: Records, changes: int) -> list[Proposal]:
    groups = [group for one in records.produced("cluster") for group in one.clusters]
    traces = {item.trace.id: item.trace for item in records.labelled()}
    return [_proposal(number, groups[number % len(groups)], traces) for number in range(changes)]


def _proposal(number: int, group: Cluster, traces: dict[str, Any]) -> Proposal:
    text = f"- When part {number} asks for a total, write it with `tool_{number % 30}` and read it back."
    cited = tuple(_quote(traces[key]) for key in group.members[:6])
    section = ("Many", f"Part {number % SECTIONS}")
    edit = Edit("SKILL.md", "append_to_section", section, new=text)
    return Proposal(
        group.side, "cluster", (group.key,), group.label, text, f"{len(group.members)} runs did not.",
        behaviour=f"called(tool_{number % 30})", section=section, edits=(edit,), citations=cited,
    )  # fmt: skip


def _quote(trace: Any) -> Citation:
    span = trace.spans[1]
    text = f"{span.name}\ninput: {span.input}\noutput: {span.output}"
    return Citation(trace.id, 1, span.span_id, text, 0, len(text), True)


def _verdict(proposal: Proposal, number: int) -> Verdict:
    result: Any = RESULTS[0] if number % 4 else RESULTS[1 + number // 4 % 2]
    cause: Any = {"supported": "yes", "undecided": "unknown", "unsupported": "no"}[result]
    words = f"{30 + number % 9} of 40 failing and 1 of 40 passing runs; within 12 tasks p = 0.001"
    holds = tuple(one.trace_id for one in proposal.citations)
    contrast = Contrast(
        proposal.behaviour or "",
        40,
        30,
        40,
        1,
        12,
        10,
        True,
        0.001 + number / 10**6,
        0.01,
        44,
        1e-6,
        cause,
        words,
        holds,
    )
    criteria = (
        Criterion("occurs", "yes", "every one has a verified witness", "counted", proposal.citations),
        Criterion("causes", cause, words, "measured"),
        Criterion("general", "yes", "12 tasks", "counted"),
        Criterion("covered", "no", "no line says so", "counted"),
        Criterion("harmful", "no", "no passing run breaks it", "counted"),
    )
    return Verdict(proposal.key, result, criteria, words, "offline", 1, 12, 40, contrast)


def _changes(base: SkillVersion, proposals: Sequence[Proposal]) -> Sequence[Change]:
    drafts = [Change(one.edits, (one.key,), one.rationale, (0, -at)) for at, one in enumerate(proposals)]
    return merge.settle(base, drafts)
