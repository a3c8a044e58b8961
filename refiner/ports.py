"""What the engine asks of the world. Small protocols with exact contracts; implementations live in their own folders.

A request holds everything a call may use, so that it can be hashed, pickled and sent elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, runtime_checkable

from refiner.types import (
    BadRecord,
    Change,
    Cluster,
    Contrast,
    Criterion,
    EvaluatorNote,
    Outcome,
    Proposal,
    Shortfall,
    Side,
    SkillVersion,
    Step,
    Summary,
    Trace,
    Verdict,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A training trace with its effective outcome and what the evaluator noted."""

    trace: Trace
    outcome: Outcome
    notes: tuple[EvaluatorNote, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    item: Labelled
    skill_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Focus:
    """What a recurrence proposal is about: one fact (its predicate), or one feedback subject with its classes.

    `passing`: how many passing traces carry the feedback as well. A correction is feedback in a user's own words:
    `name` is its subject, or the words themselves where they have no class.
    """

    kind: Literal["fact", "feedback", "correction"]
    name: str
    classes: tuple[str, ...] = ()
    passing: int = 0


@dataclass(frozen=True, slots=True)
class ProposalRequest:
    """One group of traces, its summaries, what was measured over the corpus, and traces of the other side.

    `opposite`: those of the same tasks first, then the nearest; `contrast`: summaries of that side, nearest first.
    `recurring`: the feedback subjects that recur in the corpus and occur in the group. `conditions`: by fact, when it
    does harm, where that is not always. `focus` None: the analyst chooses what the group is about.
    """

    group: Cluster
    members: tuple[Labelled, ...]
    summaries: tuple[Summary, ...]
    opposite: tuple[Labelled, ...]
    contrasts: tuple[Contrast, ...]
    recurring: tuple[Focus, ...]
    conditions: dict[str, str]
    skill: SkillVersion
    focus: Focus | None = None
    contrast: tuple[Summary, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """What counting alone says about one proposal; the analyst may only answer what counting leaves open."""

    contrast: Contrast | None
    tasks: int
    traces: int


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """`traces` are those of every task in which a failing trace shows the behaviour, and every passing one with it.

    `sample`: as many failing as passing traces, for a contrast that is judged; empty where none is wanted.
    """

    proposal: Proposal
    ruling: Ruling
    traces: tuple[Labelled, ...]
    skill: SkillVersion
    sample: tuple[Labelled, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeRequest:
    proposals: tuple[Proposal, ...]
    verdicts: tuple[Verdict, ...]
    skill: SkillVersion


class Analyst(Protocol):
    """Reads evidence and words. `identity` names everything its replies depend on; `identity_for` the part of it that
    the replies of one stage (and side) depend on, which goes into the keys of its steps.

    `judge` answers only what counting leaves open; `refiner.gate.verdict` combines its answers with the counts.
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def deterministic(self) -> bool: ...
    def identity_for(self, stage: str, side: Side | None = None) -> str: ...

    def summarise(self, request: SummaryRequest) -> Summary: ...
    def propose(self, request: ProposalRequest) -> Proposal | Shortfall: ...
    def judge(self, request: JudgeRequest) -> tuple[Criterion, ...]: ...
    def merge(self, request: MergeRequest) -> tuple[Change, ...]: ...


class Embedder(Protocol):
    """`embed(texts)` returns `(len(texts), d) float32` with rows of unit norm; an empty text is a zero-free row too."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    def embed(self, texts: Sequence[str]) -> Vectors: ...


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one step: its records, or the error that stopped it.

    `waiting_in`: where its request lies until somebody answers it; such a step is neither done nor failed.
    """

    step: Step
    records: tuple[Any, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    waiting_in: str = ""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a step may use on the worker side. No store, no console."""

    analyst: Analyst
    embedder: Embedder


class Executor(Protocol):
    """Runs steps and yields each as it ends, in any order. A step's own failure is a `Done` with an error."""

    def map(
        self, run: Callable[[Step, Tools], tuple[Any, ...]], steps: Iterable[Step], tools: Tools
    ) -> Iterator[Done]: ...


class Ledger(Protocol):
    """Where finished steps are kept. `commit` is all or nothing; the latest row of a step key counts."""

    def link_steps(self, refinement_id: str, stage: str, step_keys: Sequence[str]) -> None: ...
    def finished(self, keys: Sequence[str]) -> set[str]: ...
    def commit(self, refinement_id: str, done: Sequence[Done]) -> None: ...
    def outputs(self, step_keys: Sequence[str]) -> list[Any]: ...


class Records(Protocol):
    """The read-only view a stage has of one refinement. Traces are the training traces, in external-id order."""

    def labelled(self) -> Sequence[Labelled]: ...
    def skill(self) -> SkillVersion: ...
    def produced(self, stage: str) -> Sequence[Any]: ...


class Stage(Protocol):
    """`steps` reads on the driver's side, `run` works on the worker's. `version` changes when results would."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    def steps(self, records: Records) -> Iterable[Step]: ...
    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]: ...


@runtime_checkable
class Foreseen(Protocol):
    """A stage that can name its steps while the stage before it waits for replies: those it will have and maybe more.

    They are asked in the same go, so that whoever answers by hand is not asked once more for them.
    """

    def ahead(self, records: Records) -> Iterable[Step]: ...


class Beside(Protocol):
    """The files of the folder in which a file lies, and below it, by their names relative to that folder.

    `read` gives None for what is not there, lies outside, or cannot be read.
    """

    def names(self) -> Sequence[str]: ...
    def read(self, name: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Source:
    """Where bytes come from: the corpus they go to, and a relative name for messages and ids (never used to detect).

    `beside`: for formats of which a trace lies in several files. `columns`: for tables, (field, column) pairs that are
    given rather than guessed (see `refiner.columns`).
    """

    corpus: str
    path: str
    task_key: str | None = None
    beside: Beside | None = None
    columns: tuple[tuple[str, str], ...] = ()


HEAD = 1 << 16
"""How many of a file's first bytes tell what it is."""


class TraceFormat(Protocol):
    """One file in `refiner/formats/`. `sniff` is 0 (no) to 1 (certain) from the first `HEAD` bytes; `parse` streams.

    A format may have `leads`: by a pattern of file names, one of names relative to the folder. Where a file of such a
    name is of this format, it speaks for the files that match, and they are not read by themselves.
    """

    @property
    def name(self) -> str: ...
    def sniff(self, head: bytes) -> float: ...
    def parse(self, stream: BinaryIO, source: Source) -> Iterator[Trace | Outcome | EvaluatorNote | BadRecord]: ...
