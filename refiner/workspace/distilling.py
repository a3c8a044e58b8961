"""Conversations into an installed skill: attempts, a refinement in a folder of its own, a version beside the skill.

Keeps nothing in the app's database. Prints nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refiner import intake, labels, skills
from refiner import transcripts as transcripts_of
from refiner.config import RefineConfig, result_fields
from refiner.engine import Emit
from refiner.errors import OutputError, SkillError, UsageError
from refiner.ids import content_key
from refiner.installs import installing, places
from refiner.installs.package import read_package
from refiner.installs.store import Store as Installs
from refiner.installs.store import store_of
from refiner.ports import Tools
from refiner.reporting.report import Result
from refiner.transcripts import Transcripts
from refiner.types import SkillVersion
from refiner.workspace import CORPUS, DATABASE, Session, prepare
from refiner.workspace.assembling import before_of
from storage import Store

if TYPE_CHECKING:
    from refiner.transports.cost import Ledger

MEMORY = "distilled.json"
HELD_OUT = 0.3
ENOUGH_TO_HOLD_OUT = 4
"""Conversations from which a share is held out: of fewer, chance may take all or none."""


@dataclass(frozen=True, slots=True)
class Target:
    """The skill that is made or made better: its folder, its versions, and what lies there now."""

    folder: Path
    installs: Installs
    base: SkillVersion
    new: bool


@dataclass(frozen=True, slots=True)
class Distilled:
    """`installed` None: nothing went into the skill. `result` None: these conversations were distilled before."""

    target: Target
    result: Result | None
    installed: installing.Installed | None


def target_of(name: str, target: str, description: str = "") -> Target:
    """Where the skill lies or will lie. Raises UsageError or SkillError when it cannot be there; writes nothing."""
    fitting = skills.slug(name)
    if name != fitting:
        raise UsageError(
            f'--name: "{name}" cannot name a skill (1 to 64 of a-z, 0-9 and single hyphens); try {fitting}'
        )
    folder = places.where_to(name, target)
    _refuse_unwritable(folder)
    exists = places.is_skill(folder)
    base = skills.load(folder) if exists else skills.skeleton(name, description or described(name))
    return Target(folder, store_of(folder), base, not exists)


def described(name: str) -> str:
    """The description of a skill that starts from conversations, when nobody wrote one."""
    about = name.replace("-", " ")
    return f"What users had to correct in earlier conversations about {about}. Read it before a task of that kind."


def holdout_of(config: RefineConfig, transcripts: Transcripts) -> float:
    """The share of conversations to hold out: the chosen one, else 0.3 where there are enough."""
    if config.holdout is not None:
        return config.holdout
    return HELD_OUT if transcripts.conversations >= ENOUGH_TO_HOLD_OUT else 0.0


def read(config: RefineConfig, paths: Sequence[Path], tools: Tools) -> Transcripts:
    """The conversations cut into attempts: by phrases, or by a model whose replies are kept in the output folder.

    Raises FormatError like `transcripts.load`, WaitingForReplies when somebody answers later, AnalystError otherwise.
    """
    if config.analyst != "model":
        return transcripts_of.load(paths, CORPUS)
    from refiner.workspace.asked import Asked

    prepare(config.out)
    with Store.open(config.db or config.out / DATABASE) as store:
        asked = Asked.of(tools, store)
        found = transcripts_of.load(paths, CORPUS, asked, config.workers)
    asked.refuse_waiting()
    return found


def spent(tools: Tools) -> dict[str, Any]:
    """What a model has taken so far, as JSON-able values; empty when none was asked, or by a recording."""
    transport = getattr(getattr(tools.analyst, "caller", None), "transport", None)
    books: Ledger | None = getattr(transport, "ledger", None)
    if books is None or not books.spent.calls:
        return {}
    cost = None if books.spent.money is None else round(books.spent.money, 6)
    told = {"cost": cost, "currency": books.prices.currency, "prices_of": books.prices.date}
    return {"calls": books.spent.calls, "tokens": books.spent.tokens, **told}


def distill(config: RefineConfig, transcripts: Transcripts, target: Target, emit: Emit, tools: Tools) -> Distilled:
    """Refines the skill from the attempts, their outcomes taken as given, and installs what the gate lets through.

    Raises what a refinement raises, and Conflict when edits by hand meet the new lines; nothing is half-written.
    """
    known = None if target.new else target.folder
    config = replace(config, holdout=holdout_of(config, transcripts), skill_file=known)
    prepare(config.out)
    key = _key(config, transcripts)
    if _known(config.out, key, target):
        return Distilled(target, None, None)
    taken = taken_as_given(transcripts)
    with Store.open(config.db or config.out / DATABASE) as store:
        before = before_of(config, target.base)
        result = Session(store, config, tools, emit, before=before).refine(target.base, taken)
    if not result.report.counts()["taken"]:
        return Distilled(target, result, None)
    done = installing.install(target.installs, read_package(config.out), note=_note(transcripts))
    _remember(config.out, key, target, done.version.id)
    return Distilled(target, result, done)


def taken_as_given(transcripts: Transcripts) -> intake.Intake:
    """The attempts as training traces: a person took the suggested outcomes for true, all at once."""
    pairs = zip(transcripts.gathered.traces, transcripts.attempts, strict=True)
    outcomes = tuple(labels.accepted(trace.id, one.status, one.sign, one.said) for trace, one in pairs)
    count = len(outcomes)
    words = f"{count} outcomes were suggested by how users took each attempt and taken as given; nobody looked at each."
    gathered = transcripts.gathered
    warnings = (words, *transcripts.left_out())
    return intake.Intake(transcripts.loaded, gathered.traces, outcomes, (), warnings, as_given=True)


def _note(transcripts: Transcripts) -> str:
    count = transcripts.conversations
    return f"distilled from {count} {'conversation' if count == 1 else 'conversations'}"


def _refuse_unwritable(folder: Path) -> None:
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise SkillError(f"{folder}: {there} is a file, so no skill can lie there; choose another --target")
    if not os.access(there, os.W_OK):
        raise SkillError(f"{folder} cannot be written; choose another --target, or change its permissions")


def _key(config: RefineConfig, transcripts: Transcripts) -> str:
    gathered = transcripts.gathered
    traces = [(trace.id, trace.revision) for trace in gathered.traces]
    return content_key("distilled", traces, [one.key for one in gathered.outcomes], result_fields(config))


def _known(out: Path, key: str, target: Target) -> bool:
    """Whether exactly this was distilled into the skill before, and is part of its history."""
    try:
        found = json.loads((out / MEMORY).read_bytes())
    except (OSError, ValueError):
        return False
    versions = {version.id for version in target.installs.versions()}
    return isinstance(found, dict) and found.get("key") == key and found.get("version") in versions


def _remember(out: Path, key: str, target: Target, version: str) -> None:
    draft = out / f".{MEMORY}"
    try:
        draft.write_text(json.dumps({"key": key, "skill": str(target.folder), "version": version}) + "\n", "utf-8")
        os.replace(draft, out / MEMORY)
    except OSError as error:
        raise OutputError(f"{out} cannot be written ({error.strerror}); choose another --out") from error
