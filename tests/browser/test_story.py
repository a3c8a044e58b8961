"""From files to an exported skill, the way a person goes: upload, refine, map, keys, diff, download."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser import helpers
from browser.conftest import Tabs
from refiner.types import Decision
from refiner.workspace import Workspace

FILES = ("traces.jsonl", "binary_rewards.json", "feedback.json")
EDITED = "  - After `save_workbook`, read the changed range again."
AIRLINE = json.loads(Path(__file__).parents[1].joinpath("expected_sections.json").read_text())
GROUND = "The owner of the sheets asked for it."
LONG = 120_000


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[helpers.App]:
    """The app on a database that is not there yet."""
    with helpers.running(tmp_path / "new.duckdb") as started:
        yield started


def test_files_become_a_reviewed_skill_that_is_exactly_what_the_decisions_say(
    fresh: helpers.App, tabs: Tabs, sample_data: Path
) -> None:
    screen = tabs(fresh.url).open()
    bring_in(screen, [sample_data / name for name in FILES], sample_data / "SKILL.md", 240)
    refine(screen)
    look_at_the_map(screen)
    ids = review_by_keys(screen)
    refinement = screen.param("refinement") or ""
    downloaded = reject_in_the_diff_and_download(screen, ids[4])
    fresh.stop()
    desk = Workspace.open(fresh.database)
    try:
        log = desk.decisions(refinement)
        engine, merged = desk.exports(refinement).skill_md, desk.merged(refinement)
    finally:
        desk.close()
    assert_log(log, ids)
    assert downloaded == engine == merged.files[merged.main]
    text = downloaded.decode()
    assert EDITED in text and "Do not call `delete_sheet`." in text
    assert "`fill_down` mentions" not in text and "call `set_number_format`" not in text


def bring_in(screen: helpers.Screen, files: Sequence[Path], skill: Path, traces: int) -> None:
    """Traces and labels on the first screen, then the skill."""
    expect(screen.at("try_sample")).to_be_visible()
    screen.picture("first-light")
    screen.at("first_name").get_by_role("textbox").fill("sheets")
    screen.press("Tab")
    screen.settle()
    screen.upload("upload_files", *files)
    report = screen.page.locator(".sr-metrics").last
    expect(report).to_contain_text("new traces")
    assert " ".join(report.inner_text().split()).startswith(f"{traces} new traces")
    assert screen.param("corpus") == "sheets"
    screen.page.get_by_role("radio", name="Start skill").click()
    screen.upload("skill_files", skill)
    screen.says("The start skill is set")


def refine(screen: helpers.Screen) -> None:
    screen.at("step_next").get_by_role("link").click()
    screen.click("start")
    expect(screen.at("job_review")).to_be_visible(timeout=LONG)


def look_at_the_map(screen: helpers.Screen) -> None:
    """Clicks a group in the picture, reads its card, and goes on to its proposal."""
    screen.tab("Map")
    found = screen.groups("failure")
    assert len(found) > 10
    card = screen.at("map_card")
    for place, key in enumerate(found[:2], start=1):
        screen.click_group("failure", key)
        expect(card.locator(".rv-card-head")).to_contain_text(f"F{place}:")
        expect(card).to_contain_text("stability")
    run = card.get_by_role("link").first
    expect(run).to_be_visible()
    card.get_by_role("button", name="Review this").first.click()
    expect(screen.page.locator(".rv-intent")).to_be_visible()


def review_by_keys(screen: helpers.Screen) -> list[str]:
    """Accept, reject, edit, skip, accept and undo, accept again, and one against the gate. Returns the queue."""
    ids = list(screen.settle().marks())
    screen.go_to(ids[0])
    screen.read()
    screen.press("a")
    screen.shows(ids[1])
    screen.read()
    screen.press("x")
    expect(screen.at("rv_bar")).to_contain_text("Too specific")
    screen.press("2")
    screen.shows(ids[2])
    edit(screen)
    screen.shows(ids[3])
    screen.read()
    screen.press("s")
    screen.shows(ids[4])
    screen.read()
    screen.press("a")
    screen.shows(ids[5])
    screen.press("u")
    screen.shows(ids[4])
    screen.read()
    screen.press("a")
    screen.shows(ids[5])
    override(screen, ids[8])
    screen.decided(6, 9)
    return ids


def edit(screen: helpers.Screen) -> None:
    screen.read()
    screen.press("e")
    area = screen.at("rv_text").get_by_role("textbox")
    expect(area).to_have_value("  - After `save_workbook`, call `read_range` before finishing.")
    area.fill(EDITED)
    screen.press("Control+Enter")


def override(screen: helpers.Screen, change_id: str) -> None:
    """Accepts what the gate did not support, with a reason in words."""
    screen.go_to(change_id)
    screen.read()
    screen.press("a")
    screen.says("Why is it accepted all the same?")
    screen.at("rv_why").get_by_role("textbox").fill(GROUND)
    screen.press("Control+Enter")


def reject_in_the_diff_and_download(screen: helpers.Screen, change_id: str) -> bytes:
    screen.tab("Skill")
    hunk = screen.page.locator("[class*='st-key-sk_hunk_']").filter(has_text="call `set_number_format` before")
    expect(hunk).to_have_count(1)
    screen.read()
    hunk.get_by_role("button", name="Reject", exact=True).click()
    hunk.get_by_role("button", name="Already covered").click()
    expect(hunk).to_have_count(0)
    expect(screen.at(f"sk_row_out_{change_id}")).to_contain_text("already covered")
    with screen.page.expect_download() as waited:
        screen.click("sk_get_skill")
    assert waited.value.suggested_filename == "SKILL.md"
    screen.says("Where it goes")
    return Path(waited.value.path()).read_bytes()


def assert_log(log: list[Decision], ids: list[str]) -> None:
    said = [(one.action, ids.index(one.change_id), one.reason_code) for one in log]
    assert said == [
        ("accept", 0, ""),
        ("reject", 1, "too_specific"),
        ("amend", 2, ""),
        ("skip", 3, ""),
        ("accept", 4, ""),
        ("undo", 4, ""),
        ("accept", 4, ""),
        ("accept", 8, ""),
        ("reject", 4, "already_covered"),
    ]
    assert [(one.override, one.reason) for one in log if one.override] == [(True, GROUND)]
    assert [one.amended[0].new for one in log if one.amended] == [EDITED]
    assert all(one.reviewer and one.seen for one in log)


def test_the_sample_is_one_click_from_the_first_screen_to_its_review(fresh: helpers.App, tabs: Tabs) -> None:
    screen = tabs(fresh.url, color_scheme="dark").open()
    expect(screen.at("try_sample")).to_be_visible()
    screen.picture("first-dark")
    screen.click("try_sample")
    stages = screen.page.locator(".sr-stage")
    expect(stages.filter(has_text="Evidence gate")).to_be_visible()
    screen.picture("refine-at-work-dark")
    expect(screen.page.locator(".rv-intent")).to_be_visible(timeout=LONG)
    screen.decided(0, 9)
    assert screen.settle().param("corpus") == "sample"
    screen.tab("Corpus")
    screen.click("remove_sample")
    expect(screen.at("first_own")).to_be_visible()


def test_the_real_airline_runs_work_the_same_way(fresh: helpers.App, tabs: Tabs, corpora: Path) -> None:
    screen = tabs(fresh.url).open()
    bring_in(screen, [corpora / AIRLINE["corpus"]], corpora / AIRLINE["skill"], 200)
    refine(screen)
    screen.click("job_review")
    expect(screen.page.locator(".rv-intent")).to_be_visible()
    first, second = list(screen.marks())[:2]
    screen.read()
    screen.press("a")
    screen.shows(second)
    assert screen.marks()[first] == "✓"
    screen.tab("Map")
    assert screen.groups("failure")
    screen.tab("Skill")
    with screen.page.expect_download() as waited:
        screen.click("sk_get_skill")
    before, after = (corpora / AIRLINE["skill"]).read_bytes(), Path(waited.value.path()).read_bytes()
    assert len(after) > len(before)
