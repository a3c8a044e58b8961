"""The HTML report: one file that loads nothing, tells of every change and trace, and lets no text become markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations

import pytest

from refiner import merge
from refiner.gate.verdict import ENOUGH_TASKS
from refiner.reporting.html import html_report
from refiner.reporting.map_svg import side_svg
from refiner.reporting.report import Inputs, Report
from refiner.reporting.tree import tree
from refiner.snapshot import take
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
from refiner.views import Item, Review

HOSTILE = '<script>alert("x")</script><img src=https://example.org/p.png>"\'</style></title>--> `a` \u202e\udcff'
BASE = SkillVersion({"SKILL.md": b"---\nname: sheets\ndescription: d\n---\n\n# Sheets\n\n- Save once.\n- Close it.\n"})
TASKS = 4


def trace(number: int, words: str) -> Trace:
    span = Span(0, "s1", "message", "assistant", "assistant", "", words)
    return Trace("c", f"run-{number:02d}{words}", "canonical", words or "a task", f"t{number % TASKS}", "file", (span,))


def clustering(side: str, traces: list[Trace], words: str) -> Clustering:
    ids = [one.id for one in traces]
    cluster = Cluster(side, "cluster", words, tuple(ids[:-1]), (1.0,) * (len(ids) - 1), ids[0], (), 3)  # type: ignore[arg-type]
    picture = tuple(MapPoint(one, float(at), at * at / 3) for at, one in enumerate(ids))
    return Clustering(side, {}, (cluster,), (ids[-1],), picture)  # type: ignore[arg-type]


def proposal(at: int, words: str, traces: list[Trace]) -> Proposal:
    cited = Citation(traces[0].id, 0, "s1", f"quote {at} {words}", 0, 5, True)
    return Proposal("failure", "cluster", ("g",), f"theme {at} {words}", "", f"why {at} {words}", citations=(cited,))


def verdict(one: Proposal, result: str, words: str, traces: list[Trace]) -> Verdict:
    cited = Citation(traces[1].id, 0, "feedback", f"told {words}", 0, 4, True)
    criteria = tuple(
        Criterion(name, "yes", f"because {name} {words}", "counted", (cited,) if name == "occurs" else ())  # type: ignore[arg-type]
        for name in ("occurs", "causes", "general", "covered", "harmful")
    )
    return Verdict(one.key, result, criteria, f"words {words}", "offline", 1, ENOUGH_TASKS, 5, contrast(words))  # type: ignore[arg-type]


def contrast(words: str) -> Contrast:
    return Contrast(f"called(save{words})", 11, 7, 13, 2, 4, 3, True, 0.0123, 0.0456, 48, 0.001, "yes", f"c {words}")


def report(words: str = "") -> Report:
    """Three changes: one supported, one undecided, one unsupported; `words` stand wherever text of others may stand."""
    traces = [trace(number, words) for number in range(12)]
    outcomes = {one.id: Outcome(one.id, "fail" if at < 6 else "pass") for at, one in enumerate(traces)}
    proposals = [proposal(at, words, traces) for at in range(3)]
    edits = [
        Edit("SKILL.md", "insert_after", ("Sheets",), "- Save once.", f"  - Rule zero. {words}"),
        Edit("SKILL.md", "replace", ("Sheets",), "- Close it.", f"- Rule one. {words}"),
        Edit("SKILL.md", "append_to_section", ("Sheets",), "", f"- Rule two. {words}"),
    ]
    changes = [Change((edit,), (one.key,), f"why {words}") for edit, one in zip(edits, proposals, strict=True)]
    results = ("supported", "undecided", "unsupported")
    return Report(
        refinement_id="r" * 20,
        base=BASE,
        snapshot=take(traces, outcomes, {}, 0.0),
        inputs=Inputs(
            ({"path": f"in{words}.jsonl", "format": "canonical", "traces": 12},), (), 0, (f"warned {words}",)
        ),
        config={},
        versions={"numpy": "2"},
        seconds={},
        analyst="offline",
        include_undecided=False,
        audits_block=True,
        table=ContrastTable((contrast(words),), (contrast(words).predicate,), 48, 0.05, True, 60),
        summaries=(),
        clusterings=(clustering("failure", traces[:6], words), clustering("success", traces[6:], words)),
        proposals=tuple(proposals),
        shortfalls=(Shortfall("failure", "near_miss", f"subject {words}", 2, 2, f"fell short {words}"),),
        verdicts=tuple(verdict(one, result, words, traces) for one, result in zip(proposals, results, strict=True)),
        changes=merge.settle(BASE, changes),
        findings=(Finding(changes[2].key, "leak", "flag", f"match {words}", f"source {words}", f"leaks {words}"),),
    )


def reviewed(made: Report, words: str = "") -> tuple[Review, merge.Merged, list[Decision]]:
    """The first change accepted with other words, the second rejected, the third never looked at."""
    rows = made.decided
    amended = replace(rows[0].change.edits[0], new=f"  - Rule zero, edited. {words}")
    at = "2026-01-31T12:00:00Z"
    log = [
        Decision(
            rows[0].change.key,
            "r",
            "b",
            "amend",
            (amended,),
            reviewer=f"Ana {words}",
            decided_at=at,
        ),
        Decision(rows[1].change.key, "r", "b", "reject", (), "too_specific", f"one vendor {words}", reviewer="Bo"),
    ]
    states = [("accepted", log[0]), ("rejected", log[1]), ("open", None)]
    items = tuple(
        Item(row.change.key, row, state, state == "accepted", event, (), None, False, 3, "", "", "", "h", None, False)  # type: ignore[arg-type]
        for row, (state, event) in zip(rows, states, strict=True)
    )
    merged = merge.apply(made.base, [replace(rows[0].change, edits=(amended,))])
    return Review("r", items, {}, 2, None), merged, log


class Page(HTMLParser):
    """Tags with their attributes, and the text outside of style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="module")
