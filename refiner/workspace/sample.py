"""The sample that comes with the product as a corpus: scripted, and never mixed with an own one."""

from __future__ import annotations

import io
from dataclasses import dataclass

from refiner.resources import SAMPLE_DATA
from refiner.views import Upload
from refiner.workspace.corpora import SAMPLE, Corpora
from refiner.workspace.startskill import MAIN, from_files
from refiner.workspace.taking import Reading, Taking

FILES = ("traces.jsonl", "binary_rewards.json", "feedback.json")


@dataclass(frozen=True, slots=True)
class Sample:
    """Loads the sample into one database."""

    corpora: Corpora
    taking: Taking

    def load(self) -> str:
        """The name of the sample corpus, loaded unless it is there already."""
        with self.corpora.room.lock:
            known = next((entry for entry in self.corpora.entries() if entry.scripted), None)
            entry = known or self.corpora.create(self.corpora.free_name(SAMPLE), scripted=True)
            if not self.corpora.skills.key(entry.id):  # set last: without it an earlier load was cut short
                uploads = [Upload(name, io.BytesIO((SAMPLE_DATA / name).read_bytes())) for name in FILES]
                self.taking.take(entry, uploads, Reading())
                skill = from_files({MAIN: (SAMPLE_DATA / MAIN).read_bytes()}, MAIN)
                self.corpora.skills.set(entry.id, skill)
            return entry.name
