"""Feedback classes, subjects, themes and conditions: what counts as recurring, and under which name."""

from __future__ import annotations

from memory import call, labelled

from refiner.conditions import breakers_elsewhere, condition
from refiner.mining import feedback_classes, recurring_subjects, subject_of
from refiner.themes import themes

MISSING = 'Missing action: cancel_order(id="X1")'
UNEXPECTED = 'Unexpected action: cancel_order(id="X2")'


def failing(name: str, task: str, feedback: str) -> object:
    return labelled(name, [call("look")], "fail", task, feedback)


def test_a_class_recurs_from_three_distinct_tasks_on() -> None:
    three = [failing(f"f{n}", f"task{n}", MISSING) for n in range(3)]
    one_task = [failing(f"f{n}", "task", MISSING) for n in range(9)]
    assert [one.name for one in recurring_subjects(three)] == ["when cancel_order"]
    assert recurring_subjects(one_task) == []


def test_opposite_classes_of_one_action_are_one_subject() -> None:
    items = [failing(f"m{n}", f"task{n}", MISSING) for n in range(3)]
    items += [failing(f"u{n}", f"other{n}", UNEXPECTED) for n in range(3)]
    subjects = recurring_subjects(items)
    assert [one.name for one in subjects] == ["when cancel_order"]
    assert subjects[0].focus.classes == ("missing cancel_order", "unexpected cancel_order")
    assert len(subjects[0].items) == 6


def test_feedback_that_passing_traces_carry_too_is_counted_on_both_sides() -> None:
    items = [failing(f"f{n}", f"task{n}", MISSING) for n in range(4)]
    items += [labelled(f"p{n}", [call("look")], "pass", f"task{n}", MISSING) for n in range(9)]
    subject = recurring_subjects(items)[0]
    assert (len(subject.items), subject.passing, subject.focus.passing) == (4, 9, 9)


def test_three_tasks_must_be_failing_ones() -> None:
    items = [failing(f"f{n}", f"task{n}", MISSING) for n in range(2)]
    items += [labelled(f"p{n}", [call("look")], "pass", f"other{n}", MISSING) for n in range(9)]
    assert recurring_subjects(items) == []


def test_classes_count_traces_and_tasks() -> None:
    items = [failing("a", "t1", MISSING), failing("b", "t1", MISSING), failing("c", "t2", MISSING)]
    found = feedback_classes(items)["missing cancel_order"]
    assert (len(found.failing), found.tasks) == (3, 2)


def test_other_classes_keep_their_name() -> None:
    assert subject_of("wrong cancel_order.reason") == "wrong cancel_order.reason"
    assert subject_of("missing cancel_order") == "when cancel_order"


def test_themes_name_what_sets_a_group_apart() -> None:
    first = ["total formula sheet"] * 5
    second = ["total invoice sheet"] * 5
    labels = themes([first, second])
    assert labels[0].startswith("formula")
    assert labels[1].startswith("invoice")
    assert themes([[""], ["1 2 3"]]) == ["group 1", "group 2"]


def harmful_when(word: str) -> list:
    """Writing a number fails where the request mentions `word`, and does no harm in other tasks."""
    number = call("write", value=3)
    items = [labelled(f"f{n}", [number], "fail", f"a{n}", request=f"Fill in the {word} please") for n in range(4)]
    items += [
        labelled(f"g{n}", [call("write", value="=A1")], "pass", f"a{n}", request=f"Fill in the {word} please")
        for n in range(4)
    ]
    items += [labelled(f"p{n}", [number], "pass", f"b{n}", request="Fill in the amount please") for n in range(4)]
    return items


def test_a_condition_names_the_word_that_tells_harmful_tasks_apart() -> None:
    items = harmful_when("formula")
    assert len(breakers_elsewhere(items, "called(write, value: number)")) == 4
    assert condition(items, "called(write, value: number)") == 'When the request mentions "formula"'


def test_no_condition_where_nothing_separates_or_none_is_needed() -> None:
    items = harmful_when("amount")
    assert condition(items, "called(write, value: number)") is None
    everywhere = [item for item in harmful_when("formula") if not item.trace.external_id.startswith("p")]
    assert breakers_elsewhere(everywhere, "called(write, value: number)") == []
    assert condition(everywhere, "called(write, value: number)") is None
