"""One browser for the folder, and one prepared database: the sample and a small corpus, each refined."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conversations import ONE
from corpus import lines, workbook
from installing import skill
from playwright.sync_api import Browser, BrowserContext
from rooms import Clock, Reviewer, fill, opened, refine, upload

from browser import chromium, helpers

SLOTS = 8
SMALL = "workbooks"
"""A corpus with three changes: a supported, an undecided and an unsupported one."""
UNLABELLED = "by hand"
TALKS, ATTEMPTS = "talks", "talks episodes"
"""A corpus of six traces that nobody has said anything about."""
SKILLS = {
    "demo": ("- Run the tests before you finish.", "- Never push to the main branch."),
    "other": ("- Run the tests before you are finished.", "- Push to the main branch.", "- Say what you changed."),
}
Tabs = Callable[..., helpers.Screen]


@dataclass(frozen=True)
class Prepared:
    """`sample`: the refinement of the sample, partly decided. `slots`: refinements of the small corpus, all alike.

    `skills`: a folder of two installed skills, with another tool's history beside the first.
    """

    path: Path
    sample: str
    slots: list[str]
    skills: Path


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real Chromium. Without one the tests fail with what to do; they are never skipped."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(chromium.launched())
        except chromium.NoChromium as missing:
            pytest.fail(str(missing), pytrace=False)
        yield started


@pytest.fixture(scope="package")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path, clock, small = tmp_path_factory.mktemp("prepared") / "refiner.duckdb", Clock(), workbook()
    desk = opened(path, clock)
    try:
        sample = refine(desk, desk.load_sample())
        decide_some(Reviewer(desk, sample, clock))
        fill(desk, small, SMALL)
        desk.create_corpus(UNLABELLED)
        desk.ingest(UNLABELLED, [upload("traces.jsonl", lines(small.traces[:6]))])
        desk.create_corpus(TALKS)
        desk.ingest(TALKS, [upload("talk.jsonl", ONE)])
        desk.cut_conversations(TALKS)
        slots = [refine(desk, SMALL, max_undecided=20 + number) for number in range(SLOTS)]
    finally:
        desk.close()
    return Prepared(path, sample, slots, lying_skills(tmp_path_factory.mktemp("skills")))


def lying_skills(place: Path) -> Path:
    """Two skills that say something alike and something against each other."""
    for name, lines_ in SKILLS.items():
        (place / name / ".skillup").mkdir(parents=True)
        (place / name / "SKILL.md").write_bytes(skill(*lines_, name=name))
    history = [
        {"version": 2 * n, "timestamp": f"2026-01-0{n}", "note": f"step {n}", "text": "# Demo\n"} for n in (1, 2)
    ]
    written = "".join(f"{json.dumps(one)}\n" for one in history)
    (place / "demo/.skillup/history.jsonl").write_text(f"{written}no version\n")
    return place


def decide_some(reviewer: Reviewer) -> None:
    """A decision of every kind."""
    items = reviewer.items()
    reviewer.decide(items[0], "accept")
    reviewer.decide(items[1], "reject", reason_code="too_specific", reason="one sheet only")
    reviewer.decide(items[2], "amend", amended=f"{items[2].text} Every time.")
    reviewer.decide(items[3], "skip")
    reviewer.decide(items[8], "accept", reason="the owner asked for it")


@pytest.fixture(scope="package")
def app(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[helpers.App]:
    """The app on a copy of the prepared database, one for all tests that leave the sample as it is."""
    copy = tmp_path_factory.mktemp("app") / "refiner.duckdb"
    shutil.copy(prepared.path, copy)
    with helpers.running(copy) as started:
        yield started


@pytest.fixture(scope="package")
def unused(prepared: Prepared) -> list[str]:
    """The refinements of the small corpus that no test has decided on."""
    return list(prepared.slots)


@pytest.fixture
def small(unused: list[str]) -> str:
    """A refinement of the small corpus for this test alone."""
    return unused.pop()


@pytest.fixture(scope="package")
def windows(browser: Browser) -> Iterator[Callable[[str], BrowserContext]]:
    """A window for each colour scheme."""
    with ExitStack() as stack:

        @cache
        def opened_once(scheme: Any) -> BrowserContext:
            return stack.enter_context(helpers.window(browser, color_scheme=scheme))

        yield opened_once


@pytest.fixture
def tabs(windows: Callable[[str], BrowserContext]) -> Iterator[Tabs]:
    """Opens tabs on a server; what a page asks beyond that server fails the test."""
    with ExitStack() as stack:
        yield lambda url, color_scheme="light": stack.enter_context(helpers.tab(windows(color_scheme), url))


@pytest.fixture
def screen(tabs: Tabs, app: helpers.App) -> Any:
    """A tab on the app."""
    return tabs(app.url)
