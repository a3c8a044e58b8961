"""What was recorded: traces, how they ended, and quotes from them. No behaviour beyond identity."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from refiner.ids import content_key, text_key
from refiner.types.words import NoteKind, Origin, SpanKind, Status, TaskIdOrigin


@dataclass(frozen=True, slots=True)
class Span:
    """One step of a trace. A tool call and its observation are one span: `input` = arguments, `output` = observation.

    A message carries its text in `output` whoever wrote it; `role` says who (system, user, assistant).
    """

    ordinal: int
    span_id: str
    kind: SpanKind
    name: str
    role: str = ""
    input: str = ""
    output: str = ""
    error: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded run of an agent. `task` is the request as the agent saw it, never what only the evaluator knows."""

    corpus: str
    external_id: str
    format: str
    task: str
    task_id: str
    task_id_origin: TaskIdOrigin
    spans: tuple[Span, ...]
    model: str | None = None
    source: str = ""
    meta: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return trace_key(self.corpus, self.external_id)

    @property
    def revision(self) -> str:
        return content_key("revision", self.task, self.task_id, self.spans)

    @property
    def key(self) -> str:
        return content_key("trace", self.id, self.revision)


@lru_cache(maxsize=65_536)  # asked for again and again, for every trace of a corpus
def trace_key(corpus: str, external_id: str) -> str:
    """The id of a trace, known from its corpus name and external id alone (labels arrive without the trace)."""
    return text_key("trace", corpus, external_id)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One statement about how a trace ended. Of several, `refiner.labels.effective` picks the one that counts."""

    trace_id: str
    status: Status
    origin: Origin = "environment"
    score: float | None = None
    feedback: str | None = None
    at: str | None = None

    @property
    def key(self) -> str:
        return content_key("outcome", self)


@dataclass(frozen=True, slots=True)
class EvaluatorNote:
    """Text only the evaluator may see. Read by the failure summary and the leak audit, by nothing else."""

    trace_id: str
    kind: NoteKind
    text: str

    @property
    def key(self) -> str:
        return content_key("note", self)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """Something in an input that could not be used, and why. `line` is 1-based; 0 = the file as a whole."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote from the rendered text of one span (or, with span_id `feedback`, of the trace's feedback)."""

    trace_id: str
    ordinal: int
    span_id: str
    quote: str
    start: int
    end: int
    verified: bool
