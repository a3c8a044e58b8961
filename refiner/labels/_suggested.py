"""What the signs in a trace suggest of its end. Signs are not statements: nothing counts before a person accepts it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from refiner import reactions
from refiner.types import Outcome, Span, Status, Trace

SignKind = Literal[
    "infrastructure",
    "correction",
    "interruption",
    "approval",
    "redo",
    "tests_failed",
    "tests_passed",
    "last_error",
]
"""`redo`: done again after a correction, without complaint; a sign of an attempt within a conversation only."""
_SAID = ("correction", "interruption")
_STATUS: dict[str, Status] = {
    "infrastructure": "infrastructure",
    "correction": "fail",
    "interruption": "fail",
    "approval": "pass",
    "tests_failed": "fail",
    "tests_passed": "pass",
    "last_error": "fail",
}
_LAST_CALLS = 3
"""A test run counts as the end while it is among so many last calls."""
_LONGEST = 160
_BROKEN = re.compile(
    r"api error|rate.?limit(?:ed| exceeded| reached)|overloaded|service unavailable|connection (?:refused|reset)"
    r"|(?:request|deadline|agent) timed? ?out|quota exceeded|internal server error",
    re.I,
)
_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|(?:go|cargo|dotnet|mix|swift|bun|deno) test"
    r"|(?:npm|pnpm|yarn)(?: run)? test|(?:mvn|gradlew?)\b[^\n]*\btest|make (?:test|check))\b",
    re.I,
)
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "code", "input", "keystrokes")
_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
_READS = re.compile(
    r"[\s('\"]*(?:sudo\s+)?(?:(?:cat|grep|rg|ag|find|ls|head|tail|less|sed|awk|echo|printf|which|git|diff|wc|rm|cp|mv|mkdir"
    r"|touch|vim?|nano|apt(?:-get)?|brew|(?:python[\d.]*\s+-m\s+|uv\s+)?pipx?3?)\s"
    r"|(?:npm|pnpm|yarn|bun|poetry|uv|pdm|cargo|gem|conda|mamba|composer)\s+(?:i|install|add|remove|ci|sync)\s)"
)
"""How a command begins that names a test runner without running it."""
_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|^(?:FAIL|FAILED|not ok|--- FAIL)\b"
    r"|test result: FAILED|FAILED \(",
    re.M,
)
_PASSED = re.compile(r"\b[1-9]\d* (?:passed|passing)\b|^ok\b|test result: ok|all tests passed|0 failures", re.M | re.I)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What one sign suggests. `reason` quotes it; `ordinal` is its span."""

    trace_id: str
    kind: SignKind
    status: Status
    reason: str
    ordinal: int

    def outcome(self, at: str | None = None) -> Outcome:
        """The suggestion as an event. Its origin says that it never counts; `suggested` reads it back."""
        return Outcome(self.trace_id, self.status, "heuristic", feedback=f"{self.kind}: {self.reason}", at=at)


def suggest(trace: Trace) -> Suggestion | None:
    """What the strongest sign in a trace suggests; None without any.

    In this order: a broken service at the end, the user's last reaction, tests run at the end, a call that failed last.
    """
    found = next(_signs(trace.spans), None)
    if found is None:
        return None
    kind, span, words = found
    return Suggestion(trace.id, kind, _STATUS[kind], _quoted(words), span.ordinal)


def suggested(outcome: Outcome) -> tuple[SignKind, str] | None:
    """Kind and reason of a stored suggestion; None for every other statement."""
    kind, _, reason = (outcome.feedback or "").partition(": ")
    known = next((one for one in get_args(SignKind) if one == kind), None)
    return (known, reason) if known and outcome.origin == "heuristic" else None


def accepted(trace_id: str, status: Status, kind: str, reason: str, at: str | None = None) -> Outcome:
    """The outcome that a person made of a suggestion; what the user objected to is its feedback."""
    words = reason.strip() if status == "fail" and kind in _SAID else ""
    return Outcome(trace_id, status, "human", None, words or None, at)


def _signs(spans: tuple[Span, ...]) -> Iterator[tuple[SignKind, Span, str]]:
    if spans and (broken := _BROKEN.search(spans[-1].error or "")):
        yield "infrastructure", spans[-1], _line_of(spans[-1].error or "", broken.start())
    yield from _reaction(spans)
    yield from _tested(spans)
    last = next((span for span in reversed(spans) if span.kind == "tool_call"), None)
    if last is not None and last.error and all(span.role != "assistant" for span in spans[last.ordinal + 1 :]):
        yield "last_error", last, f"{last.name}: {last.error}"


def _reaction(spans: tuple[Span, ...]) -> Iterator[tuple[SignKind, Span, str]]:
    """The last turn of the user, after the first, that corrects, approves or interrupts; a later request hides it.

    An interruption after which the agent was told to go on, and did, is none.
    """
    turns = [span for span in spans if reactions.is_said(span) and not reactions.says_nothing(span.output)][1:]
    went_on = False
    for turn in reversed(turns):
        said = reversed(spans[: turn.ordinal])
        answers = next((span.output for span in said if span.kind == "message" and span.role == "assistant"), "")
        kind = reactions.read(turn.output, answers=answers).kind
        if kind == "interruption" and went_on:
            continue
        if kind == "correction" or kind == "approval" or kind == "interruption":
            yield kind, turn, turn.output
        if kind != "continuation":
            return
        went_on = any(span.kind != "event" and not reactions.is_said(span) for span in spans[turn.ordinal + 1 :])


def _tested(spans: tuple[Span, ...]) -> Iterator[tuple[SignKind, Span, str]]:
    calls = [span for span in spans if span.kind == "tool_call"][-_LAST_CALLS:]
    for call in reversed(calls):
        if not _runs_tests(call.input):
            continue
        if hit := _FAILED.search(call.output):
            yield "tests_failed", call, _line_of(call.output, hit.start())
        elif hit := _PASSED.search(call.output):
            yield "tests_passed", call, _line_of(call.output, hit.start())
        return


def _runs_tests(arguments: str) -> bool:
    """Whether a call runs tests: a command does that names a test runner, save one that reads, edits or installs."""
    commands = [part for text in _commands(arguments) for part in _SEPARATORS.split(text)]
    return any(_TESTS.search(command) and not _READS.match(command) for command in commands)


def _commands(arguments: str) -> list[str]:
    """The texts of the arguments that a shell may run: none of a call that names a file or a pattern to look for."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return [arguments]
    if not isinstance(given, dict):
        return [text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)]
    texts = [given[key] for key in _COMMAND_KEYS if key in given]
    return [" ".join(map(str, text)) if isinstance(text, list) else str(text) for text in texts]


def _line_of(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]


def _quoted(words: str) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
