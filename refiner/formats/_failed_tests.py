"""Tests that failed, as lines of feedback: from CTRF reports, from what pytest printed. Knows no run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from refiner.formats._common import text_of
from refiner.formats._messages import as_dict, as_list, first_line
from refiner.jsontext import clean

_LONGEST = 300
_MOST = 20
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LEFT_OUT = 100_000


def from_ctrf(report: Any) -> Iterator[str]:
    """One line for each test of a CTRF report that did not pass and was not skipped, with its message."""
    tests = [as_dict(one) for one in as_list(as_dict(as_dict(report).get("results")).get("tests"))]
    failed = [one for one in tests if one.get("status") in ("failed", "other")]
    for one in failed[:_MOST]:
        message = first_line(text_of(one.get("message"))) or _last_line(text_of(one.get("trace")))
        yield line(text_of(one.get("name")), message)
    if len(failed) > _MOST:
        yield f"and {len(failed) - _MOST} further tests failed"


def from_pytest(text: str) -> Iterator[str]:
    """The failed tests of pytest's short summary, each once."""
    yield from (line(name, message) for name, message in list(summary(text).items())[:_MOST])


def summary(text: str) -> dict[str, str]:
    """Messages of the failed tests in pytest's short summary, by the test's name without its folder."""
    return {mark[1].rsplit("/", 1)[-1]: mark[2] or "" for mark in _SUMMARY.finditer(text)}


def line(name: str, message: str = "") -> str:
    """`Test failed: NAME: MESSAGE`."""
    return ": ".join(filter(None, ("Test failed", name, message.strip()[:_LONGEST])))


def screen(data: bytes) -> str:
    """What a terminal showed, without its control codes; of long output the head and the tail."""
    text = _ANSI.sub("", data.decode("utf-8", errors="replace")).replace("\r\n", "\n").replace("\r", "\n")
    text = clean(_UNSEEN.sub("", text)).strip()
    if len(text) <= 2 * _LEFT_OUT:
        return text
    gone = len(text) - 2 * _LEFT_OUT
    return f"{text[:_LEFT_OUT]}\n[... {gone:,} characters left out ...]\n{text[-_LEFT_OUT:]}"


def _last_line(text: str) -> str:
    return next((one.strip() for one in reversed(text.splitlines()) if one.strip()), "")
