"""Measured and judged: contrasts, criteria, verdicts, findings, what fell short. No behaviour beyond identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refiner.ids import content_key
from refiner.types.traces import Citation
from refiner.types.words import Answer, Result, Side


@dataclass(frozen=True, slots=True)
class Contrast:
    """How a predicate, stated in the direction that goes with failure, is spread over passing and failing traces.

    `holds` and `applies` are trace ids in external-id order. `p` is one-sided; `q` = Benjamini-Hochberg over `m`.
    `matched` = compared within tasks. `causes` is what counting alone can say; `words` says it to a person.
    """

    predicate: str
    failures: int
    failures_with: int
    passes: int
    passes_with: int
    tasks_with: int
    informative_tasks: int
    matched: bool
    p: float | None
    q: float | None
    m: int
    attainable_p: float | None
    causes: Answer
    words: str
    holds: tuple[str, ...] = ()
    applies: tuple[str, ...] = ()
    is_fact: bool = False
    explained_by: str | None = None
    exploratory: bool = False

    @property
    def key(self) -> str:
        return content_key("contrast", self)


@dataclass(frozen=True, slots=True)
class ContrastTable:
    """The measured family of one corpus: every distinct atom with its contrast, facts marked and in order of p."""

    contrasts: tuple[Contrast, ...]
    facts: tuple[str, ...]
    m: int
    gate_q: float
    matched: bool
    vocabulary: int

    @property
    def key(self) -> str:
        return content_key("contrasts", self)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Something mined that got no edit, and why: too few tasks, a weaker recurrence, a near miss, a shadow, a veto."""

    side: Side
    kind: Literal[
        "too_few_tasks",
        "weaker_recurrence",
        "near_miss",
        "explained_by",
        "skipped_side",
        "nothing_recurs",
        "vetoed_before",
    ]
    subject: str
    traces: int
    tasks: int
    words: str

    @property
    def key(self) -> str:
        return content_key("shortfall", self)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One of the gate's five answers. `source` says where it comes from: counted, measured, judged or not asked."""

    name: Literal["occurs", "causes", "general", "covered", "harmful"]
    answer: Answer
    reason: str
    source: Literal["counted", "measured", "judged", "not asked"]
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    proposal_id: str
    result: Result
    criteria: tuple[Criterion, ...]
    words: str
    analyst: str
    votes: int = 1
    tasks: int = 0
    traces: int = 0
    contrast: Contrast | None = None

    @property
    def key(self) -> str:
        return content_key("verdict", self)

    def criterion(self, name: str) -> Criterion:
        return next(criterion for criterion in self.criteria if criterion.name == name)


@dataclass(frozen=True, slots=True)
class HeldOutCount:
    """One change over the held-out tasks, or (change_id empty) all accepted ones together.

    `covered` of `failing` tasks and `exposed` of `passing` ones show the behaviour; None = not measured, since there is
    no behaviour to look for. Intervals are exact, 95 %; None when there are too few failing tasks.
    """

    change_id: str
    failing: int
    covered: int | None
    passing: int
    exposed: int | None
    coverage: tuple[float, float] | None
    exposure: tuple[float, float] | None
    words: str


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out tasks of a refinement once somebody opened them: who, when, and what they say."""

    opened_by: str
    opened_at: str
    tasks: int
    traces: int
    changes: tuple[HeldOutCount, ...]
    accepted: HeldOutCount

    @property
    def key(self) -> str:
        return content_key("held_out", self)

    def of(self, change_id: str) -> HeldOutCount | None:
        """The count of one change; None when it was not there at the opening."""
        return next((one for one in self.changes if one.change_id == change_id), None)


@dataclass(frozen=True, slots=True)
class Flips:
    """Verdicts given twice: `pairs` compared, `flipped` that differ; `by_criterion` = differing answers by name."""

    pairs: int
    flipped: int
    by_criterion: dict[str, int]


@dataclass(frozen=True, slots=True)
class Spotted:
    """Planted claims that were supported, and others: `hits` of `true` ones, `false_hits` of `decoys`."""

    true: int
    hits: int
    decoys: int
    false_hits: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The gate measured on itself. `identical`: asked again in the same words; `shuffled`: with its runs shuffled.

    `deterministic`: it counts and asks nobody, so nothing can flip. `planted`: its verdicts on a corpus of known truth;
    `alone`: the model's own answers there, without the counts. `failed`: proposals whose questions got no answer.
    """

    analyst: str
    model: str
    votes: int
    at: str
    deterministic: bool
    asked: int
    settled: int
    failed: int
    identical: Flips
    shuffled: Flips
    planted: Spotted | None = None
    alone: Spotted | None = None

    @property
    def key(self) -> str:
        return content_key("calibration", self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One hit of an audit on one change: what matched, where it came from, and what to do.

    `line` is the added line that holds it, `fix` what would mend it; `change_id` is empty for what no change brought.
    """

    change_id: str
    kind: Literal["leak", "injection", "spec", "duplicate", "contradiction"]
    severity: Literal["quarantine", "flag", "error", "warning"]
    match: str
    source: str
    words: str
    line: str = ""
    fix: str = ""

    @property
    def key(self) -> str:
        return content_key("finding", self)
