"""What a refinement of a corpus would work on, and what it would take: settings, snapshot, skill. Starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refiner import codec, config, ingest
from refiner.config import RefineConfig
from refiner.episodes import conversation_of
from refiner.errors import ConfigError, LabelError, RefinerError
from refiner.reporting.report import Inputs
from refiner.resources import SETTINGS
from refiner.snapshot import Snapshot, held_out_traces, known_tasks, limited, take
from refiner.stages.embed import BATCH
from refiner.tasks import CONVERSATION
from refiner.types import SkillVersion, Trace
from refiner.views import Estimate, IngestReport
from refiner.workspace.asking import Asking
from refiner.workspace.corpora import Corpora, Entry, warnings
from refiner.workspace.digest import Card
from refiner.workspace.expecting import expected_of
from refiner.workspace.tools import ledger_for

ELSEWHERE = {
    "skill_file": "set the start skill on the corpus page",
    "skill_name": "set the start skill on the corpus page",
    "raw_jsonl": "add traces on the corpus page",
    "binary_rewards": "add labels on the corpus page",
    "ground_truth_file": "add labels on the corpus page",
    "output_dir": "export on the skill page",
    "db": "choose the database when the app is started",
    "task_key": "name it when traces are added",
    "columns": "say it when traces are added",
    "score": "choose it when labels are added",
    "pass_at": "choose it when labels are added",
    "lower_is_better": "choose it when labels are added",
}
"""Settings of the command line that a page has another place for."""

# Measured with the offline analyst on two cores: importing and compiling, then by trace.
SECONDS_FIXED, SECONDS_TRACE, SECONDS_CALL = 5.0, 0.02, 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A refinement that could be started."""

    config: RefineConfig
    base: SkillVersion
    snapshot: Snapshot
    inputs: Inputs
    guessed: tuple[Trace, ...]
    """The traces whose task is no part of their record, held-out ones included."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans for the corpora of one database."""

    corpora: Corpora
    asking: Asking

    def settings(self, entry: Entry, given: Mapping[str, Any]) -> RefineConfig:
        """The configuration. Raises ConfigError for an unknown, wrong or misplaced setting.

        A hand-off that names no folder gets one beside the database.
        """
        names = {alias: spec.name for spec in config.specs().values() for alias in (spec.name, *spec.aliases)}
        for key, value in given.items():
            place = ELSEWHERE.get(names.get(key.replace("-", "_"), ""))
            if place and value is not None:
                raise ConfigError(f"{key} is not set here: {place}")
        own = {"handoff_dir": self.asking.folder(entry.id)} if given.get("transport") == "handoff" else {}
        return config.load({**own, **given}, self.corpora.room.environ, Path(SETTINGS))[0]

    def plan(self, entry: Entry, given: Mapping[str, Any]) -> Plan:
        """Everything a refinement needs. Raises ConfigError, or LabelError when there is nothing to learn from."""
        if entry.opened:
            raise ConfigError(f'"{entry.name}" is a result that was opened for reading; refine a corpus of your own')
        chosen = self.settings(entry, given)
        store, digest = self.corpora.room.store, self.corpora.digests.of(entry.id)
        traces = limited(assigned(list(store.traces(entry.id))), chosen.limit)
        share = config.held_out_share(chosen.rules, chosen.holdout, known_tasks(traces))
        snapshot = take(traces, digest.outcomes, store.notes(entry.id), share)
        if not snapshot.training:
            raise LabelError(_nothing_to_learn_from(len(traces), snapshot))
        guessed = tuple(trace for trace in traces if trace.task_id_origin != "file")
        return Plan(chosen, self.corpora.skills.get(entry.id, entry.name), snapshot, self._inputs(entry), guessed)

    def estimate(self, entry: Entry, given: Mapping[str, Any], running: bool) -> Estimate:
        """What it would take, from the cards alone; never raises for what a person can mend."""
        try:
            chosen = self.settings(entry, given)
            _refuse_unlimited(chosen)
        except RefinerError as error:
            return Estimate(0, 0, 0, 0, 0.0, 0, 0, 0.0, (), str(error))
        digest = self.corpora.digests.of(entry.id)
        traces = limited((_bare(entry, card) for card in digest.cards), chosen.limit)
        share = config.held_out_share(chosen.rules, chosen.holdout, known_tasks(traces))
        apart = held_out_traces(traces, share)
        kept = [trace for trace in traces if trace.id not in apart]
        ends = [digest.outcome(trace.id).status for trace in kept]
        failing, passing = ends.count("fail"), ends.count("pass")
        used = {trace.id for trace in kept if digest.outcome(trace.id).status in ("fail", "pass")}
        expected = _expected(chosen, [card.size for card in digest.cards if card.trace_id in used])
        calls = expected["calls"]
        steps = failing + passing + -(-failing // BATCH) + -(-passing // BATCH) + 6
        return Estimate(
            failing=failing,
            passing=passing,
            held_out_tasks=len({trace.task_id for trace in traces} - {trace.task_id for trace in kept}),
            steps=steps,
            seconds=round(
                SECONDS_FIXED + SECONDS_TRACE * (failing + passing) + SECONDS_CALL * calls / chosen.workers, 1
            ),
            calls=calls,
            tokens=expected["tokens"],
            money=expected["cost"],
            warnings=(*warnings(digest, entry), *_unknown_window(chosen)),
            blocked=_blocked(entry, len(digest.cards), failing + passing, running),
            currency=expected.get("currency", ""),
            prices_of=expected.get("prices_of", ""),
            unasked=self.asking.unasked(chosen),
        )

    def _inputs(self, entry: Entry) -> Inputs:
        """What was uploaded, all uploads together."""
        events = self.corpora.room.store.corpus_events(entry.id, "upload")
        reports: list[IngestReport] = [codec.from_plain(IngestReport, event.body) for event in events]
        return Inputs(
            files=tuple(codec.to_plain(row) for report in reports for row in report.files),
            rejected=tuple(bad for report in reports for bad in report.rejected),
            copies=sum(report.duplicates for report in reports),
            warnings=tuple(words for report in reports for words in (*report.warnings, *report.conflicts)),
        )


def _expected(chosen: RefineConfig, sizes: list[int]) -> dict[str, Any]:
    """What models would take: nothing without one."""
    from refiner.transports.prices import load

    prices = load()
    return {**expected_of(chosen, sizes), "currency": prices.currency, "prices_of": prices.date}


def _refuse_unlimited(chosen: RefineConfig) -> None:
    """Raises ConfigError for a limit that could not be kept."""
    ledger_for(chosen)


def _unknown_window(chosen: RefineConfig) -> list[str]:
    words = config.unknown_window_words(chosen)
    return [] if words is None else [words.replace("--window", "“Tokens a prompt may have”")]


def assigned(traces: list[Trace]) -> list[Trace]:
    """The traces of a corpus with the tasks that the rule gives them over all of it."""
    return list(ingest.assign_tasks(traces))


def _nothing_to_learn_from(traces: int, snapshot: Snapshot) -> str:
    if not traces:
        return "this corpus has no traces yet; add some on the corpus page"
    if snapshot.held_out_traces:
        return "no trace that passed or failed is left after holding tasks out; lower the held-out share"
    return "no trace passed or failed, and outcomes are what is learned from; add labels on the corpus page"


def _blocked(entry: Entry, traces: int, usable: int, running: bool) -> str | None:
    if entry.opened:
        return "This is a result that was opened for reading. Create a corpus of your own to refine."
    if not traces:
        return "This corpus has no traces yet. Add some on the corpus page."
    if not usable:
        return "No trace passed or failed yet, and outcomes are what is learned from. Add labels on the corpus page."
    return "Another refinement is running. Wait for it, or cancel it." if running else None


def _bare(entry: Entry, card: Card) -> Trace:
    """What a card knows of its trace: enough to tell whether it is held out."""
    meta = {CONVERSATION: conversation_of(card.external_id)} if entry.episodes else {}
    known = (card.external_id, card.format, "", card.task_id, card.task_id_origin)
    return Trace(entry.id, *known, spans=(), meta=meta)
