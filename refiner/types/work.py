"""Units of work: steps, refinements, and what people decide about their changes. No behaviour beyond identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner.ids import content_key
from refiner.types.skills import Edit

Action = Literal["accept", "reject", "amend", "skip", "undo", "carried"]


@dataclass(frozen=True, slots=True)
class Step:
    """A unit of engine work. `key` covers everything its result depends on; `payload` is picklable."""

    stage: str
    label: str
    key: str
    payload: object


@dataclass(frozen=True, slots=True)
class Refinement:
    """One execution of the product over a snapshot of a corpus."""

    corpus: str
    snapshot: str
    base: str
    config: dict[str, str]
    versions: dict[str, str]
    parent: str | None = None

    @property
    def key(self) -> str:
        return content_key("refinement", self.corpus, self.snapshot, self.base, self.config, self.parent)


@dataclass(frozen=True, slots=True)
class Decision:
    """One event of the decision log. The latest on a change counts; `undo` takes back the one before it on that change.

    `amended`: the edits that stand in for the change's own (action `amend`, or `carried` from one). `base`: the skill
    version decided on. `override`: the gate or an audit said otherwise. `seen`: hash of what was shown. `batch`: bulk
    id; a batch is undone as one. `inherited` and `inherited_from`: of a `carried` event, the action and its refinement.
    `after_unseal`: the held-out tasks were open by then.
    """

    change_id: str
    refinement_id: str
    base: str
    action: Action
    amended: tuple[Edit, ...] = ()
    reason_code: str = ""
    reason: str = ""
    override: bool = False
    reviewer: str = ""
    shown_at: str = ""
    decided_at: str = ""
    seen: str = ""
    batch: str = ""
    inherited: str = ""
    inherited_from: str = ""
    after_unseal: bool = False

    @property
    def key(self) -> str:
        return content_key("decision", self)
