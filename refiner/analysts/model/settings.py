"""What a model analyst's replies depend on beside the material: models, window, and the preset's way of working."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner import behaviours, prompts
from refiner.analysts.model.redaction import Level
from refiner.ids import content_key
from refiner.types import Side

VERSION = 1
"""Changes when equal replies would make other records."""

SHARED = ("system", "repair")
PROMPTS = {
    "summarise": ("summarise_failure", "summarise_success", "summarise_part"),
    "propose": ("propose_failure", "propose_success"),
    "recur": ("propose_failure", "propose_success"),
    "gate": ("judge",),
    "judged_contrast": ("contrast",),
    "merge": ("merge", "anchor"),
}
_OTHER: dict[Side, str] = {"failure": "_success", "success": "_failure"}
_PUBLISHED = {"gate": ("verify",), "merge": ("rewrite",)}


@dataclass(frozen=True, slots=True)
class Settings:
    """`published_gate`: one question, `{supported, reason}`, in place of the four. The rest is as in the presets."""

    model: str
    gate_model: str
    window: int = 32_000
    votes: int = 1
    redact: Level = "standard"
    keep_spans_without_output: bool = True
    long_trace: Literal["cut the end", "pin feedback"] = "pin feedback"
    check_quotes: bool = True
    members: Literal["first that fit", "medoid then spread"] = "medoid then spread"
    show_contrast: bool = True
    published_gate: bool = False
    merge: Literal["rewrite", "anchored"] = "anchored"
    gate_q: float = 0.05
    again: int = 0
    """How often the gate's questions were asked before in the same words: sets the requests apart, changes no word."""

    def identity_for(self, stage: str, side: Side | None = None) -> str:
        """Everything but the material that the replies of a stage (of one side, where given) depend on, as one text."""
        names = (*SHARED, *(name for name in self.prompts_of(stage) if side is None or not name.endswith(_OTHER[side])))
        hashes = [prompts.load(name).prompt_hash for name in names]
        return f"model-{VERSION}/{content_key('model', hashes, self.window, self.redact, self._own(stage))}"

    def prompts_of(self, stage: str) -> tuple[str, ...]:
        """The names of the prompts that a stage uses."""
        published = {"gate": self.published_gate, "merge": self.merge == "rewrite"}.get(stage, False)
        return (_PUBLISHED if published else PROMPTS)[stage]

    def _own(self, stage: str) -> tuple[object, ...]:
        shown = (self.members, self.show_contrast, self.check_quotes, behaviours.VERSION)
        of_stage: dict[str, tuple[object, ...]] = {
            "summarise": (self.model, self.keep_spans_without_output, self.long_trace, self.check_quotes),
            "propose": (self.model, *shown),
            "recur": (self.model, *shown),
            "gate": (self.gate_model, self.votes, self.check_quotes, self.published_gate, behaviours.VERSION),
            "judged_contrast": (self.gate_model, self.gate_q),
            "merge": (self.model, self.merge),
        }
        return of_stage[stage]
