"""What an agent left in the folder of a run: session files of its own format, and what its terminal showed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

from refiner.formats import claude_code, codex, mini_swe_agent, openhands, swe_agent
from refiner.formats._failed_tests import screen
from refiner.jsontext import decode
from refiner.ports import HEAD, Source, TraceFormat
from refiner.types import Trace

_KNOWN: tuple[TraceFormat, ...] = (
    claude_code.FORMAT,
    codex.FORMAT,
    mini_swe_agent.FORMAT,
    openhands.FORMAT,
    swe_agent.FORMAT,
)
_SURE_ENOUGH = 0.5


def longest(source: Source, folder: str) -> Trace | None:
    """Of the sessions below a folder the one with the most steps: the agent's own, not that of a sub-agent."""
    names = [name for name in (source.beside.names() if source.beside else ()) if name.startswith(folder)]
    found = [trace for name in names if re.search(r"\.(jsonl?|traj)$", name) for trace in _traces(source, name)]
    return max(found, key=lambda trace: len(trace.spans), default=None)


def screens(source: Source, pattern: str) -> list[str]:
    """What the terminals whose files match the pattern showed, by name; empty ones left out."""
    names = [name for name in (source.beside.names() if source.beside else ()) if re.fullmatch(pattern, name)]
    shown = [screen(_played(source.beside.read(name) or b"")) for name in names if source.beside]
    return [text for text in shown if text]


def _traces(source: Source, name: str) -> Iterator[Trace]:
    data = (source.beside and source.beside.read(name)) or b""
    known = next((one for one in _KNOWN if one.sniff(data[:HEAD]) >= _SURE_ENOUGH), None)
    if known is not None:
        read = known.parse(io.BytesIO(data), Source(source.corpus, name, source.task_key))
        yield from (item for item in read if isinstance(item, Trace))


def _played(data: bytes) -> bytes:
    """What an asciicast recorded (version 2: a header, then `[seconds, kind, text]` a line); other data as it is."""
    if not data.startswith(b'{"version"'):
        return data
    return "".join(_shown(line) for line in decode(data).splitlines()[1:]).encode(errors="replace")


def _shown(line: str) -> str:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    is_output = isinstance(event, list) and len(event) == 3 and event[1] == "o" and isinstance(event[2], str)
    return event[2] if is_output else ""
