"""tau2-bench results: simulations in one file, or each in its own. Scenarios and gold actions stay out of the trace.

What the simulated user does with tools of its own is an event, not a call of the agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO, ClassVar, NamedTuple

from refiner.formats import _messages, _tau2_feedback
from refiner.formats._common import Item, Unusable, items, json_text, lookup, scalar_id, text_of
from refiner.formats._messages import as_dict, as_list
from refiner.formats._steps import Steps, opening
from refiner.formats._values import objects
from refiner.formats.tau_bench import graded
from refiner.ids import canonical_json, content_key
from refiner.jsontext import decode, loads
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, NoteKind, Outcome, Span, Trace

_NOT_THE_AGENT = {"infrastructure_error", "unexpected_error", "user_error"}
"""Ends for which the harness or the simulated user is to blame."""
_LIMITS = {"max_steps", "too_many_errors", "timeout"}
_SIMULATIONS = re.compile(r"simulations/[^/]+\.json")
_USAGE = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}


class Tau2Bench:
    name = "tau2-bench"
    leads: ClassVar = {r"results\.json": _SIMULATIONS}

    def sniff(self, head: bytes) -> float:
        return float(any(_is_results(record) or _is_simulation(record) for record in objects(head)))

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        return items(stream, source, lambda record, place: _convert(record, place, source))


FORMAT = Tau2Bench()


def _is_results(record: dict[str, Any]) -> bool:
    """The tasks alone may fill the beginning of a file: what stands before them is as telling."""
    return "environment_info" in as_dict(record.get("info")) or all(key in record for key in ("simulations", "tasks"))


def _is_simulation(record: dict[str, Any]) -> bool:
    spoken = "messages" in record or "ticks" in record
    return spoken and "task_id" in record and ("reward_info" in record or "termination_reason" in record)


class _Run(NamedTuple):
    """What the simulations of a file share. `tasks`: by what their checks look for, those of equal checks together.

    `timed`: whether their times can be true. Published results may have one made-up time for all.
    """

    domain: str
    policy: str
    model: str
    tasks: dict[str, list[dict[str, Any]]]
    place: str
    source: Source
    timed: bool = True


def _convert(record: dict[str, Any], place: str, source: Source) -> Iterator[Item]:
    info = as_dict(record.get("info"))
    world = as_dict(info.get("environment_info"))
    model = scalar_id(as_dict(info.get("agent_info")).get("llm"))
    tasks = _by_checks(as_list(record.get("tasks")))
    run = _Run(scalar_id(world.get("domain_name")), text_of(world.get("policy")), model, tasks, place, source)
    if _is_simulation(record):
        yield from _simulation(record, run)
        return
    found, inside = False, as_list(record.get("simulations"))
    begun = [scalar_id(as_dict(simulation).get("start_time")) for simulation in inside]
    run = run._replace(timed=not (len(begun) > 1 and begun[0] and len(set(begun)) == 1))
    for simulation in inside or _files(source):
        found = True
        yield from _simulation(simulation, run)
    if not found:
        raise Unusable("holds no simulations, and there are none in a folder `simulations` beside it")


def _files(source: Source) -> Iterator[Any]:
    """The simulations of the layout that keeps each in a file of its own."""
    names = [name for name in (source.beside.names() if source.beside else ()) if _SIMULATIONS.fullmatch(name)]
    for name in names:
        try:
            yield loads(decode((source.beside and source.beside.read(name)) or b""))
        except ValueError as error:
            yield {"problem": f"{name}: not JSON: {error}"}


def _simulation(simulation: Any, run: _Run) -> Iterator[Item]:
    messages = as_list(as_dict(simulation).get("messages"))
    spans = _spans(messages, run.policy)
    if not any(span.role != "system" for span in spans):
        spoken = isinstance(simulation, dict) and "ticks" in simulation
        reason = "a voice simulation (`ticks`) is not read" if spoken else "a simulation holds no messages"
        reason = as_dict(simulation).get("problem", reason)
        yield BadRecord(run.source.path, 0, reason)
        return
    tasks = _tasks(simulation, run)
    trace = _trace(simulation, messages, spans, tasks, run)
    yield trace
    yield _outcome(trace, simulation)
    yield from _notes(trace, simulation, tasks)


def _trace(
    simulation: dict[str, Any],
    messages: list[Any],
    spans: tuple[Span, ...],
    tasks: list[dict[str, Any]],
    run: _Run,
) -> Trace:
    stated = scalar_id(simulation.get("task_id"))
    name = "+".join(scalar_id(task.get("id")) for task in tasks) or stated
    chosen = scalar_id(lookup(simulation, run.source.task_key)) if run.source.task_key else ""
    task_id = chosen or (name and "/".join(filter(None, (run.domain, name))))
    return Trace(
        corpus=run.source.corpus,
        external_id=scalar_id(simulation.get("id")) or f"{run.domain or 'tau2'}-{content_key(simulation)}",
        format=FORMAT.name,
        task=opening(spans),
        task_id=task_id,
        task_id_origin="file" if task_id else "none",
        spans=spans,
        model=run.model or None,
        source=run.place,
        meta={
            **_meta(simulation, messages, stated if stated != name else ""),
            **_seconds(simulation if run.timed else {}),
        },
    )


def _meta(simulation: dict[str, Any], messages: list[Any], stated: str) -> dict[str, str]:
    reason = scalar_id(simulation.get("termination_reason"))
    said = [as_dict(message) for message in messages if as_dict(message).get("role") == "assistant"]
    used = [as_dict(message.get("usage")) for message in said]
    facts = {
        "trial": scalar_id(simulation.get("trial")),
        "stated_task_id": stated,
        "ended": "limit" if reason in _LIMITS else "",
        "cost_usd": scalar_id(simulation.get("agent_cost")),
    }
    for theirs, ours in _USAGE.items():
        counts = [one[theirs] for one in used if isinstance(one.get(theirs), int)]
        facts[ours] = str(sum(counts)) if counts else ""
    return {key: value for key, value in facts.items() if value}


def _seconds(simulation: dict[str, Any]) -> dict[str, str]:
    duration = scalar_id(simulation.get("duration"))
    return {"seconds": duration} if duration else {}


def _by_checks(tasks: list[Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for task in tasks:
        wanted = as_dict(as_dict(task).get("evaluation_criteria"))
        checks = _checks(as_list(wanted.get("actions")), as_list(wanted.get("communicate_info")))
        if isinstance(task, dict):
            found.setdefault(checks, []).append(task)
    return found


def _checks(actions: list[Any], told: list[Any]) -> str:
    plain = [[as_dict(action).get(key) for key in ("requestor", "name", "arguments")] for action in actions]
    return canonical_json([plain, told])


def _tasks(simulation: dict[str, Any], run: _Run) -> list[dict[str, Any]]:
    """The tasks that a simulation may be a run of: those whose checks it was given. Its stated id is often another's.

    The stated id decides where nothing was checked, and among tasks with equal checks.
    """
    reward = as_dict(simulation.get("reward_info"))
    actions = [as_dict(check).get("action") for check in as_list(reward.get("action_checks"))]
    told = [as_dict(check).get("info") for check in as_list(reward.get("communicate_checks"))]
    every = [task for tasks in run.tasks.values() for task in tasks]
    fitting = run.tasks.get(_checks(actions, told), []) if actions or told else every
    named = [task for task in fitting if scalar_id(task.get("id")) == scalar_id(simulation.get("task_id"))]
    return named or (fitting if actions or told else [])


def _spans(messages: list[Any], policy: str) -> tuple[Span, ...]:
    steps, theirs = Steps(strict=True), set[int]()
    steps.say("system", policy)
    for message in messages:
        if not isinstance(message, dict):
            continue
        begun = len(steps.drafts)
        _messages.add(steps, {**message, "content": _unwrapped(message.get("content"))})
        if message.get("role") == "user" or message.get("requestor") == "user":
            theirs.update(range(begun, len(steps.drafts)))
    return tuple(_of_the_user(span) if span.ordinal in theirs else span for span in steps.spans())


def _of_the_user(span: Span) -> Span:
    return span if span.kind == "message" else replace(span, kind="event", role="user", error=None)


def _unwrapped(content: Any) -> Any:
    """What an agent said that answers in JSON, `{"message": ...}`."""
    if not isinstance(content, str) or not content.startswith("{"):
        return content
    try:
        value = loads(content)
    except ValueError:
        return content
    return value["message"] if isinstance(value, dict) and list(value) == ["message"] else content


def _outcome(trace: Trace, simulation: dict[str, Any]) -> Outcome:
    """The reward; without one the end of the simulation says no more than that it is unknown."""
    reason, reward = scalar_id(simulation.get("termination_reason")), as_dict(simulation.get("reward_info"))
    if reason in _NOT_THE_AGENT:
        return Outcome(trace.id, "infrastructure")
    status, score = graded(reward.get("reward"))
    lines = [f"Stopped by the limit: {reason}"] if reason in _LIMITS else []
    lines += _tau2_feedback.lines(reward, trace.spans)
    return Outcome(trace.id, status, score=score, feedback="\n".join(lines) or None)


def _notes(trace: Trace, simulation: dict[str, Any], tasks: list[dict[str, Any]]) -> Iterator[EvaluatorNote]:
    reward = as_dict(simulation.get("reward_info"))
    actions = [as_dict(check).get("action") for check in as_list(reward.get("action_checks"))]
    told = [as_dict(check).get("info") for check in as_list(reward.get("communicate_checks"))]
    stated = [as_dict(check).get("nl_assertion") for check in as_list(reward.get("nl_assertions"))]
    texts: list[tuple[NoteKind, str]] = [("goal", text_of(task.get("user_scenario"))) for task in tasks]
    texts += [("gold", json_text(_plain(action))) for action in actions if isinstance(action, dict)]
    texts += [("expected", text_of(text)) for text in (*told, *stated)]
    yield from (EvaluatorNote(trace.id, kind, text) for kind, text in texts if text)


def _plain(action: dict[str, Any]) -> dict[str, Any]:
    return {key: action[key] for key in ("requestor", "name", "arguments") if key in action}
