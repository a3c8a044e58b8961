"""Prompt tokens of a refinement of the real airline traces: ours against the structure of the published prompts.

No model is asked: a scripted transport answers both alike and counts what it is sent, with the token estimate of the
product. The published structure on the same traces, window and embedder: spans without output left out, long traces cut
from the end, members as they fit and no contrast, a proposal for every cluster and for the noise, one gate question on
the failure side (noise included, and dropped afterwards), the whole file written anew in the merge. Reads the folder
that REFINER_CORPORA names, and says so where there is none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from refiner import workspace
from refiner.briefing import brief
from refiner.config import RefineConfig
from refiner.embedders.packaged import PackagedEmbedder
from refiner.ids import content_key
from refiner.ports import Records, Stage, Tools
from refiner.registry import analyst
from refiner.sides import tasks_of
from refiner.stages.propose import Propose
from refiner.strategies import cluster
from refiner.transports.cost import prompt_tokens
from refiner.types import Cluster, Proposal, Step
from tests.answering import Answerer, Replies, Scripted
from tests.bench.planted import row

CORPORA = "REFINER_CORPORA"
EXPECTED = json.loads((Path(__file__).parents[1] / "expected_sections.json").read_text(encoding="utf-8"))
NOISE = "noise"
OBSERVATIONS = 5
_SENTENCE = "The agent looked up what the person had booked and acted on it before it had read the rule that applies. "


def run() -> list[dict[str, Any]]:
    """The rows of the bench: tokens and calls in total and by stage, and how much feedback reaches the model."""
    folder = os.environ.get(CORPORA)
    if not folder:
        return [{"name": f"not measured: set {CORPORA} to the folder of the real corpora", "value": None}]
    ours, published = _measured(Path(folder), published=False), _measured(Path(folder), published=True)
    stages = sorted({*ours.tokens, *published.tokens})
    rows = [_row("prompt_tokens", ours.tokens.total(), published.tokens.total(), "tokens")]
    rows += [_row(f"prompt_tokens/{stage}", ours.tokens[stage], published.tokens[stage], "tokens") for stage in stages]
    rows += [_row("calls", ours.calls.total(), published.calls.total(), "calls")]
    rows += [_row(f"calls/{stage}", ours.calls[stage], published.calls[stage], "calls") for stage in stages]
    return [*rows, _row("failing_traces_with_feedback_in_prompt", ours.feedback, published.feedback, "share")]


def _row(name: str, ours: float, published: float, unit: str) -> dict[str, Any]:
    against = f"published {published:,.3g}" if unit == "share" else f"published {published:,}"
    return row(name, ours, unit, against, round(ours / published, 3) if published else None)


@dataclass(frozen=True, slots=True)
class Measured:
    """Tokens and calls by stage; the share of failing traces whose whole feedback was in their prompt."""

    tokens: Counter[str]
    calls: Counter[str]
    feedback: float


@dataclass
class Even(Answerer):
    """Answers as long as a model's, and as different for different groups as theirs."""

    def _summary(self, run: str) -> Replies:
        usual = super()._summary(run)
        return {
            **usual,
            "summary": f"{usual['summary']} {_SENTENCE * 4}".strip(),
            "observations": [_SENTENCE.strip()] * OBSERVATIONS,
        }

    def _proposal(self, failing: bool, given: dict[str, str]) -> Replies:
        usual = super()._proposal(failing, given)
        mark = hashlib.sha256(given["the group"].encode()).hexdigest()
        offered = [line.split(" | ")[0] for line in given["the vocabulary"].splitlines() if line != "none"]
        behaviour = offered[int(mark, 16) % len(offered)] if offered else None
        edits = [{**one, "new": f"- {_SENTENCE}({mark[:8]})"} for one in usual["edits"]]
        return {**usual, "behaviour": behaviour, "edits": edits, "rationale": _SENTENCE * 2}


@dataclass(frozen=True, slots=True)
class WithNoise:
    """The proposals of a stage, and one for what lies in no cluster of a side."""

    stage: Propose
    name: str = "propose"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        yield from self.stage.steps(records)
        briefing = brief(records)
        for found in records.produced("cluster"):
            members = [briefing.by_id[one] for one in found.unclustered]
            if members:
                alike, tasks = tuple(0.0 for _ in members), len(tasks_of(members))
                group = Cluster(found.side, "cluster", NOISE, found.unclustered, alike, found.unclustered[0], (), tasks)
                yield Step(self.name, NOISE, content_key(NOISE, group), briefing.request(group))

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return self.stage.run(step, tools)


@dataclass(frozen=True, slots=True)
class WithoutNoise:
    """A stage that does not see what was proposed for noise."""

    stage: Stage
    name: str = "merge"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        return self.stage.steps(Clusters(records))

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        return self.stage.run(step, tools)


@dataclass(frozen=True, slots=True)
class Clusters:
    """The records without proposals for noise."""

    records: Records
    noise: set[str] = field(default_factory=set)

    def labelled(self) -> Any:
        return self.records.labelled()

    def skill(self) -> Any:
        return self.records.skill()

    def produced(self, stage: str) -> list[Any]:
        found = self.records.produced(stage)
        if stage != "fold":
            return found
        known = {group.key for one in self.records.produced("cluster") for group in one.clusters}
        return [one for one in found if not isinstance(one, Proposal) or set(one.groups) & known]


def published_stages(config: RefineConfig, tools: Tools) -> list[Stage]:
    """The stages of the published method, with what it pays for and drops."""
    found: list[Stage] = []
    for stage in cluster.stages(config, tools):
        if isinstance(stage, Propose):
            stage = WithNoise(replace(stage, min_tasks=1))
        elif stage.name == "fold":
            stage = replace(stage, min_tasks=1)  # type: ignore[type-var]
        found.append(WithoutNoise(stage) if stage.name == "merge" else stage)
    return found


def _measured(corpora: Path, *, published: bool) -> Measured:
    sent = Scripted(Even())
    with tempfile.TemporaryDirectory() as folder:
        config = RefineConfig(
            skill_file=corpora / EXPECTED["skill"],
            raw_jsonl=(corpora / EXPECTED["corpus"],),
            output_dir=Path(folder) / "out",
            analyst="model",
            model="scripted",
            base_url="http://localhost/v1",
            preset="paper" if published else "standard",
            embedding_base_url="http://localhost/v1" if published else None,
            holdout=0.0,
            workers=1,
        )
        tools = Tools(analyst(config, sent), PackagedEmbedder())
        with patch.object(workspace, "tools_for", lambda *_, **__: tools):
            strategy = published_stages if published else cluster.stages
            result = workspace.refine(config, workspace.ignore, {}, strategy)
    tokens: Counter[str] = Counter()
    for one in sent.requests:
        tokens[one.stage] += prompt_tokens(one)
    training = result.report.snapshot.training
    return Measured(tokens, Counter(one.stage for one in sent.requests), _told(training, sent))


def _told(training: Iterable[Any], sent: Scripted) -> float:
    """The share of failing traces whose last line of feedback stands in a prompt for their summary."""
    prompts: dict[str, str] = {}
    for one in sent.requests:
        if one.stage == "summarise":
            prompts[one.label] = prompts.get(one.label, "") + one.user
    last = {
        item.trace.external_id: item.outcome.feedback.strip().splitlines()[-1]
        for item in training
        if item.outcome.status == "fail" and (item.outcome.feedback or "").strip()
    }
    told = sum(line in prompts.get(name, "") for name, line in last.items())
    return told / len(last) if last else 0.0
