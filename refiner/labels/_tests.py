"""Test reports, CTRF and JUnit XML: one status a test, the failing ones as feedback. What they are about: `Report`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from refiner.jsontext import clean
from refiner.labels._results import MOST_TESTS, failing_lines
from refiner.types import Status

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_CTRF: dict[str, Status] = {"passed": "pass", "failed": "fail"}
_JUNIT: dict[str, Status] = {"failure": "fail", "error": "fail", "skipped": "unknown"}
_LONGEST_MESSAGE = 300


class Test(NamedTuple):
    """One test; skipped ones are unknown. `message` is its first line."""

    name: str
    group: str
    status: Status
    message: str = ""

    def names(self) -> tuple[str, ...]:
        """What the test may be called, the longer name first."""
        return (f"{self.group}.{self.name}", self.name) if self.group else (self.name,)


@dataclass(frozen=True, slots=True)
class Report:
    """A test report. Its tests are about traces where they are named like traces; else it is about one, as a whole."""

    tests: tuple[Test, ...]

    def by_trace(self, known: Collection[str]) -> list[tuple[str, Status, str]]:
        """(trace, status, feedback) of the tests that bear the name of a trace; a trace with several fails with one."""
        found: dict[str, list[Test]] = {}
        for test in self.tests:
            name = next((name for name in test.names() if name in known), None)
            if name is not None:
                found.setdefault(name, []).append(test)
        return [(name, *_together(tests, named=False)) for name, tests in found.items()]

    def as_one(self) -> tuple[Status, str]:
        """Status and feedback of the whole: passed when a test passed and none failed, unknown without any."""
        return _together(self.tests, named=True)


def owner(path: PurePath, known: Collection[str]) -> str:
    """The trace that a report in this file is about: the one named like the file or, nearest first, like a folder."""
    names = [path.name, path.stem, path.stem.removeprefix("TEST-"), *reversed(path.parts[:-1])]
    return next((name for name in names if name in known), path.stem)


def looks_like_junit(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and (b"<testsuite" in head or b"<testcase" in head)


def is_ctrf(record: dict[str, Any]) -> bool:
    results = record.get("results")
    return isinstance(results, dict) and "tool" in results and isinstance(results.get("tests"), list)


def ctrf(record: dict[str, Any]) -> Report:
    """The tests of a CTRF object; what is no test of one of the known statuses is skipped."""
    return Report(tuple(_ctrf_test(one) for one in record["results"]["tests"] if isinstance(one, dict)))


def junit(data: bytes) -> Report:
    """The tests of JUnit XML. Raises ValueError for what is no XML, and for document types and entities, unread."""
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise ValueError("it declares a document type or entities, which no test report needs") from None
    except (ParseError, ValueError, LookupError) as error:
        raise ValueError(f"not XML: {error}") from None
    return Report(tuple(_junit_test(one) for one in root.iter("testcase")))


def _ctrf_test(one: dict[str, Any]) -> Test:
    suite = one.get("suite")
    group = " ".join(map(str, suite)) if isinstance(suite, list) else suite if isinstance(suite, str) else ""
    status = _CTRF.get(str(one.get("status")).lower(), "unknown")
    return Test(_text(one.get("name")), clean(group), status, _first_line(_text(one.get("message"))))


def _junit_test(case: Element) -> Test:
    marks = [(child, _JUNIT[child.tag]) for child in case if child.tag in _JUNIT]
    worst = min(marks, key=lambda mark: mark[1] != "fail", default=None)
    message = "" if worst is None else worst[0].get("message") or worst[0].text or ""
    name, group = case.get("name") or "", case.get("classname") or ""
    return Test(clean(name), clean(group), worst[1] if worst else "pass", _first_line(clean(message)))


def _text(value: Any) -> str:
    return clean(value if isinstance(value, str) else "" if value is None else json.dumps(value))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:_LONGEST_MESSAGE]


def _together(tests: Collection[Test], *, named: bool) -> tuple[Status, str]:
    counts = Counter(test.status for test in tests)
    status: Status = "fail" if counts["fail"] else "pass" if counts["pass"] else "unknown"
    return status, "\n".join(_lines([test for test in tests if test.status == "fail"], named))


def _lines(failing: list[Test], named: bool) -> Iterator[str]:
    """A line that names each failing test, then what it said."""
    if named:
        yield from failing_lines([test.name for test in failing])
    yield from dict.fromkeys(test.message for test in failing[:MOST_TESTS] if test.message)
