"""Lines of Claude Code as turns, grouped into runs: main sessions, sub-agents, abandoned branches. Makes no steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from refiner.formats._claude_text import is_prompt
from refiner.formats._common import scalar_id, text_of, utc_time

BOOKKEEPING = {"summary", "system", "file-history-snapshot", "queue-operation", "progress", "attachment"}
_FORK = "fork-"


@dataclass(frozen=True, slots=True)
class Turn:
    """One line with a message. `agent`: what tells a sub-agent's lines from the others of the session."""

    line: int
    role: str
    session: str
    agent: str
    uuid: str
    parent: str
    at: str | None
    content: Any
    message: dict[str, Any]
    record: dict[str, Any]


Groups = dict[tuple[str, str], list[Turn]]
"""Turns by session and sub-agent."""


@dataclass(slots=True)
class Ending:
    """What the last line of `claude -p` states about its run."""

    line: int
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """The turns of one trace, in the order of the file. `part`: empty for a main session."""

    session: str
    part: str
    turns: tuple[Turn, ...]
    left_behind: tuple[str, ...] = ()
    """The prompts that were taken back, by the uuids of their lines, in their order."""


@dataclass(slots=True)
class Records:
    """All that one file holds. A line that is there twice (a session resumed) counts once, by its uuid."""

    turns: list[Turn] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    titles: list[tuple[str, str]] = field(default_factory=list)
    endings: dict[str, Ending] = field(default_factory=dict)
    prompts: dict[tuple[str, str], str] = field(default_factory=dict)
    """What the main agent asked of a sub-agent, by session and call id."""
    sidechains: dict[str, str] = field(default_factory=dict)
    """The sub-agent of each line of one, where lines name no agent."""

    def take(self, line: int, record: dict[str, Any]) -> None:
        for number, inner in enumerate(record["loglines"]) if isinstance(record.get("loglines"), list) else ():
            if isinstance(inner, dict):
                self.take(line + number, inner)
        uuid = scalar_id(record.get("uuid"))
        if uuid and uuid in self.parents:
            return
        if uuid:
            self.parents[uuid] = scalar_id(record.get("parentUuid"))
        kind, session = record.get("type"), session_of(record)
        if kind == "summary" and isinstance(record.get("summary"), str):
            self.titles.append((scalar_id(record.get("leafUuid")), text_of(record["summary"])))
        elif kind == "result" and "session_id" in record:
            self.endings[session] = Ending(line, record)
        elif kind in ("user", "assistant") and isinstance(record.get("message"), dict):
            self._turn(line, record, record["message"], uuid, session)
        elif kind == "attachment" and (queued := _queued(record)):
            self._turn(line, queued, queued["message"], uuid, session)

    def _turn(self, line: int, record: dict[str, Any], message: dict[str, Any], uuid: str, session: str) -> None:
        agent = scalar_id(record.get("agentId")) or scalar_id(record.get("parent_tool_use_id"))
        if not agent and record.get("isSidechain") is True:
            agent = self._sidechain(record, uuid)
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and isinstance(block.get("input"), dict):
                self.prompts[session, scalar_id(block.get("id"))] = text_of(block["input"].get("prompt"))
        role, at, parent = scalar_id(record.get("type")), utc_time(record.get("timestamp")), self.parents.get(uuid, "")
        self.turns.append(Turn(line, role, session, agent, uuid, parent, at, content, message, record))

    def _sidechain(self, record: dict[str, Any], uuid: str) -> str:
        """The sub-agent of a line that names none: that of the line it hangs on; a prompt that hangs on none opens one.

        Named by the first line it has in the file.
        """
        known = self.sidechains.get(scalar_id(record.get("parentUuid")), "")
        message = record.get("message")
        asks = record.get("type") == "user" and isinstance(message, dict)
        opens = asks and is_prompt(message.get("content"), record)  # type: ignore[union-attr]
        if not known and not opens:
            known = next(reversed(self.sidechains.values()), "")
        self.sidechains[uuid] = known or uuid or "sidechain"
        return self.sidechains[uuid]

    def runs(self) -> Iterator[Run]:
        """Every run with its turns, in the order of their first lines."""
        groups: dict[tuple[str, str], list[Turn]] = defaultdict(list)
        for turn in self.turns:
            groups[turn.session, turn.agent].append(turn)
        for (session, agent), turns in self._resumed(groups).items():
            yield from self._branches(session, agent, turns)

    def _resumed(self, groups: Groups) -> Groups:
        """The groups, a session that goes on under a new id after the last line of another one joined with that one."""
        owners = {turn.uuid: key for key, turns in groups.items() for turn in turns if turn.uuid}
        joined: Groups = {}
        for key, turns in groups.items():
            above = self._above(turns[0].parent, owners)
            before = owners.get(above, key)
            goes_on = not key[1] and not before[1] and before in joined and joined[before][-1].uuid == above
            joined[key] = [*joined.pop(before), *turns] if goes_on else turns
            owners |= {turn.uuid: key for turn in joined[key] if turn.uuid}
        return joined

    def _above(self, uuid: str, owners: dict[str, tuple[str, str]]) -> str:
        """The nearest line with a message that a line hangs on, itself included; empty when there is none."""
        seen: set[str] = set()
        while uuid and uuid not in owners and uuid not in seen:
            seen.add(uuid)
            uuid = self.parents.get(uuid, "")
        return uuid

    def _branches(self, session: str, agent: str, turns: list[Turn]) -> Iterator[Run]:
        """The branch that was kept (its last prompt came last), and each that an edited prompt left behind."""
        dropped = _dropped(turns)
        if not dropped:
            yield Run(session, agent, tuple(turns))
            return
        branches: dict[str, list[Turn]] = defaultdict(list)
        known: dict[str, str] = {}
        for turn in turns:
            branches[self._branch(turn.uuid, dropped, known)].append(turn)
        for start, members in branches.items():
            part = ":".join(filter(None, (agent, _FORK + start if start else "")))
            yield Run(session, part, tuple(members), () if start else tuple(dropped))

    def _branch(self, uuid: str, dropped: dict[str, None], known: dict[str, str]) -> str:
        """The nearest prompt left behind that a line hangs on, or nothing."""
        path: list[str] = []
        seen: set[str] = set()
        while uuid and uuid not in known and uuid not in dropped and uuid not in seen:
            seen.add(uuid)
            path.append(uuid)
            uuid = self.parents.get(uuid, "")
        found = uuid if uuid in dropped else known.get(uuid, "")
        known.update(dict.fromkeys(path, found))
        return found

    def title(self, turns: tuple[Turn, ...]) -> str:
        """The title of the session, where one of the file was written for these lines."""
        ours = {turn.uuid for turn in turns}
        return next((title for leaf, title in self.titles if leaf in ours), "")


def session_of(record: dict[str, Any]) -> str:
    return scalar_id(record.get("sessionId")) or scalar_id(record.get("session_id"))


def _queued(record: dict[str, Any]) -> dict[str, Any] | None:
    """What was typed while the agent worked, as the line of a user: it stands in no other. Not always by a person."""
    attachment = record.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    origin = attachment.get("origin")
    by_person = not isinstance(origin, dict) or origin.get("kind") in (None, "human")
    is_meta = not by_person or attachment.get("commandMode") not in (None, "prompt")
    message = {"role": "user", "content": attachment.get("prompt")}
    return {**record, "type": "user", "message": message, "isMeta": record.get("isMeta") is True or is_meta}


def _dropped(turns: list[Turn]) -> dict[str, None]:
    """Prompts that were edited or tried again: one that hangs on the same line came later."""
    prompts: dict[str, list[str]] = defaultdict(list)
    for turn in turns:
        waited = "attachment" in turn.record
        if turn.parent and turn.uuid and turn.role == "user" and not waited and is_prompt(turn.content, turn.record):
            prompts[turn.parent].append(turn.uuid)
    return {uuid: None for rivals in prompts.values() for uuid in rivals[:-1]}
