"""What is proposed and decided about a skill: edits, proposals, changes, versions. No behaviour beyond identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner.ids import content_key, text_key
from refiner.types.traces import Citation
from refiner.types.words import Side


@dataclass(frozen=True, slots=True)
class Edit:
    """One anchored operation on one file of a skill. `section` is the path of headings from the outermost down."""

    path: str
    op: Literal["replace", "delete", "insert_before", "insert_after", "append_to_section", "add_section", "create_file"]
    section: tuple[str, ...]
    old: str = ""
    new: str = ""
    anchor: tuple[int, int] | None = None
    requires: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return content_key("edit", self.path, self.op, self.section, self.old, self.new)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one group of traces suggests. `behaviour` is a predicate in canonical text; `feedback_class` likewise."""

    side: Side
    kind: Literal["cluster", "recurrence"]
    groups: tuple[str, ...]
    theme: str
    suggested_edit: str
    rationale: str
    reinforce: tuple[str, ...] = ()
    soften: tuple[str, ...] = ()
    behaviour: str | None = None
    feedback_class: str | None = None
    condition: str | None = None
    section: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    citations: tuple[Citation, ...] = ()
    folded: tuple[str, ...] = ()
    failed: str | None = None

    @property
    def key(self) -> str:
        return content_key("proposal", self)


@dataclass(frozen=True, slots=True)
class Change:
    """What a person accepts or rejects: edits that stand or fall together, and the proposals they come from."""

    edits: tuple[Edit, ...]
    proposal_ids: tuple[str, ...]
    rationale: str
    rank: tuple[int, int] = (0, 0)
    unplaced: str | None = None

    @property
    def key(self) -> str:
        return text_key("change", *sorted(edit.key for edit in self.edits))


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """A skill as files {relative path: bytes}. `main` is the file that is refined (SKILL.md or another)."""

    files: dict[str, bytes]
    main: str = "SKILL.md"
    parent_ids: tuple[str, ...] = ()
    change_ids: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return content_key("skill", self)
