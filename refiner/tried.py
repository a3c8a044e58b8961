"""Changes that a person rejected in an earlier refinement, and whether their evidence has grown since. No I/O.

A rejected change is known again by what it is about (its fault or feedback subject), else by its text. One that only
reads alike in the same section is proposed, and says that a similar one was rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refiner.ids import text_key
from refiner.mining import fault_of, recurring_subjects
from refiner.ports import Labelled
from refiner.sides import of_side
from refiner.types import ContrastTable, Proposal, Shortfall

ALIKE = 0.75
"""From this share of equal text on, of the longer one, two rules of a section are called similar."""


@dataclass(frozen=True, slots=True)
class Veto:
    """A rejected change: what it was about, its text, who rejected it, when and why, and the tasks behind it then.

    `section`: the headings above it; None where that was not written down.
    """

    rule: str
    subjects: tuple[str, ...]
    by: str
    at: str
    reason: str
    tasks: tuple[str, ...]
    section: tuple[str, ...] | None = None

    @property
    def words(self) -> str:
        """Who rejected it, when and why, as the start of a sentence."""
        day = f" on {self.at[:10]}" if self.at else ""
        return f"Rejected before by {self.by or 'somebody'}{day}{f' ({self.reason})' if self.reason else ''}"


def vetoes(rows: Iterable[Mapping[str, Any]]) -> tuple[Veto, ...]:
    """The changes whose latest decision is a rejection, from rows of a provenance, oldest first."""
    standing: dict[tuple[str, ...], Veto] = {}
    for row in rows:
        about = _texts(row, "subjects") or (_folded(str(row.get("rule", ""))),)
        if row.get("status") == "rejected":
            rule, by, at = (str(row.get(name) or "") for name in ("rule", "by", "at"))
            reason = str(row.get("reason") or row.get("reason_code") or "").replace("_", " ")
            tasks, section = _texts(row, "task_keys"), row.get("section")
            place = tuple(map(str, section)) if isinstance(section, list) else None
            standing[about] = Veto(rule, _texts(row, "subjects"), by, at, reason, tasks, place)
        elif row.get("status") == "accepted":
            standing.pop(about, None)
    return tuple(standing.values())


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = row.get(name)
    return tuple(sorted(map(str, found))) if isinstance(found, list) else ()


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def subjects_of(proposal: Proposal) -> tuple[str, ...]:
    """What a proposal is about, in canonical text: its fault and its feedback subject."""
    return tuple(sorted({one for one in (fault_of(proposal), proposal.feedback_class) if one}))


def rule_of(proposal: Proposal) -> str:
    """The text that a proposal would add, on one line."""
    return " ".join(" ".join(edit.new.split()).removeprefix("- ") for edit in proposal.edits if edit.new)


@dataclass(frozen=True, slots=True)
class Support:
    """Which traces stand behind a subject, of which side and task each trace is. Tasks are hashed: they travel."""

    holding: Mapping[str, frozenset[str]]
    sides: Mapping[str, str]
    tasks: Mapping[str, str]

    @classmethod
    def of(cls, labelled: Sequence[Labelled], table: ContrastTable, subjects: Iterable[str]) -> Support:
        """The support of these subjects in a corpus."""
        wanted = set(subjects)
        sides = {item.trace.id: side for side in ("failure", "success") for item in of_side(labelled, side)}
        measured = {one.predicate: frozenset(one.holds) for one in table.contrasts if one.predicate in wanted}
        said = {
            one.name: frozenset(item.trace.id for item in one.items)
            for one in recurring_subjects(labelled, 1)
            if one.name in wanted
        }
        return cls({**said, **measured}, sides, {item.trace.id: _task(item) for item in labelled})

    def tasks_of(self, proposal: Proposal) -> tuple[str, ...]:
        """The distinct tasks of the proposal's side that show what it is about; else those that it cites."""
        holding = [self.holding[one] for one in subjects_of(proposal) if one in self.holding]
        traces = frozenset.union(*holding) if holding else {one.trace_id for one in proposal.citations if one.verified}
        fault = "failure" if holding else proposal.side
        return tuple(sorted({self.tasks[one] for one in traces if self.sides.get(one) == fault}))


def _task(item: Labelled) -> str:
    return text_key("task", item.trace.task_id or item.trace.external_id)


def judged(proposal: Proposal, known: Sequence[Veto], support: Support) -> Proposal | Shortfall:
    """The proposal: as it is when nobody rejected the like, saying so when its evidence grew, else as a shortfall."""
    veto = next((one for one in reversed(known) if _is_same(proposal, one)), None)
    if veto is None:
        like = next((one for one in reversed(known) if _reads_alike(proposal, one)), None)
        words = f"{like.words}, in like words: “{like.rule}”" if like else ""
        return replace(proposal, rationale=f"{words} {proposal.rationale}") if like else proposal
    now = support.tasks_of(proposal)
    new = len(set(now) - set(veto.tasks))
    if new:
        words = f"{veto.words}; proposed again, as {_count(new)} more speak for it ({len(veto.tasks)} then)."
        return replace(proposal, rationale=f"{words} {proposal.rationale}")
    subject = " / ".join(subjects_of(proposal)) or proposal.theme
    words = f"{veto.words}, and its evidence has not grown ({_count(len(now))}, none new): {veto.rule}"
    return Shortfall(proposal.side, "vetoed_before", subject, 0, len(now), words)


def _is_same(proposal: Proposal, veto: Veto) -> bool:
    if veto.subjects:
        return bool(set(subjects_of(proposal)) & set(veto.subjects))
    return _folded(rule_of(proposal)) == _folded(veto.rule) != ""


def _reads_alike(proposal: Proposal, veto: Veto) -> bool:
    """Whether two rules of one section say nearly the same; where both are about something known, that decides."""
    here = proposal.edits[0].section if proposal.edits else proposal.section
    known = bool(veto.subjects and subjects_of(proposal))
    return not known and veto.section in (None, tuple(here)) and reads_alike(rule_of(proposal), veto.rule)


def reads_alike(one: str, other: str) -> bool:
    """Whether two texts say nearly the same in words; of rules that quote a user the quotes are compared."""
    from rapidfuzz import fuzz

    quoted = "“" in one and "“" in other
    texts = [_folded(text.partition("“")[2] if quoted else text) for text in (one, other)]
    return all(texts) and fuzz.ratio(*texts) >= 100 * ALIKE


def _count(tasks: int) -> str:
    return f"{tasks} task{'s' * (tasks != 1)}"
