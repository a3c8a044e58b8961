"""Keys: what is decided is what was on screen, however fast or long a key is pressed."""

from __future__ import annotations

from playwright.sync_api import expect

from browser import helpers
from browser.conftest import ATTEMPTS, UNLABELLED


def review(screen: helpers.Screen, refinement: str) -> tuple[str, str, str]:
    """Opens a small queue; its three changes, none of them decided."""
    screen.open("review", refinement=refinement)
    screen.decided(0, 3)
    first, second, third = screen.marks()
    assert screen.current() == first
    return first, second, third


def test_a_key_pressed_many_times_at_once_decides_on_what_was_shown_and_on_nothing_else(
    screen: helpers.Screen, small: str
) -> None:
    first, second, third = review(screen, small)
    screen.read()
    screen.press(*"aaaaaaaa")
    screen.shows(second)
    screen.read()
    assert screen.marks() == {first: "✓", second: "○", third: "○"}
    screen.decided(1, 3)


def test_a_key_that_is_held_down_counts_once(screen: helpers.Screen, small: str) -> None:
    first, second, third = review(screen, small)
    screen.read()
    screen.hold("s", 60)
    screen.shows(second)
    screen.read()
    assert screen.marks() == {first: "→", second: "○", third: "○"}
    screen.decided(1, 3)


def test_letters_that_are_typed_into_a_field_are_letters(screen: helpers.Screen, small: str) -> None:
    first, *_ = review(screen, small)
    screen.read()
    screen.press("e")
    area = screen.at("rv_text").get_by_role("textbox")
    before = area.input_value()
    area.press("End")
    area.press_sequentially(" axsujk126oh")
    expect(area).to_have_value(f"{before} axsujk126oh")
    assert screen.current() == first
    screen.decided(0, 3)
    screen.press("Control+Enter")
    screen.decided(1, 3)


def test_keys_lead_to_the_run_and_to_the_help_and_back_to_the_same_change(screen: helpers.Screen, small: str) -> None:
    first, second, _ = review(screen, small)
    screen.press("j")
    screen.shows(second)
    screen.press("k")
    screen.shows(first)
    screen.press("o")
    expect(screen.page.locator(".rv-msg.rv-here")).to_contain_text("save_workbook")
    screen.page.get_by_role("link", name="Back to the proposal").click()
    screen.shows(first)
    screen.press("h")
    screen.says("What it does")
    screen.page.go_back()
    screen.shows(first)


def test_labels_by_key_are_of_the_trace_on_screen(screen: helpers.Screen) -> None:
    screen.open("corpus", corpus=UNLABELLED, view="hand")
    left = screen.page.locator(".sr-line").filter(has_text="without an outcome")
    here = screen.page.locator(".sr-run-head")
    expect(left).to_contain_text("6 traces")
    first = here.inner_text().split()[0]
    screen.read()
    screen.press(*"ffffff")
    expect(here).not_to_contain_text(first)
    screen.read()
    expect(left).to_contain_text("5 traces")
    second = here.inner_text().split()[0]
    screen.hold("p")
    expect(here).not_to_contain_text(second)
    screen.read()
    expect(left).to_contain_text("4 traces")
    third = here.inner_text().split()[0]
    screen.press("n")
    note = screen.at("hand_note").get_by_role("textbox")
    expect(note).to_be_focused()
    note.press_sequentially("forgot to save")
    note.press("Enter")
    expect(left).to_contain_text("3 traces")
    screen.page.get_by_role("radio", name="Failed").click()
    expect(screen.page.locator(".sr-queue")).to_contain_text(third)
    expect(screen.page.locator(".sr-queue li")).to_have_count(2)


def test_suggested_outcomes_are_answered_by_key_and_of_the_attempt_on_screen(screen: helpers.Screen) -> None:
    screen.open("corpus", corpus=ATTEMPTS, view="suggested")
    left = screen.page.locator(".sr-line").filter(has_text="that wait")
    here = screen.page.locator(".sr-run-head")
    expect(left).to_contain_text("1 of 2")
    expect(here).to_contain_text("talk:e1")
    screen.read()
    screen.press("j")
    expect(here).to_contain_text("talk:e3")
    screen.read()
    screen.press("k")
    expect(here).to_contain_text("talk:e1")
    screen.read()
    screen.press(*"aaaaaa")
    expect(left).to_contain_text("1 of 1")
    expect(here).to_contain_text("talk:e3")
    screen.read()
    screen.press("d")
    expect(here).to_contain_text("talk:e2")
    screen.read()
    screen.press("o")
    expect(here).to_contain_text("talk:e4")
    screen.page.get_by_role("radio", name="Label by hand").click()
    screen.page.get_by_role("radio", name="Failed").click()
    expect(screen.page.locator(".sr-queue li")).to_have_count(2)
