"""Units of work: steps and refinements. No behaviour beyond identity."""

from __future__ import annotations

from dataclasses import dataclass

from refiner.ids import content_key


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