def made() -> Report:
    return report()


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return html_report(made, *reviewed(made))


def test_the_file_loads_nothing_and_runs_nothing(page: str) -> None:
    tags = Page(page).tags
    assert {name for name, _ in tags} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "use",
        "form",
    } == set()
    attributes = {name: value or "" for _, attrs in tags for name, value in attrs.items()}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action", "style")]
    links = [attrs["href"] or "" for _, attrs in tags if "href" in attrs]
    assert links and all(link.startswith("#") for link in links)
    assert re.search(r"https?:|//|url\(|@import", page.removeprefix("<!DOCTYPE html>")) is None
    assert "default-src 'none'" in page


def test_every_link_has_a_target(page: str) -> None:
    tags = Page(page).tags
    ids = {attrs["id"] for _, attrs in tags if "id" in attrs}
    assert {(attrs["href"] or "")[1:] for _, attrs in tags if "href" in attrs} <= ids


def test_it_says_what_was_learned_from_how_much_and_by_whom(page: str) -> None:
    text = Page(page).text
    assert "From 12 traces of 4 tasks (6 failed, 6 passed) came 3 changes: 1 supported" in text
    assert "Made by the offline analyst" in text and "No task was held out." in text
    assert "Reviewed by Ana , Bo." in text


def articles(page: str) -> dict[str, str]:
    found = re.findall(r'<article id="[^"]*" data-change="([^"]*)">(.*?)</article>', page, flags=re.DOTALL)
    return {key: Page(body).text for key, body in found}


def test_every_change_stands_there_with_verdict_criteria_counts_and_sources(made: Report, page: str) -> None:
    found = articles(page)
    assert set(found) == {change.key for change in made.changes}
    for at, row in enumerate(made.decided):
        text = found[row.change.key]
        assert row.result in text and "7 of 11" in text and "2 of 13" in text and "0.046 (m = 48)" in text
        for name in ("occurs", "causes", "general", "covered", "harmful"):
            assert f"because {name}" in text
        assert f"quote {at}" in text and "run-00, step 1" in text and "told" in text and "run-01, feedback" in text


def test_who_decided_and_why_stands_at_the_change(made: Report, page: str) -> None:
    accepted, rejected, untouched = (articles(page)[row.change.key] for row in made.decided)
    assert (
        "accepted, edited" in accepted and "Edited and accepted by Ana" in accepted and "2026-01-31 12:00" in accepted
    )
    assert "Rule zero, edited." in accepted
    assert "Rejected by Bo" in rejected and "too specific: one vendor" in rejected
    assert "Decided by nobody yet" in untouched and "leak, flag: leaks" in untouched
    heads = re.findall(r"<h2>(\w+) <small>1 change", page)
    assert heads == ["Accepted", "Undecided", "Vetoed"]


