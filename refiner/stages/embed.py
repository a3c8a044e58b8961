"""Stage: a vector for each summary. Which model makes it is the embedder's affair; only its identity is known here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from refiner.ids import content_key
from refiner.ports import Records, Tools
from refiner.sides import SIDES
from refiner.types import Embedding, Step, Summary

BATCH = 64
"""What an endpoint is sent in one call: a step that is done is never paid for again."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Yields one `Embedding` a summary, in external-id order; a step is up to 64 summaries of one side."""

    embedder: str
    name: str = "embed"
    version: int = 1

    def steps(self, records: Records) -> Iterable[Step]:
        summaries: dict[str, Summary] = {one.trace_id: one for one in records.produced("summarise")}
        known = [summaries[item.trace.id] for item in records.labelled() if item.trace.id in summaries]
        for side in SIDES:
            texts = tuple((one.trace_id, text_of(one)) for one in known if one.polarity == side)
            for start in range(0, len(texts), BATCH):
                batch = texts[start : start + BATCH]
                label = f"{side}: {start + 1} to {start + len(batch)}"
                yield Step(self.name, label, content_key(self.name, self.version, self.embedder, batch), batch)

    def run(self, step: Step, tools: Tools) -> tuple[Any, ...]:
        batch = cast("tuple[tuple[str, str], ...]", step.payload)
        vectors = tools.embedder.embed([text for _, text in batch]).astype("<f4")
        return tuple(Embedding(trace_id, row.tobytes()) for (trace_id, _), row in zip(batch, vectors, strict=True))


def text_of(summary: Summary) -> str:
    """What is embedded of a summary: its sentences, and its observations on one line below."""
    return f"{summary.summary}\n{'; '.join(summary.observations)}"
