"""Claude Code: session files (sub-agents in both layouts, forks, resumed copies) and the stream of `claude -p`.

One trace a session and one a sub-agent. There is no outcome in a session; a stream states when the harness failed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from refiner.formats import _messages
from refiner.formats._blocks import block_text, content_text
from refiner.formats._claude_records import BOOKKEEPING, Ending, Records, Run, Turn
from refiner.formats._claude_text import ran_here, said, said_instead
from refiner.formats._common import Item, failed, scalar_id, text_of
from refiner.formats._steps import Steps, opening
from refiner.formats._values import TOO_DEEP, objects, shallow
from refiner.growth import BEGINS, LEFT_BEHIND
from refiner.jsontext import rows
from refiner.ports import Source
from refiner.types import BadRecord, Outcome, Trace

_STREAM = {"system", "assistant", "user", "result", "stream_event"}
_SYNTHETIC = "<synthetic>"
_SILENT = {"(no content)", "No response requested."}
_EXIT_CODE = re.compile(r"\A(?:Error: )?Exit code -?\d+(?:\n|\Z)")
_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}


class ClaudeCode:
    name = "claude-code"

    def sniff(self, head: bytes) -> float:
        return max((float(_is_ours(record)) for record in objects(head)), default=0.0)

    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Item]:
        records = Records()
        for line, record, problem in rows(stream):
            if record is None:
                yield BadRecord(source.path, line, problem)
            else:
                yield from _kept(records, record, source, line)
        if not records.turns:
            yield BadRecord(source.path, 0, "holds no messages, only what a session keeps about itself")
        for run in records.runs():
            yield from shallow(_items(run, records, source), source, run.turns[0].line)


FORMAT = ClaudeCode()


def _is_ours(record: dict[str, Any]) -> bool:
    if "projectHash" in record:
        return False
    kind = scalar_id(record.get("type"))
    if "sessionId" in record:
        return "uuid" in record or kind in BOOKKEEPING or isinstance(record.get("message"), dict)
    if "session_id" in record:
        return kind in _STREAM and any(key in record for key in ("message", "subtype", "event"))
    return isinstance(record.get("loglines"), list) or (
        kind in BOOKKEEPING and ("leafUuid" in record or "messageId" in record)
    )


def _kept(records: Records, record: dict[str, Any], source: Source, line: int) -> Iterator[Item]:
    try:
        records.take(line, record)
    except RecursionError:
        yield BadRecord(source.path, line, TOO_DEEP)


def _items(run: Run, records: Records, source: Source) -> Iterator[Item]:
    ending = None if run.part else records.endings.get(run.session)
    spans_of = Steps(strict=True)
    for turn in run.turns:
        _add(spans_of, turn)
    broken = ending is not None and _is_broken(ending)
    if ending is not None and broken:
        text = text_of(ending.record.get("result")) or scalar_id(ending.record.get("subtype"))
        spans_of.event("harness", text, error=_messages.first_line(text) or "error")
    spans = spans_of.spans()
    if not spans:
        yield BadRecord(source.path, run.turns[0].line, "a session without any words or calls")
        return
    asked = _goal(run) or records.prompts.get((run.session, run.part), "") or (opening(spans) if run.part else "")
    trace = Trace(
        corpus=source.corpus,
        external_id=":".join(filter(None, (run.session or source.path, run.part))),
        format=FORMAT.name,
        task=asked,
        task_id="",
        task_id_origin="none",
        spans=spans,
        model=_model(run.turns),
        source=f"{source.path}:{run.turns[0].line}",
        meta=_meta(run, records, ending),
    )
    yield trace
    if broken:
        yield Outcome(trace.id, "infrastructure")


def _add(steps: Steps, turn: Turn) -> None:
    """Adds what a line holds."""
    steps.turn += 1
    blocks = turn.content if isinstance(turn.content, list) else [turn.content]
    for block in blocks:
        kind = scalar_id(block.get("type")) if isinstance(block, dict) else ""
        if kind.endswith("tool_result"):
            _answer(steps, block, turn)
        elif kind.endswith("tool_use"):
            arguments = _messages.arguments_text(block.get("input"))
            steps.call(scalar_id(block.get("name")), arguments, scalar_id(block.get("id")), turn.at)
        elif turn.role == "assistant":
            _reply(steps, block_text(block), turn)
        else:
            _ask(steps, block_text(block), turn)


def _answer(steps: Steps, block: dict[str, Any], turn: Turn) -> None:
    text = content_text(block.get("content"))
    plain = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    error = _failure(plain) if block.get("is_error") is True else None
    steps.answer(text, scalar_id(block.get("tool_use_id")), at=turn.at, error=error)
    refusal = said_instead(plain.lstrip()) if error else ""
    if refusal:
        steps.event("interruption", "[interrupted: tool use rejected]", at=turn.at)
        steps.say("user", refusal, at=turn.at)


def _failure(text: str) -> str:
    """The line that names a failure; an exit code alone names one only where nothing was printed."""
    printed = _EXIT_CODE.sub("", text.lstrip(), count=1)
    return failed(printed) or _messages.first_line(printed) or _messages.first_line(text) or "error"


def _reply(steps: Steps, text: str, turn: Turn) -> None:
    if turn.record.get("isApiErrorMessage") is True:
        steps.event("api_error", text, turn.uuid, turn.at, error=_messages.first_line(text) or "error")
    elif text.strip() not in _SILENT:
        steps.say("assistant", text, turn.uuid, turn.at)


def _ask(steps: Steps, raw: str, turn: Turn) -> None:
    kind, text = said(raw, turn.record)
    if kind == "compaction":
        steps.event("compaction", text, turn.uuid, turn.at)
    else:
        steps.say("system" if kind == "harness" else "user", text, turn.uuid, turn.at)


def _goal(run: Run) -> str:
    """The first thing asked for: the words of a prompt, or a command that set the agent, not just the tool, to work."""
    command = ""
    for turn in run.turns:
        texts = _texts(turn)
        if turn.role == "assistant":
            if command and not _SILENT.issuperset(texts or [""]):
                return command
            continue
        heard = [said(text, turn.record) for text in texts]
        asked = "\n".join(text for kind, text in heard if kind == "prompt")
        if asked:
            return asked
        commands = [text for kind, text in heard if kind == "command"]
        command = "" if any(map(ran_here, texts)) else next(iter(commands), command)
    return ""


def _texts(turn: Turn) -> list[str]:
    """The words of a line, without pictures, calls and observations."""
    blocks = turn.content if isinstance(turn.content, list) else [turn.content]
    words = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return [text.strip() for text in words if isinstance(text, str) and text.strip()]


def _model(turns: tuple[Turn, ...]) -> str | None:
    models = (scalar_id(turn.message.get("model")) for turn in turns if turn.role == "assistant")
    return next((model for model in models if model and model != _SYNTHETIC), None)


def _meta(run: Run, records: Records, ending: Ending | None) -> dict[str, str]:
    facts = {
        BEGINS: run.turns[0].uuid,
        "session": run.session,
        "part": run.part,
        "title": records.title(run.turns),
        **_tokens(run.turns),
    }
    facts[LEFT_BEHIND] = " ".join(run.left_behind)
    stated = ending.record if ending else {}
    facts["cost_usd"] = scalar_id(stated.get("total_cost_usd")) or _cost(run.turns)
    facts["ended"] = "limit" if _is_limit(stated) else ""
    return {key: value for key, value in facts.items() if value}


def _tokens(turns: tuple[Turn, ...]) -> dict[str, str]:
    """Tokens of each message once: its lines repeat its usage, and the last of them is complete."""
    usage = [_messages.as_dict(turn.message.get("usage")) for turn in _last_lines(turns)]
    sums = {ours: sum(_count(one.get(theirs)) for one in usage) for theirs, ours in _USAGE.items()}
    return {name: str(total) for name, total in sums.items() if total}


def _cost(turns: tuple[Turn, ...]) -> str:
    """What the messages cost in USD, which early versions wrote beside each; empty where none says."""
    costs = (turn.record.get("costUSD") for turn in _last_lines(turns))
    total = math.fsum(cost for cost in costs if isinstance(cost, float) and math.isfinite(cost))
    return str(round(total, 6)) if total else ""


def _last_lines(turns: tuple[Turn, ...]) -> list[Turn]:
    """Of each message of the agent its last line."""
    replies = (turn for turn in turns if turn.role == "assistant")
    return list({scalar_id(turn.message.get("id")) or f"line {turn.line}": turn for turn in replies}.values())


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _is_broken(ending: Ending) -> bool:
    """A run that its harness, not its agent, brought to an end."""
    return ending.record.get("is_error") is True and not _is_limit(ending.record)


def _is_limit(stated: dict[str, Any]) -> bool:
    """Whether a run used up the turns or the money it was given, which is the agent's own end."""
    return scalar_id(stated.get("subtype")).startswith("error_max_")