def test_the_diff_leads_from_the_base_to_the_result_and_names_the_change(page: str) -> None:
    diff = page[page.index('<section id="diff">') :]
    diff = diff[: diff.index("</section>")]
    assert "<ins>  - Rule zero, edited.\n</ins>" in diff and "Rule one" not in diff
    assert '<a href="#change-1">change 1</a>' in diff


def marks(page: str) -> list[str]:
    return re.findall(r'<path class="m [^"]*" d="[^"]*"><title>([^<]*)</title></path>', page)


def test_the_map_has_one_mark_a_trace(made: Report, page: str) -> None:
    assert sorted(marks(page)) == sorted(item.trace.external_id for item in made.snapshot.training)
    assert page.count('<svg class="map"') == 2
    assert page.count('class="m none"') == 2  # the one trace of each side that is in no group


def test_groups_differ_in_shape_and_not_in_colour_alone(made: Report) -> None:
    many = made.clusterings[0]
    ids = [point.trace_id for point in many.picture]
    clusters = tuple(Cluster("failure", "cluster", f"g{at}", (one,), (1.0,), one, (), 1) for at, one in enumerate(ids))
    page = html_report(
        replace(made, clusterings=(replace(many, clusters=clusters, unclustered=()),)), None, made.merged
    )
    shapes = dict(re.findall(r'<path class="m (g\d)" d="M[\d.]+ [\d.]+([^"]*)"', page))
    assert len(shapes) == len(ids) == len(set(shapes.values()))


def test_numbers_of_groups_that_lie_together_do_not_cover_each_other(made: Report) -> None:
    crowd = tuple(MapPoint(str(at), at % 3 / 100, at // 3 / 100) for at in range(8))
    away = (MapPoint("away", 9.0, 9.0),)
    clusters = tuple(Cluster("failure", "cluster", one, (one,), (1.0,), one, (), 1) for one in map(str, range(8)))
    drawn = replace(made.clusterings[0], clusters=clusters, unclustered=("away",), picture=crowd + away)
    spots = re.findall(r'<text class="tag" x="([\d.]+)" y="([\d.]+)">\d</text>', side_svg(drawn, {}))
    places = [(float(x), float(y)) for x, y in spots]
    assert len(places) == 8
    assert all(abs(x - u) >= 10.9 or abs(y - v) >= 11.9 for (x, y), (u, v) in combinations(places, 2))


def test_without_a_review_it_shows_the_automatic_merge_decided_by_nobody(made: Report) -> None:
    page = html_report(made, None, made.merged)
    text = Page(page).text
    assert "Decided by nobody yet" in text and "automatic merge" in text
    assert set(articles(page)) == {change.key for change in made.changes}
    assert "Rule zero." in page[page.index('<section id="diff">') :]
    assert "accepted" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).replace("tag-accepted", "")


def test_the_command_line_writes_it_into_the_output_tree(made: Report) -> None:
    assert tree(made)["combined/report.html"] == html_report(made, None, made.merged).encode()


def test_no_change_is_said_with_what_fell_short(made: Report) -> None:
    empty = replace(made, changes=(), proposals=(), verdicts=(), findings=())
    text = Page(html_report(empty, Review("r", (), {}, 0, None), empty.merged)).text
    assert "No change is proposed." in text and "fell short" in text and "byte for byte" in text


def test_text_of_runs_and_reviewers_never_becomes_markup() -> None:
    made = report(HOSTILE)
    page = html_report(made, *reviewed(made, HOSTILE))
    page.encode()
    plain = Page(html_report(report("x"), *reviewed(report("x"), "x")))
    assert {name for name, _ in Page(page).tags} <= {name for name, _ in plain.tags} | {"span", "code"}
    assert "https://example.org/p.png" in Page(page).text
    assert "<script" not in page and "<img" not in page
    assert "\u202e" not in re.sub(r'<span class="hid"[^>]*>.</span>', "", page)


def test_the_same_result_gives_the_same_bytes() -> None:
    first, second = report(), report()
    assert html_report(first, *reviewed(first)) == html_report(second, *reviewed(second))
