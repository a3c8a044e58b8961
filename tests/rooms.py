"""Workspaces for tests: a clock that a test turns, uploads from bytes, and the workbook corpus refined once."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus import Corpus, lines

from refiner.views import Item, Review, Upload
from refiner.workspace import Workspace

START = 1_767_225_600.0
"""2026-01-01T00:00:00Z"""


@dataclass
class Clock:
    """Time that passes only when a test says so."""

    now: float = START

    def __call__(self) -> float:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += seconds


def opened(path: Path, clock: Clock | None = None) -> Workspace:
    return Workspace.open(path, clock=clock or Clock(), environ={})


def upload(name: str, data: bytes | str) -> Upload:
    return Upload(name, io.BytesIO(data if isinstance(data, bytes) else data.encode()))


@contextmanager
def holding(folder: Path, name: str, *files: Upload) -> Iterator[Workspace]:
    """A workspace with one corpus of these files."""
    workspace = opened(folder / "refiner.duckdb")
    workspace.create_corpus(name)
    if files:
        workspace.ingest(name, list(files))
    yield workspace
    workspace.close()


def uploads(corpus: Corpus) -> list[Upload]:
    """A corpus as the files that a person would choose."""
    files = [("traces.jsonl", lines(corpus.traces)), ("rewards.json", json.dumps(dict(corpus.rewards)))]
    return [upload(name, data) for name, data in [*files, ("feedback.json", json.dumps(dict(corpus.feedback)))]]


def fill(workspace: Workspace, corpus: Corpus, name: str = "own") -> str:
    """A corpus of that name with its traces, labels and skill."""
    workspace.create_corpus(name)
    workspace.ingest(name, uploads(corpus))
    if corpus.skill is not None:
        workspace.set_skill(name, {"SKILL.md": corpus.skill.encode()})
    return name


def refine(workspace: Workspace, name: str, **settings: Any) -> str:
    """Refines a corpus to the end."""
    refinement_id = workspace.start(name, settings)
    assert workspace.wait(120)
    return refinement_id


@dataclass
class Reviewer:
    """Decides like a person who looks before pressing a key."""

    workspace: Workspace
    refinement_id: str
    clock: Clock
    looks: float = 2.0

    def items(self) -> tuple[Item, ...]:
        return self.workspace.review(self.refinement_id).items

    def item(self, result: str) -> Item:
        """The first change with this result of the gate."""
        return next(item for item in self.items() if item.row.result == result)

    def decide(self, item: Item, action: Any, **more: Any) -> Review:
        shown = self.clock.now
        self.clock.tick(self.looks)
        more = {"shown_at": shown, "seen": item.hash, **more}
        return self.workspace.decide(self.refinement_id, item.change_id, action, **more)

    def text(self, **more: Any) -> str:
        merged = self.workspace.merged(self.refinement_id, **more)
        return merged.files[merged.main].decode()


def refined(folder: Path, corpus: Corpus, **settings: Any) -> tuple[Path, str]:
    """A database with that corpus refined to the end, closed, and the refinement; tests work on copies of it."""
    path = folder / "refiner.duckdb"
    desk = opened(path)
    refinement_id = refine(desk, fill(desk, corpus), **settings)
    desk.close()
    return path, refinement_id
