"""Uploads become traces and labels of a corpus. Never all or nothing: what cannot be used is a row with its reason."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from refiner import codec, folders, intake, labels, registry, walking
from refiner.errors import LabelError
from refiner.file_reports import conflict_words, copied_words, namesake_words, skipped_words
from refiner.labels import LabelFile
from refiner.namesakes import meant
from refiner.ports import HEAD
from refiner.reading import FileRecord, read, read_found
from refiner.types import BadRecord
from refiner.unpacking import EMPTY, Limits, Unpacked
from refiner.views import FileRow, IngestReport, Upload
from refiner.workspace.corpora import Entry
from refiner.workspace.digest import Digests
from refiner.workspace.room import Room
from refiner.workspace.streaming import Streamed

LABELS = "labels"


@dataclass(frozen=True, slots=True)
class Reading:
    """How label values and records are read."""

    task_key: str | None = None
    pass_at: float = 1.0
    lower_is_better: bool = False
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Taking:
    """Takes uploads into corpora of one database."""

    room: Room
    digests: Digests
    limits: Limits = field(default_factory=Limits)

    def take(self, entry: Entry, uploads: Sequence[Upload], reading: Reading) -> IngestReport:
        """Traces first, then the label files among the uploads; the report is kept with the corpus."""
        with tempfile.TemporaryDirectory(prefix="refiner-upload-") as folder:
            root, beside = Path(folder, "traces"), Path(folder, LABELS)
            root.mkdir()
            unpacked = Unpacked(root, self.limits).take(uploads)
            label_files = _apart(unpacked, beside)
            found = self._read(entry, read([root], corpus=entry.id, task_key=reading.task_key, columns=reading.columns))
            report = self._report(entry, found, unpacked.files, label_files, unpacked.rejected)
            report = self._all_labels(entry, {name: beside / name for name in label_files}, reading, report)
        return self._kept(entry, report)

    def take_files(self, entry: Entry, paths: Sequence[Path], reading: Reading) -> IngestReport:
        """Like `take`, for files and folders of this machine, which are read where they lie.

        Raises FormatError when a path does not exist.
        """
        with walking.found(paths, strict=False) as there:
            label_files = [file for file in there.files if not file.is_hidden and _is_labels(file.path)]
            rest = replace(there, files=[file for file in there.files if file not in label_files])
            found = self._read(
                entry, read_found(rest, corpus=entry.id, task_key=reading.task_key, columns=reading.columns)
            )
            names = [name for name in found.formats if all(name != bad.path for bad in rest.refused)]
            report = self._report(entry, found, names, (), rest.refused)
            report = self._all_labels(entry, {file.name: file.path for file in label_files}, reading, report)
        return self._kept(entry, report)

    def attach(self, entry: Entry, upload: Upload, reading: Reading) -> IngestReport:
        """Labels alone. Raises LabelError when the file is none, or matches no trace (with examples of both)."""
        with tempfile.TemporaryDirectory(prefix="refiner-upload-") as folder:
            unpacked = Unpacked(Path(folder), self.limits).take([upload])
            if not unpacked.files:
                raise LabelError(f"{unpacked.rejected[0].path}: {unpacked.rejected[0].reason}; give a JSON or CSV file")
            report, reached = IngestReport(rejected=tuple(unpacked.rejected)), set[str]()
            for name in unpacked.files:
                report = self._attached(entry, name, unpacked.folder / name, reading, report, reached)
            report = self._still_open(entry, report)
        return self._kept(entry, report)

    def last(self, entry: Entry) -> IngestReport | None:
        """The report of the latest upload, or None."""
        events = self.room.store.corpus_events(entry.id, "upload")
        return codec.from_plain(IngestReport, events[-1].body) if events else None

    def _kept(self, entry: Entry, report: IngestReport) -> IngestReport:
        self.room.store.corpus_event(entry.id, "upload", codec.to_plain(report))
        return report

    def _read(self, entry: Entry, records: Iterable[FileRecord]) -> Streamed:
        return Streamed(self.room.store, entry.id).take(records)

    def _all_labels(
        self, entry: Entry, files: Mapping[str, Path], reading: Reading, report: IngestReport
    ) -> IngestReport:
        """The report with every label file attached, in their order."""
        reached = set[str]()
        for name, path in files.items():
            report = self._labels(entry, name, path, reading, report, reached)
        return self._still_open(entry, report) if reached else report

    def _labels(
        self, entry: Entry, name: str, path: Path, reading: Reading, report: IngestReport, reached: set[str]
    ) -> IngestReport:
        """The report with this label file attached, or with the reason why it could not be."""
        try:
            return self._attached(entry, name, path, reading, report, reached)
        except LabelError as error:
            bad = BadRecord(name, 0, str(error).removeprefix(f"{name}: "))
            row = FileRow(name, LABELS, 0, 1)
            return replace(report, files=(*report.files, row), rejected=(*report.rejected, bad))

    def _attached(
        self, entry: Entry, name: str, path: Path, reading: Reading, report: IngestReport, reached: set[str]
    ) -> IngestReport:
        """The report with a label file attached; `reached` collects the traces it is about. Raises LabelError."""
        cards, copies = self.digests.of(entry.id).cards, self._copies(entry, report)
        namesakes = meant(((card.external_id, card.given_id, card.file) for card in cards), name)
        tasks = {card.external_id: card.task_id if card.task_id_origin == "file" else "" for card in cards}
        if not tasks:
            raise LabelError(f"{name}: there are no traces yet to label; add the traces first, then this file")
        try:
            rewards, texts = _label_file(path, reading, labels.names_of(tasks) | copies.keys())
            attached = labels.attach(entry.id, tasks, rewards, texts, tasks=tasks, copies=copies, namesakes=namesakes)
        except LabelError as error:
            raise LabelError(str(error).replace(str(path), name)) from error
        self.room.store.add_outcomes(attached.outcomes)
        reached.update(outcome.trace_id for outcome in attached.outcomes)
        rejected = () if rewards is None else tuple(replace(one, path=name) for one in rewards.rejected)
        alone = () if rewards else (f"{name} holds feedback alone: it says of no trace how it ended.",)
        return replace(
            report,
            labels=len(reached),
            files=(*report.files, FileRow(name, LABELS, 0, len(rejected))),
            rejected=(*report.rejected, *rejected),
            warnings=(*report.warnings, *alone, *replace(attached.report, without_label=()).sentences()),
        )

    def _still_open(self, entry: Entry, report: IngestReport) -> IngestReport:
        """The report with a sentence on the traces that neither their files nor labels say the end of."""
        digest = self.digests.of(entry.id)
        ended = (card.external_id for card in digest.cards if digest.outcome(card.trace_id).status == "unknown")
        words = labels.LabelReport(0, (), tuple(sorted(ended))).sentences()
        return replace(report, warnings=(*report.warnings, *words))

    def _copies(self, entry: Entry, report: IngestReport) -> dict[str, str]:
        """The ids that copies had in this upload and in those before it, each with the id of the trace that stays."""
        events = self.room.store.corpus_events(entry.id, "upload")
        earlier = (codec.from_plain(IngestReport, event.body).copies for event in events)
        return dict(pair for pairs in (*earlier, report.copies) for pair in pairs)

    def _report(
        self,
        entry: Entry,
        read: Streamed,
        files: Sequence[str],
        label_files: Sequence[str],
        refused: Sequence[BadRecord] = (),
    ) -> IngestReport:
        """What was read of these files, copies named by the traces that they are."""
        report = _report(read, files, label_files, refused)
        if not read.copied:
            return report
        names = {card.trace_id: card.external_id for card in self.digests.of(entry.id).cards}
        copies = tuple(sorted((copy, names[kept]) for copy, kept in read.copied.items()))
        return replace(report, copies=copies, warnings=(*report.warnings, *copied_words(copies)))


def _report(
    read: Streamed, files: Sequence[str], label_files: Sequence[str], refused: Sequence[BadRecord]
) -> IngestReport:
    """What was read of these files; the rows of label files come with the labels."""
    empty = [one for one in refused if one.reason == EMPTY]
    refused = [one for one in refused if one.reason != EMPTY]
    added, lost = read.added, {one.path for one in refused}
    skipped = empty + [one for one in read.rejected if one.path not in lost and read.formats.get(one.path) == ""]
    rejected = [*refused, *(one for one in read.rejected if one.path not in lost and one not in skipped)]
    bad = Counter(one.path for one in rejected)
    apart = {*label_files, *(one.path for one in (*read.expected, *skipped))}
    names = [*(name for name in files if name not in apart), *(one.path for one in refused)]
    conflicts = tuple(map(conflict_words, added.conflicts))
    return IngestReport(
        accepted=added.added,
        duplicates=added.duplicates,
        grown=added.grown,
        files=tuple(FileRow(name, read.formats.get(name, ""), read.counts[name], bad[name]) for name in names),
        rejected=tuple(rejected),
        conflicts=conflicts,
        warnings=(*skipped_words(read.expected), *namesake_words(added.namesakes)),
        skipped=tuple(skipped),
    )


def _apart(unpacked: Unpacked, folder: Path) -> list[str]:
    """Moves the label files into a folder of their own and returns their names."""
    of_runs = folders.led(unpacked.folder / name for name in unpacked.files)
    apart = [name for name in unpacked.files if unpacked.folder / name not in of_runs]
    found = [name for name in apart if _is_labels(unpacked.folder / name)]
    for name in found:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (unpacked.folder / name).rename(folder / name)
    return found


def _is_labels(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    known = registry.detect(head) is not None or registry.recognise(head) is not None
    return not known and labels.looks_like_labels(head)


def _label_file(path: Path, reading: Reading, names: Collection[str]) -> tuple[LabelFile | None, dict[str, str] | None]:
    """Outcomes, or feedback texts where the file holds those. Raises LabelError with what is wrong."""
    try:
        below = reading.lower_is_better
        with intake.explained(path):
            return labels.load_rewards(path, pass_at=reading.pass_at, lower_is_better=below, names=names), None
    except LabelError as error:
        texts = _texts(path)
        if texts is None:
            raise error
        return None, texts


def _texts(path: Path) -> dict[str, str] | None:
    """The feedback of a file; None when it holds none (words like "pass" are outcomes written wrongly, not texts)."""
    if registry.described(path):
        return None
    try:
        texts = labels.load_feedback(path)
    except LabelError:
        return None
    return None if all(_is_outcome(text) for text in texts.values()) else texts


def _is_outcome(text: str) -> bool:
    try:
        labels.status_of(text)
    except ValueError:
        return False
    return True
