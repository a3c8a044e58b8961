"""Harbor trials and ATIF trajectories: `result.json` speaks for its folder, a trajectory alone for itself.

A trial without a trajectory is read from the session files of its agent, then from what its terminal showed. An
exception of the trial is infrastructure, whatever the reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

from refiner.formats import _atif_steps, _failed_tests, _sessions
from refiner.formats._building import build, chosen_task
from refiner.formats._common import Item, Unusable, items, scalar_id, seconds_between, text_of, utc_time
from refiner.formats._messages import as_dict, first_line
from refiner.formats._steps import Steps
from refiner.formats._values import objects
from refiner.formats.tau_bench import graded
from refiner.ids import content_key
from refiner.jsontext import decode, loads
from refiner.ports import Source
from refiner.types import Outcome, Span, Trace

_TRAJECTORY = "agent/trajectory.json"
_USED = {
    "n_input_tokens": "input_tokens",
    "n_output_tokens": "output_tokens",
    "n_cache_tokens": "cached_tokens",
    "cost_usd": "cost_usd",
}


class Harbor:
    name = "harbor"
    leads: ClassVar = {
        r"result\.json": re.compile(r"(agent|verifier|artifacts)/.*|config\.json|trial\.log|exception\.txt|lock\.json"),
        r"trajectory\.json": re.compile(r"trajectory\.(cont|summarization)-.*\.json"),
    }

    def sniff(self, head: bytes) -> float:
        return float(any(_is_trajectory(one) or _is_trial(one) for one in objects(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        return items(stream, source, lambda record, place: _convert(record, place, source))


FORMAT = Harbor()


def _is_trajectory(record: dict[str, Any]) -> bool:
    return scalar_id(record.get("schema_version")).startswith("ATIF-")


def _is_trial(record: dict[str, Any]) -> bool:
    return all(key in record for key in ("task_name", "trial_name"))


def _convert(record: dict[str, Any], place: str, source: Source) -> Iterator[Item]:
    line = place.rsplit(":", 1)[-1]
    if _is_trial(record):
        yield from _trial(record, line, source)
        return
    file = source.path.rsplit("/", 1)[-1]
    parts = _atif_steps.chain(record, file, lambda name: _value(source, name))
    spans = _atif_steps.spans(parts, file, lambda name: _value(source, name))
    if not spans:
        raise Unusable("the trajectory holds no steps")
    name = next((found for key in ("trajectory_id", "session_id") if (found := scalar_id(record.get(key)))), "")
    yield _of_trajectory(parts, spans, name or content_key(record), line, source, chosen_task(record, source))


def _of_trajectory(
    parts: list[dict[str, Any]], spans: tuple[Span, ...], name: str, line: str, source: Source, task_id: str
) -> Trace:
    agent = as_dict(parts[0].get("agent"))
    meta = {"agent": agent.get("name"), **_atif_steps.totals(parts)}
    return build(
        source, FORMAT.name, name, spans, place=line, task_id=task_id, model=agent.get("model_name"), meta=meta
    )


def _trial(record: dict[str, Any], line: str, source: Source) -> Iterator[Item]:
    """The run of a trial, its facts over those of its trajectory, and how it was graded."""
    broken = as_dict(record.get("exception_info"))
    told = _run(record, line, source)
    crash = ": ".join(filter(None, (scalar_id(broken.get(f"exception_{key}")) for key in ("type", "message"))))
    if told is None and not broken:
        raise Unusable("a trial without steps: its folder holds neither trajectory nor session nor terminal output")
    info = as_dict(record.get("agent_info"))
    result = as_dict(record.get("agent_result"))
    ran = as_dict(record.get("agent_execution"))
    used = {ours: result[theirs] for theirs, ours in _USED.items() if result.get(theirs) is not None}
    spans = _with_crash(told.spans if told else (), crash or ("exception" if broken else ""))
    trace = build(
        source,
        FORMAT.name,
        scalar_id(record.get("trial_name")) or scalar_id(record.get("id")) or content_key(record),
        spans,
        place=line,
        task=told.task if told else "",
        task_id=chosen_task(record, source) or scalar_id(record.get("task_name")),
        model=as_dict(info.get("model_info")).get("name") or (told and told.model),
        meta={
            **(told.meta if told else {}),
            "agent": info.get("name"),
            "seconds": seconds_between(ran.get("started_at"), ran.get("finished_at")),
            **used,
        },
    )
    yield trace
    yield Outcome(trace.id, "infrastructure") if broken else _graded(trace, record, source)


def _with_crash(spans: tuple[Span, ...], crash: str) -> tuple[Span, ...]:
    if not crash:
        return spans
    last = len(spans)
    return (*spans, Span(last, f"harness{last}", "event", "harness", output=text_of(crash), error=first_line(crash)))


def _run(record: dict[str, Any], line: str, source: Source) -> Trace | None:
    """The best record of what the agent did: its trajectory, its own session files, what its terminal showed."""
    first = _value(source, _TRAJECTORY)
    if isinstance(first, dict):
        parts = _atif_steps.chain(first, _TRAJECTORY, lambda name: _value(source, name))
        spans = _atif_steps.spans(parts, _TRAJECTORY, lambda name: _value(source, name))
        if spans:
            return _of_trajectory(parts, spans, "trajectory", line, source, "")
    found = _sessions.longest(source, "agent/")
    if found is not None:
        return found
    steps = Steps()
    begun = utc_time(as_dict(record.get("agent_execution")).get("started_at"))
    for shown in _sessions.screens(source, r"agent/[^/]+\.(txt|log|pane)"):
        steps.event("terminal", shown, at=begun)
    return build(source, FORMAT.name, "terminal", steps.spans(), place=line) if steps.drafts else None


def _graded(trace: Trace, record: dict[str, Any], source: Source) -> Outcome:
    """The reward of the verifier, from the result or from the verifier's own file; the tests that failed."""
    rewards = as_dict(as_dict(record.get("verifier_result")).get("rewards"))
    rewards = rewards or as_dict(_value(source, "verifier/reward.json"))
    written = (source.beside and source.beside.read("verifier/reward.txt")) or b""
    status, score = graded(rewards.get("reward", next(iter(rewards.values()), _number(written))))
    return Outcome(trace.id, status, score=score, feedback="\n".join(_feedback(source)) or None)


def _feedback(source: Source) -> list[str]:
    lines = list(_failed_tests.from_ctrf(_value(source, "verifier/ctrf.json")))
    printed = (source.beside and source.beside.read("verifier/test-stdout.txt")) or b""
    return lines or list(_failed_tests.from_pytest(_failed_tests.screen(printed)))


def _number(data: bytes) -> float | None:
    try:
        return float(decode(data).strip())
    except ValueError:
        return None


def _value(source: Source, name: str) -> Any:
    """The JSON value of a file beside the source's; None for what is not there or cannot be read."""
    data = source.beside.read(name) if source.beside else None
    try:
        return None if data is None else loads(decode(data))
    except ValueError:
        return None
