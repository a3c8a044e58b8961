"""OpenHands: lists and folders of events, `output.jsonl` of its benchmarks and its resolver, pairs of the first files.

The resolver's success is what a model guessed: a judge's outcome. Benchmarks state outcomes in files of their own, or
in a `report` that their evaluation writes into the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO, ClassVar

from refiner.formats import _messages
from refiner.formats._building import build, chosen_task, inside, records
from refiner.formats._common import Item, scalar_id, text_of
from refiner.formats._openhands_events import add_events, broken_off, events_of, is_event, model_of
from refiner.formats._openhands_usage import used
from refiner.formats._steps import Steps
from refiner.formats._values import objects, sampled
from refiner.ids import content_key
from refiner.jsontext import decode, loads
from refiner.ports import Source
from refiner.types import BadRecord, EvaluatorNote, Outcome, Trace

_ENDINGS = (".json", ".jsonl")
_LIMIT = re.compile(r"maximum (?:iteration|budget)|max_iterations|budget exceeded", re.IGNORECASE)
_OWN = re.compile(r"AgentStuckInLoop|stuck in a loop", re.IGNORECASE)
_FIRST = "0.json"
_UNCHECKED = ("error_eval", "test_timeout")
"""Signs in a report that the tests themselves did not run to their end."""
_GOLD = ("patch", "test_patch")


class OpenHands:
    name = "openhands"
    leads: ClassVar = {r"0\.json": re.compile(r"[1-9]\d*\.json")}

    def sniff(self, head: bytes) -> float:
        found = sampled(head) if head.lstrip().startswith(b"[[") else objects(head)
        return max((float(_is_ours(record)) for record in found), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        yield from records(
            stream, source, lambda record, name, line: _items(record, name, line, source), *_ENDINGS, one=_session
        )


FORMAT = OpenHands()


def _is_ours(record: dict[str, Any]) -> bool:
    if is_event(record):
        return ("source" in record and "id" in record) or "action" in record
    events = events_of(record.get("history"))[:3]
    return bool(events) and all(map(is_event, events))


def _session(value: Any) -> dict[str, Any] | None:
    """The record that a list of events, or of pairs of them, is."""
    events = events_of(value) if isinstance(value, list) else []
    return {"history": value} if events and sum(map(is_event, events)) * 2 >= len(events) else None


def _items(record: dict[str, Any], name: str, line: int, source: Source) -> Iterator[Item]:
    if is_event(record) and "history" not in record:
        spread = _spread(record, source)
        if not spread:
            yield BadRecord(
                source.path, line, "a single event: give the folder in which its session begins with 0.json"
            )
            return
        record, name = {"history": spread}, _folder(record, source)
    events, steps = events_of(record.get("history")), Steps(strict=True)
    add_events(steps, events)
    problem = text_of(record.get("error")).strip() or broken_off(events)
    if problem:
        steps.event("harness", problem, error=_messages.first_line(problem))
    spans = steps.spans()
    if not spans:
        yield BadRecord(source.path, line, "no event has any words or actions")
        return
    task = scalar_id(record.get("instance_id")) or _issue(record)
    trace = build(
        source,
        FORMAT.name,
        inside(source, task) if task else name,
        spans,
        place=line,
        task_id=chosen_task(record, source) or task,
        model=_model(record) or model_of(events),
        meta={**used(record, events), "ended": "limit" if _LIMIT.search(problem) else ""},
    )
    yield trace
    yield from _outcome(trace, record, problem)
    yield from _notes(trace, record)


def _spread(first_event: dict[str, Any], source: Source) -> list[dict[str, Any]]:
    """The events of a session of which each lies in a file of its own, `0.json` first; none for any other event."""
    if source.beside is None or PurePosixPath(source.path).name != _FIRST:
        return []
    numbers = sorted(int(name[:-5]) for name in source.beside.names() if re.fullmatch(r"[1-9]\d{0,8}\.json", name))
    found = [_event(source.beside.read(f"{number}.json")) for number in numbers]
    return [first_event, *(event for event in found if is_event(event))]


def _event(data: bytes | None) -> dict[str, Any]:
    try:
        return _messages.as_dict(loads(decode(data or b"null").strip()))
    except ValueError:
        return {}


def _folder(first_event: dict[str, Any], source: Source) -> str:
    """The session's own folder, which holds `events/`; a hash where only the files of it were given."""
    parts = PurePosixPath(source.path).parent.parts
    parts = parts[:-1] if parts[-1:] == ("events",) else parts
    return text_of("/".join(parts)) or f"openhands-{content_key(first_event)}"


def _issue(record: dict[str, Any]) -> str:
    """The name of the issue that a resolver worked on: `owner/repo#5`."""
    issue = _messages.as_dict(record.get("issue"))
    owner, repo, number = (scalar_id(issue.get(key)) for key in ("owner", "repo", "number"))
    return f"{owner}/{repo}#{number}" if number and repo else ""


def _model(record: dict[str, Any]) -> str:
    config = _messages.as_dict(_messages.as_dict(record.get("metadata")).get("llm_config"))
    return scalar_id(config.get("model"))


def _outcome(trace: Trace, record: dict[str, Any], problem: str) -> Iterator[Item]:
    success, report = record.get("success"), _report(record)
    if isinstance(success, bool):
        feedback = text_of(record.get("result_explanation")) or None
        yield Outcome(trace.id, "pass" if success else "fail", origin="judge", feedback=feedback)
    elif isinstance(report.get("resolved"), bool):
        unchecked = not report["resolved"] and any(report.get(key) is True for key in _UNCHECKED)
        yield Outcome(trace.id, "pass" if report["resolved"] else "infrastructure" if unchecked else "fail")
    elif problem and not _LIMIT.search(problem) and not _OWN.search(problem):
        yield Outcome(trace.id, "infrastructure")


def _report(record: dict[str, Any]) -> dict[str, Any]:
    """What the tests of a benchmark found, where it was written back into its output."""
    inner = _messages.as_dict(_messages.as_dict(record.get("test_result")).get("report"))
    return _messages.as_dict(record.get("report")) or inner


def _notes(trace: Trace, record: dict[str, Any]) -> Iterator[Item]:
    """The patches that the benchmark knows to be right: only the evaluator may see them."""
    instance = _messages.as_dict(record.get("instance"))
    texts = (text_of(instance.get(key)) for key in _GOLD)
    yield from (EvaluatorNote(trace.id, "gold", text) for text in texts if text.strip())
