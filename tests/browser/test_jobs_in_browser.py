"""Refinements outlive tabs and servers: reloaded, killed, started again, gone on with, and never two at once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from corpus import workbook
from playwright.sync_api import expect
from rooms import fill, opened

from browser import helpers
from browser.conftest import SMALL, Prepared, Tabs

HOLD = Path(__file__).with_name("hold")


@dataclass
class Held:
    """A database with a corpus, and a pipe at which its refinements wait in the middle of their work."""

    database: Path
    pipe: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"HOLD": str(self.pipe), "PYTHONPATH": f"{HOLD}{os.pathsep}{helpers.ROOT}"}

    def release(self) -> None:
        """Lets the refinement go on that waits; no later step waits."""
        writing = os.open(self.pipe, os.O_WRONLY)
        self.pipe.unlink()
        os.close(writing)


@pytest.fixture
def held(tmp_path: Path) -> Held:
    desk = opened(tmp_path / "refiner.duckdb")
    fill(desk, workbook(), SMALL)
    desk.close()
    os.mkfifo(tmp_path / "pipe")
    return Held(tmp_path / "refiner.duckdb", tmp_path / "pipe")


def begin(screen: helpers.Screen) -> None:
    """Starts a refinement and waits until it is in the middle."""
    screen.open("refine", corpus=SMALL)
    screen.click("start")
    in_the_middle(screen)


def in_the_middle(screen: helpers.Screen) -> None:
    expect(screen.page.locator(".sr-stage.running")).to_contain_text("Clusters")
    expect(screen.page.locator(".sr-stage.done").filter(has_text="Summaries")).to_contain_text("48 of 48")


def test_a_refinement_goes_on_through_a_reload_and_a_closed_tab_and_no_second_one_starts(
    held: Held, tabs: Tabs
) -> None:
    with helpers.running(held.database, held.environ) as app:
        mine, other = tabs(app.url), tabs(app.url)
        begin(mine)
        name = mine.param("refinement")
        mine.page.reload()
        in_the_middle(mine)
        expect(mine.at("job_cancel")).to_be_visible()
        assert mine.param("refinement") == name
        other.open("refine", corpus=SMALL)
        in_the_middle(other)
        expect(other.at("start")).to_have_count(0)
        other.tab("Review")
        other.says("The refinement is at work")
        mine.page.close()
        held.release()
        other.decided(0, 3)


def test_a_cancelled_refinement_keeps_what_is_finished(held: Held, tabs: Tabs) -> None:
    with helpers.running(held.database, held.environ) as app:
        screen = tabs(app.url)
        begin(screen)
        screen.click("job_cancel")
        expect(screen.at("job")).to_contain_text("Cancelling, ")
        screen.says("The step at work ends first")
        expect(screen.at("job_cancel")).to_have_count(0)
        held.release()
        expect(screen.at("job_resume")).to_be_visible()
        expect(screen.at("job")).to_contain_text("Cancelled after")
        expect(screen.at("job_cancel")).to_have_count(0)
        expect(screen.at("start")).to_be_visible()


def test_a_refinement_whose_server_was_killed_is_interrupted_and_goes_on_where_it_was(held: Held, tabs: Tabs) -> None:
    with helpers.running(held.database, held.environ) as app:
        before = tabs(app.url)
        begin(before)
        name = before.param("refinement") or ""
        before.page.close()
        app.kill()
    with helpers.running(held.database, held.environ) as app:
        screen = tabs(app.url).open("review", refinement=name)
        screen.says("It was interrupted")
        screen.open("refine", corpus=SMALL, refinement=name)
        expect(screen.at("job")).to_contain_text("Interrupted after")
        screen.click("job_resume")
        in_the_middle(screen)
        held.release()
        screen.click("job_review")
        screen.decided(0, 3)
        assert screen.param("refinement") == name


@pytest.fixture(scope="module")
def restarted(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[helpers.App]:
    """An app that nobody has opened before these tests, on the prepared database."""
    copy = tmp_path_factory.mktemp("restarted") / "refiner.duckdb"
    copy.write_bytes(prepared.path.read_bytes())
    with helpers.running(copy) as app:
        yield app


def test_every_page_can_be_opened_by_its_address_right_after_a_restart(
    restarted: helpers.App, tabs: Tabs, prepared: Prepared
) -> None:
    screen = tabs(restarted.url)
    heads = {"trace": "Run", "refine": "Refine", "map": "Map", "review": "Review", "skill": "Skill", "help": "Help"}
    for page, head in {**heads, "corpus": "Corpus", "": "Corpus"}.items():
        screen.open(page, refinement=prepared.sample)
        expect(screen.page.locator(".sr-title h1")).to_have_text(head)
        expect(screen.page.get_by_test_id("stTopNavLink")).to_have_count(6)
        expect(screen.page.locator(".sr-error")).to_have_count(0)


def test_a_second_app_on_the_database_names_the_one_that_runs(restarted: helpers.App) -> None:
    second = helpers.command(restarted.database, helpers.free_port())
    done = subprocess.run(second, cwd=helpers.ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "runs already" in done.stdout
    assert done.stdout.split()[-1] == restarted.url
