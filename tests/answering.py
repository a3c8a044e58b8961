"""A model made of rules, for the prompts of this product: sensible answers, no network, every request kept.

`Answerer` answers one prompt; `Scripted` is a transport over it, `for_stub` an endpoint's `answer` over it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from refiner.transports import Reply, Request

FENCE = re.compile(r"=====\[ [0-9a-f]{20} \]=====")
SPAN = re.compile(r"^\[(\S+)\]\n((?:(?!\n\n|\n\[|\n## ).)*)", re.MULTILINE | re.DOTALL)
RUN = re.compile(r"^## (\S+) \(task (\S+?)[,)]", re.MULTILINE)
QUOTE = re.compile(r'^\[(\S+)\] "(.*)"$', re.MULTILINE)

Replies = dict[str, Any]


def fields(user: str) -> dict[str, str]:
    """What a prompt holds between its markers, by the line above: `The run:` is `the run`."""
    marker = FENCE.search(user)
    assert marker is not None, "a prompt without a marker"
    parts = user.split(f"\n{marker[0]}\n")
    heads = [part.strip().splitlines()[-1].strip(" :#").lower() for part in parts[0::2][:-1]]
    return dict(zip(heads, parts[1::2], strict=True))


@dataclass
class Answerer:
    """`rule`: the line that its proposals add. `wrong`: what replaces the answer of a stage, given the usual one."""

    rule: str = "- After `save_workbook`, call `read_range` before finishing."
    wrong: dict[str, Callable[[Replies, str], Any]] = field(default_factory=dict)

    def __call__(self, stage: str, user: str) -> str:
        given = fields(user)
        usual = self._usual(user, given)
        made = self.wrong[stage](usual, user) if stage in self.wrong else usual
        return made if isinstance(made, str) else json.dumps(made)

    def _usual(self, user: str, given: dict[str, str]) -> Replies:
        if "the part" in given:
            return {"notes": ["The agent worked on."], "evidence": quotes_of(given["the part"])[:1]}
        if "the behaviour" in given:
            return self._shown(given["the run"])
        if "the run" in given:
            return self._summary(given["the run"])
        if "the group" in given:
            return self._proposal("FAILED" in user, given)
        if "what was counted" in given:
            return self._judgement(given["the runs"])
        if "the claim" in given:
            return {"supported": True, "reason": "The runs show it."}
        if "why they cannot be placed" in given:
            count = given["the edits"].count("edit ")
            return {"places": [{"section": last_section(given["the skill"]), "old": ""}] * count}
        if "rewrit" in user or "give back the whole file" in user:
            text = given["the skill"].rstrip("\n") + f"\n{self.rule}\n"
            names = re.findall(r"^## (P\d+) ", given["the proposals"], re.MULTILINE)
            return {"skill": text, "changes": [{"proposal_ids": names, "text": self.rule, "rationale": "It helps."}]}
        names = re.findall(r"^## (P\d+) ", given["the proposals"], re.MULTILINE)
        edit = self._edit(given["the skill"])
        change = {"proposal_ids": names, "rationale": "One rule for all.", "edits": [edit]}
        return {"changes": [change], "left_out": []}

    def _summary(self, run: str) -> Replies:
        quotes = quotes_of(run)
        calls = [name for name, _ in (found.groups() for found in SPAN.finditer(run))]
        return {
            "summary": f"The agent made {len(calls)} steps. {SPAN.sub(lambda m: m[2].splitlines()[0], run)[:200]}",
            "observations": ["Read back what was written before finishing."],
            "decisive_span_id": quotes[-1]["span_id"] if quotes else None,
            "evidence": quotes[:3],
        }

    def _proposal(self, failing: bool, given: dict[str, str]) -> Replies:
        first = given["the vocabulary"].splitlines()[0]
        made = {
            "theme": "saved without reading back",
            "suggested_edit": "Say that what was saved is read back.",
            "rationale": "Runs that failed did not look again.",
            "behaviour": None if first == "none" else first.split(" | ")[0],
            "edits": [self._edit(given["the skill"])],
            "citations": cited(given["the group"]),
        }
        return {**made, ("soften" if failing else "reinforce"): []}

    def _edit(self, skill: str) -> Replies:
        return {
            "path": "SKILL.md",
            "op": "append_to_section",
            "section": last_section(skill),
            "old": "",
            "new": self.rule,
        }

    def _shown(self, run: str) -> Replies:
        """Whether a run saved without looking afterwards."""
        if "saved in the background" not in run or "read_range" in run.rpartition("saved in the background")[2]:
            return {"answer": "no", "reason": "It looks again.", "span_id": "", "quote": ""}
        return {"answer": "yes", "reason": "It never looks.", **quotes_of(run)[-1]}

    def _judgement(self, runs: str) -> Replies:
        shown = []
        for block in re.split(r"^(?=## )", runs, flags=re.MULTILINE):
            head = RUN.match(block)
            if head:
                shown += [{"trace_id": head[1], **quote} for quote in quotes_of(block)[:1]]
        yes = {"answer": "yes", "reason": "The runs show it.", "citations": shown}
        no = {"answer": "no", "reason": "Nothing of the kind.", "citations": []}
        return {"occurs": yes, "causes": yes, "covered": no, "harmful": no}


def quotes_of(text: str) -> list[Replies]:
    """The last long line of each rendered span."""
    found = []
    for span, body in (match.groups() for match in SPAN.finditer(text)):
        lines = [line for line in body.splitlines()[1:] if len(line) >= 14 and "left out" not in line]
        if lines and span != "feedback":
            found.append({"span_id": span, "quote": lines[-1].split(": ", 1)[-1] if len(lines[-1]) > 30 else lines[-1]})
    return found


def cited(group: str) -> list[Replies]:
    """The first quote under each run of a group."""
    found = []
    for block in re.split(r"^(?=## )", group, flags=re.MULTILINE):
        head, quote = RUN.match(block), QUOTE.search(block)
        if head and quote:
            found.append({"trace_id": head[1], "span_id": quote[1], "quote": quote[2]})
    return found[:8]


def last_section(skill: str) -> list[str]:
    """The path of the last heading of the second level."""
    heads = re.findall(r"^(#{1,2}) (.+)$", skill, re.MULTILINE)
    top = [name for marks, name in heads if marks == "#"]
    return [*top[:1], *[name for marks, name in heads if marks == "##"][-1:]]


@dataclass
class Scripted:
    """A transport over an answerer. `requests` in the order they came; `fails`: an error by request, if any."""

    answer: Callable[[str, str], str] = field(default_factory=Answerer)
    fails: Callable[[Request], Exception | None] = lambda request: None
    requests: list[Request] = field(default_factory=list)
    name: str = "scripted"
    _lock: Lock = field(default_factory=Lock)

    def complete(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        problem = self.fails(request)
        if problem is not None:
            raise problem
        text = self.answer(request.stage, request.user)
        return Reply(text, "scripted-1", "stop", len(request.user) // 4, len(text) // 4)

    def by_stage(self) -> dict[str, int]:
        return dict(Counter(one.stage for one in self.requests))

    def sent(self) -> str:
        """Everything that was sent, as one text."""
        return "\n".join(f"{one.label}\n{one.system}\n{one.user}" for one in self.requests)


def for_stub(answer: Callable[[str, str], str] | None = None) -> Callable[[dict[str, Any]], str]:
    """What a stub endpoint answers; the stage is the name of the reply's schema."""
    answer = answer or Answerer()

    def answered(body: dict[str, Any]) -> str:
        stage = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        return answer(stage, body["messages"][-1]["content"])

    return answered
