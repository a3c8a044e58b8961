"""Results of SWE-bench style evaluations: lists of instance ids by how they ended, or one report an instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from refiner.jsontext import clean
from refiner.types import Status

_LISTS: tuple[tuple[Status, tuple[str, ...]], ...] = (
    ("pass", ("resolved", "resolved_ids")),
    ("fail", ("unresolved", "unresolved_ids", "empty_patch", "empty_patch_ids", "no_generation")),
    ("infrastructure", ("error", "error_ids", "install_fail", "reset_failed")),
    ("unknown", ("incomplete", "incomplete_ids", "no_logs")),
)
_EVALUATED = ("completed_ids", "applied", "with_logs")
"""Where no list says `unresolved`, an instance of these that is not resolved is one that failed."""
_REPORT = ("tests_status", "patch_exists", "patch_successfully_applied")
_GRADED = {"resolved", "history", "trajectory", "messages", "test_result"}
_SUITES = ("FAIL_TO_PASS", "PASS_TO_PASS")
MOST_TESTS = 50
"""Failing tests that a feedback text names."""


class Ending(NamedTuple):
    """How one instance ended. `feedback` is empty where the results say nothing of why."""

    id: str
    status: Status
    feedback: str = ""


def are_lists(record: dict[str, Any]) -> bool:
    """Whether an object holds lists of instance ids by how they ended."""
    passed = any(isinstance(record.get(key), list) for key in _LISTS[0][1])
    return passed and all(isinstance(one, str | int) for _, keys in _LISTS for key in keys for one in _ids(record, key))


def are_reports(record: dict[str, Any]) -> bool:
    """Whether an object holds one report an instance, under the instance's id."""
    return bool(record) and all(_is_report(value) for value in record.values())


def holds_patches(record: dict[str, Any]) -> bool:
    """Whether an object is a prediction that an evaluation has yet to grade, or holds one an instance under its id."""
    return _is_prediction(record) or (bool(record) and all(map(_is_prediction, record.values())))


def endings(record: dict[str, Any]) -> Iterator[Ending]:
    """How each instance ended, of either shape. One that is both resolved and unresolved is given twice."""
    if are_reports(record):
        yield from (Ending(clean(name), *_reported(report)) for name, report in record.items())
        return
    seen: set[str] = set()
    for status, keys in _LISTS:
        found = [clean(str(one)) for key in keys for one in _ids(record, key)]
        if status in ("pass", "fail"):
            yield from (Ending(name, status) for name in found)
        else:
            yield from (Ending(name, status) for name in found if name not in seen)
        seen.update(found)
    if not any(key in record for key in ("unresolved", "unresolved_ids")):
        yield from (
            Ending(name, "fail") for key in _EVALUATED for name in map(str, _ids(record, key)) if name not in seen
        )


def failing_lines(names: list[str]) -> list[str]:
    """One feedback line a failing test; of very many the first, and how many there are more."""
    lines = [f"Failing test: {' '.join(clean(name).split())}" for name in names[:MOST_TESTS]]
    more = len(names) - MOST_TESTS
    return [*lines, f"{more} more failing tests."] if more > 0 else lines


def _ids(record: dict[str, Any], key: str) -> list[Any]:
    found = record.get(key)
    return found if isinstance(found, list) else []


def _is_prediction(value: Any) -> bool:
    return isinstance(value, dict) and {"instance_id", "model_patch"} <= value.keys() and not _GRADED & value.keys()


def _is_report(value: Any) -> bool:
    if not isinstance(value, dict) or "resolved" not in value:
        return False
    return isinstance(value["resolved"], bool) or any(key in value for key in _REPORT)


def _reported(report: dict[str, Any]) -> tuple[Status, str]:
    resolved = report.get("resolved")
    status: Status = "pass" if resolved is True else "fail" if resolved is False else "unknown"
    return status, "" if status == "pass" else "\n".join(_reasons(report))


def _reasons(report: dict[str, Any]) -> list[str]:
    if report.get("patch_is_None") is True or report.get("patch_exists") is False:
        return ["No patch was given."]
    if report.get("patch_successfully_applied") is False:
        return ["The patch could not be applied."]
    tests = report.get("tests_status")
    suites = [tests[name] for name in _SUITES if isinstance(tests.get(name), dict)] if isinstance(tests, dict) else []
    return failing_lines([str(name) for suite in suites for name in _ids(suite, "failure")])
