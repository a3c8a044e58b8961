"""Terminal-Bench 0.1 runs: `results.json` of a run or of one trial, with the terminals of the folders below it.

Steps exist as an agent's own log or as what the terminal showed. Whether a trial was resolved may be unknown; an agent
that never started, or tests that never ran, say nothing about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

from refiner.formats import _failed_tests, _sessions
from refiner.formats._building import build, chosen_task
from refiner.formats._common import Item, Unusable, items, scalar_id, seconds_between, text_of, utc_time
from refiner.formats._messages import as_dict, as_list
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.ids import content_key
from refiner.jsontext import decode, loads
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Status, Trace

_TRIAL = r"(agent-logs|sessions|panes)/.*|commands\.txt"
_NOT_THE_AGENT = {"agent_installation_failed", "unknown_agent_error", "test_timeout", "parse_error"}
_LIMITS = {"agent_timeout", "context_length_exceeded", "output_length_exceeded"}
_NEVER_STARTED = re.compile(
    r"\b(?:aider|claude|codex|cursor-agent|gemini|goose|mini|mini-swe-agent|opencode|openhands|q|qwen): "
    r"(?:command not found|not found)$"
)
"""The end of a log in which the shell did not know the agent."""
_LAST_LINES = 5
_OWNED = rf"{_TRIAL}|[^/]+/[^/]+/({_TRIAL}|results\.json)|run_metadata\.json|tb\.lock|run\.log"


class TerminalBench:
    name = "terminal-bench"
    leads: ClassVar = {r"results\.json": re.compile(_OWNED)}

    def sniff(self, head: bytes) -> float:
        found = [one for record in objects(head) for one in (record, *_trials(record))]
        return float(any(_is_trial(one) for one in found))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        return items(stream, source, lambda record, place: _convert(record, place, source))


FORMAT = TerminalBench()


def _is_trial(record: dict[str, Any]) -> bool:
    return all(key in record for key in ("task_id", "is_resolved"))


def _trials(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in as_list(record.get("results")) if isinstance(one, dict)]


def _convert(record: dict[str, Any], place: str, source: Source) -> Iterator[Item]:
    line = place.rsplit(":", 1)[-1]
    if _is_trial(record):
        yield from _trial(record, "", {}, line, source)
        return
    if not _trials(record):
        raise Unusable("a run without `results`")
    about = _value(source, "run_metadata.json")
    for one in _trials(record):
        folder = f"{scalar_id(one.get('task_id'))}/{scalar_id(one.get('trial_name'))}/"
        yield from _trial(one, folder, about, line, source)


def _trial(record: dict[str, Any], folder: str, about: dict[str, Any], line: str, source: Source) -> Iterator[Item]:
    name = scalar_id(record.get("trial_name")) or scalar_id(record.get("id")) or content_key(record)
    steps, log = Steps(), _log(folder, source)
    steps.say("user", text_of(record.get("instruction")))
    own = _sessions.longest(source, f"{folder}agent-logs/")
    if own is not None:
        steps.drafts = list(own.spans)
    elif log:
        steps.event("terminal", log, at=utc_time(record.get("agent_started_at")))
    if not steps.drafts:
        yield BadRecord(source.path, 0, f"trial {name}: neither an instruction nor what its terminal showed")
        return
    trace = build(
        source,
        FORMAT.name,
        name,
        steps.spans(),
        place=line,
        task=text_of(record.get("instruction")),
        task_id=chosen_task(record, source) or scalar_id(record.get("task_id")),
        model=about.get("model_name") or (own and own.model),
        meta=_meta(record, about),
    )
    yield trace
    yield _outcome(trace, record, folder, log, source)


def _meta(record: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    mode = scalar_id(record.get("failure_mode"))
    used = {key: record.get(f"total_{key}") for key in ("input_tokens", "output_tokens")}
    took = seconds_between(record.get("agent_started_at"), record.get("agent_ended_at"))
    return {"agent": about.get("agent_name"), "ended": "limit" if mode in _LIMITS else "", "seconds": took, **used}


def _log(folder: str, source: Source) -> str:
    """What the agent's terminal showed: its log, else its recording, else the screen that was left."""
    for name in (r"sessions/agent\.log", r"sessions/agent\.cast", r"panes/post-agent\.txt"):
        found = _sessions.screens(source, re.escape(folder) + name)
        if found:
            return found[0]
    return ""


def _outcome(trace: Trace, record: dict[str, Any], folder: str, log: str, source: Source) -> Outcome:
    mode, resolved = scalar_id(record.get("failure_mode")), record.get("is_resolved")
    if resolved is not True and (mode in _NOT_THE_AGENT or _never_started(log)):
        return Outcome(trace.id, "infrastructure")
    status: Status = "unknown" if not isinstance(resolved, bool) else "pass" if resolved else "fail"
    lines = [f"Stopped by the limit: {mode}"] if mode in _LIMITS else []
    printed = "\n".join(_sessions.screens(source, re.escape(folder) + r"sessions/tests\.log"))
    lines += _failing(as_dict(record.get("parser_results")), _failed_tests.summary(printed))
    return Outcome(trace.id, status, feedback="\n".join(lines) or None)


def _failing(results: dict[str, Any], reasons: dict[str, str]) -> Iterator[str]:
    """The tests that did not pass, each with what was printed of it."""
    for name in (text_of(name) for name, result in results.items() if result != "passed"):
        yield _failed_tests.line(name, next((why for at, why in reasons.items() if at.endswith(f"::{name}")), ""))


def _never_started(log: str) -> bool:
    """Whether the shell's last word, prompts aside, is that it does not know the agent."""
    last = [line.strip() for line in log.splitlines() if line.strip()][-_LAST_LINES:]
    return any(_NEVER_STARTED.search(line) for line in last)


def _value(source: Source, name: str) -> dict[str, Any]:
    data = source.beside.read(name) if source.beside else None
    try:
        return as_dict(loads(decode(data or b"{}")))
    except ValueError:
        return {}
