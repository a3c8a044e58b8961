"""Several tabs on one server, and addresses: a tab hears of the others, and never acts on what is no longer so."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser import helpers
from browser.conftest import Prepared, Tabs

SECONDS = 8_000
"""Milliseconds after which a tab must know of a decision taken in another one; it asks every three seconds."""


def queue(screen: helpers.Screen, refinement: str) -> list[str]:
    """The changes of a small queue, none of them decided, once all are on screen."""
    screen.open("review", refinement=refinement)
    screen.decided(0, 3)
    return list(screen.marks())


def test_a_tab_is_told_of_decisions_elsewhere_and_is_not_redrawn_under_the_hands(
    app: helpers.App, tabs: Tabs, small: str
) -> None:
    mine, other, skill = (tabs(app.url) for _ in range(3))
    first, second, third = queue(mine, small)
    other.open("review", refinement=small, change=third)
    skill.open("skill", refinement=small)
    mine.read()
    mine.press("a")
    mine.shows(second)
    expect(other.at("rv_news")).to_contain_text("1 new decision elsewhere", timeout=SECONDS)
    expect(skill.at("sk_news")).to_contain_text("1 new decision elsewhere", timeout=SECONDS)
    assert other.current() == third
    assert other.marks()[first] == "○"
    other.click("rv_news")
    other.decided(1, 3)
    assert other.marks()[first] == "✓" and other.current() == third
    expect(other.at("rv_news")).to_have_count(0)
    skill.click("sk_news")
    expect(skill.page.locator("[class*='st-key-sk_hunk_']")).to_contain_text("Accepted by")


def test_a_decision_on_what_was_decided_elsewhere_meanwhile_is_refused(
    app: helpers.App, tabs: Tabs, small: str
) -> None:
    mine, other = tabs(app.url), tabs(app.url)
    first, second, _ = queue(mine, small)
    other.open("review", refinement=small, change=first)
    other.read()
    mine.read()
    mine.press("x")
    expect(mine.at("rv_bar")).to_contain_text("Harmful")
    mine.press("4")
    mine.shows(second)
    other.press("a")
    expect(other.page.get_by_test_id("stToast")).to_contain_text("no longer what you saw")
    other.decided(1, 3)
    assert other.marks()[first] == "✕"
    other.says("harmful")


def test_undo_takes_back_what_this_reviewer_decided_in_another_tab(app: helpers.App, tabs: Tabs, small: str) -> None:
    mine, other = tabs(app.url), tabs(app.url)
    first, second, _ = queue(mine, small)
    other.open("review", refinement=small, change=second)
    mine.read()
    mine.press("s")
    mine.decided(1, 3)
    other.press("u")
    other.shows(first)
    other.decided(0, 3)
    assert set(other.marks().values()) == {"○"}


@pytest.mark.parametrize(
    ("page", "params", "words"),
    [
        ("corpus", {"corpus": "gone"}, "There is no corpus “gone” any more"),
        ("refine", {"corpus": "sample", "refinement": "gone"}, "is not here any more"),
        ("review", {"refinement": "gone"}, "Choose another refinement"),
        ("map", {"refinement": "gone"}, "Choose another refinement"),
        ("skill", {"refinement": "gone"}, "Choose another refinement"),
        ("trace", {"id": "gone"}, "See the runs that are there"),
        ("nowhere", {}, "Page not found"),
    ],
)
def test_an_address_of_something_that_is_gone_says_what_to_do(
    screen: helpers.Screen, page: str, params: dict[str, str], words: str
) -> None:
    screen.open(page, **params)
    screen.says(words)


def test_an_address_of_a_change_that_is_gone_leads_to_the_nearest_open_one(
    screen: helpers.Screen, prepared: Prepared
) -> None:
    screen.open("review", refinement=prepared.sample, change="gone")
    screen.says("The change of this link is not in this refinement")
    assert screen.marks()[screen.current()] == "○"
    assert screen.param("change") == screen.current()
