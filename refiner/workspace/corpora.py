"""Corpora by name: making, removing, listing, and what a person should know about one before refining."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from refiner.config.settings import nearest
from refiner.errors import ConfigError
from refiner.reporting.markup import plural
from refiner.types import Outcome
from refiner.views import CorpusCard, CorpusView
from refiner.workspace.digest import Digest, Digests
from refiner.workspace.room import Room
from refiner.workspace.startskill import StartSkills

LONGEST_NAME = 60
MIN_SIDE = 4
ENOUGH_TASKS = 3
_GENERATION = "/"
SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Entry:
    """A corpus that is there. `id` is what its traces carry: a name that was used before comes back as `name/2`.

    `episodes`: it holds attempts of conversations.
    """

    id: str
    name: str
    scripted: bool
    opened: bool
    episodes: bool = False


@dataclass(frozen=True, slots=True)
class Corpora:
    """The corpora of one database."""

    room: Room
    digests: Digests
    skills: StartSkills

    def entries(self) -> list[Entry]:
        """Every corpus that is there, oldest first."""
        return [self._entry(corpus) for corpus, removed in self.room.store.corpora() if not removed]

    def entry(self, name: str) -> Entry:
        """The corpus of that name. Raises ConfigError naming the nearest one."""
        names = {entry.name: entry for entry in self.entries()}
        if name not in names:
            known = nearest(name, names) or (f"; there are {', '.join(names)}" if names else "; there is none yet")
            raise ConfigError(f'there is no corpus "{name}"{known}')
        return names[name]

    def by_id(self, corpus: str) -> Entry:
        """The corpus whose traces carry that id. Raises ConfigError when it was removed."""
        found = next((entry for entry in self.entries() if entry.id == corpus), None)
        if found is None:
            raise ConfigError(f'the corpus "{_name(corpus)}" was removed; choose another one')
        return found

    def own(self, name: str) -> Entry:
        """The corpus of that name, if a person may add to it. Raises ConfigError for the sample and opened results."""
        entry = self.entry(name)
        if entry.scripted or entry.opened:
            what = "the scripted sample" if entry.scripted else "a result that was opened for reading"
            raise ConfigError(f'"{name}" is {what}, so nothing is added to it; create a corpus of your own')
        return entry

    def create(self, name: str, *, scripted: bool = False, opened: bool = False, episodes: bool = False) -> Entry:
        """Makes a corpus. Raises ConfigError when the name is taken or cannot be one."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME or _GENERATION in name or not name.isprintable():
            raise ConfigError(f'a corpus name has 1 to {LONGEST_NAME} printable characters and no "/"; choose another')
        with self.room.lock:
            before = [corpus for corpus, _ in self.room.store.corpora() if _name(corpus) == name]
            if any(entry.name == name for entry in self.entries()):
                raise ConfigError(f'there is a corpus "{name}" already; choose another name, or remove that one first')
            corpus = f"{name}{_GENERATION}{len(before) + 1}" if before else name
            body = {"scripted": scripted, "opened": opened, "episodes": episodes}
            self.room.store.corpus_event(corpus, "created", body)
        return Entry(corpus, name, scripted, opened, episodes)

    def restore(self, corpus: str) -> Entry:
        """Brings a removed corpus back as it was."""
        body = self.room.store.corpus_events(corpus, "created")[-1].body
        self.room.store.corpus_event(corpus, "created", body)
        return self._entry(corpus)

    def remove(self, name: str) -> None:
        """Takes a corpus away with its labels and refinements; a later corpus of that name starts empty."""
        entry = self.entry(name)
        self.room.store.corpus_event(entry.id, "removed", {"reviewer": self.room.reviewer()})

    def free_name(self, wanted: str) -> str:
        """The wanted name, or the first of `wanted 2`, `wanted 3` ... that is not taken."""
        taken = {entry.name for entry in self.entries()}
        wanted = " ".join(wanted.replace(_GENERATION, " ").split())[: LONGEST_NAME - 4] or "result"
        numbered = (f"{wanted} {number}" for number in range(2, len(taken) + 3))
        return wanted if wanted not in taken else next(name for name in numbered if name not in taken)

    def card(self, entry: Entry) -> CorpusCard:
        digest = self.digests.of(entry.id)
        return CorpusCard(
            name=entry.name,
            traces=len(digest.cards),
            tasks=len({card.task_id for card in digest.cards}),
            statuses=statuses(digest),
            scripted=entry.scripted,
            has_skill=self.skills.key(entry.id) is not None,
            refinements=self._refinements(entry),
            opened=entry.opened,
        )

    def _refinements(self, entry: Entry) -> int:
        if entry.opened:
            return sum(one.corpus == entry.id for one in self.room.store.results())
        return len(self.room.store.refinements(entry.id))

    def view(self, entry: Entry) -> CorpusView:
        digest = self.digests.of(entry.id)
        return CorpusView(
            name=entry.name,
            traces=len(digest.cards),
            tasks=len({card.task_id for card in digest.cards}),
            statuses=statuses(digest),
            task_origins=_counts(card.task_id_origin for card in digest.cards),
            tried_twice=tried_twice(digest),
            failures_without_feedback=failures_without_feedback(digest),
            formats=_counts(card.format for card in digest.cards),
            models=_counts(card.model for card in digest.cards if card.model),
            scripted=entry.scripted,
            skill=self.skills.view(entry.id),
            warnings=() if entry.opened else tuple(warnings(digest, entry)),
            disagreements=tuple(disagreements(digest)),
            revision=digest.revision,
            opened=entry.opened,
        )

    def _entry(self, corpus: str) -> Entry:
        events = self.room.store.corpus_events(corpus, "created")
        body = events[-1].body if events else {}
        scripted, opened, episodes = (bool(body.get(name)) for name in ("scripted", "opened", "episodes"))
        return Entry(corpus, _name(corpus), scripted, opened, episodes)


def _name(corpus: str) -> str:
    return corpus.partition(_GENERATION)[0]


def _counts(words: object) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))  # type: ignore[call-overload]


def statuses(digest: Digest) -> dict[str, int]:
    """Traces by the outcome that counts; all four words are there."""
    found = Counter(digest.outcome(card.trace_id).status for card in digest.cards)
    return {status: found[status] for status in ("pass", "fail", "unknown", "infrastructure")}


def tried_twice(digest: Digest) -> int:
    """Tasks with at least two traces that passed or failed."""
    labelled = (card for card in digest.cards if digest.outcome(card.trace_id).status in ("pass", "fail"))
    return sum(count > 1 for count in Counter(card.task_id for card in labelled).values())


def failures_without_feedback(digest: Digest) -> int:
    outcomes = (digest.outcome(card.trace_id) for card in digest.cards)
    return sum(outcome.status == "fail" and not outcome.feedback for outcome in outcomes)


def warnings(digest: Digest, entry: Entry) -> list[str]:
    """What to know before refining, a sentence each, the gravest first."""
    counts = statuses(digest)
    if not digest.cards:
        return []
    if not counts["pass"] and not counts["fail"]:
        return [
            "No trace has an outcome yet, and outcomes are what is learned from: add a label file, label by hand, or "
            "cut conversations into episodes."
        ]
    if entry.episodes:
        return _attempts(digest, counts)
    return [*_sides(counts), *_tasks(digest), *_feedback(digest, counts)]


def _attempts(digest: Digest, counts: dict[str, int]) -> list[str]:
    """The same of attempts of conversations, whose tasks and feedback are the users' words by nature."""
    found = []
    if 0 < counts["fail"] < MIN_SIDE:
        found.append(
            f"{counts['fail']} failing attempts are too few to compare: what the user corrected is proposed one by "
            "one, undecided, for you to judge."
        )
    elif (both := _with_both_outcomes(digest)) < ENOUGH_TASKS:
        found.append(
            f"Only {both} tasks have a failing and a passing attempt; it takes {ENOUGH_TASKS} to count a cause."
        )
    if counts["unknown"]:
        found.append(
            f"Attempts without an outcome: {counts['unknown']}. Answer them under “Suggested”, or label them by hand."
        )
    return found


def _sides(counts: dict[str, int]) -> list[str]:
    found = []
    for status, side in (("fail", "failing"), ("pass", "passing")):
        if counts[status] == 0:
            found.append(
                f"There is no {side} trace: the two sides cannot be compared, so no cause can be counted. "
                f"Add traces that {'failed' if status == 'fail' else 'passed'}."
            )
        elif counts[status] < MIN_SIDE:
            found.append(
                f"Only {plural(counts[status], f'{side} trace')}: a side with fewer than {MIN_SIDE} is left out. "
                "Add some."
            )
    unlabelled = counts["unknown"]
    if unlabelled:
        what = "1 trace has no outcome and is" if unlabelled == 1 else f"{unlabelled:,} traces have no outcome and are"
        found.append(f"{what} not learned from; label what is to be used.")
    return found


def _tasks(digest: Digest) -> list[str]:
    found = []
    guessed = sum(card.task_id_origin != "file" for card in digest.cards)
    if guessed:
        found.append(
            f"The tasks of {plural(guessed, 'trace')} are guessed from the request; a task_id in each record is better."
        )
    if not tried_twice(digest):
        found.append(
            "No task was tried twice, so changes can be recommended but never supported. Two ways out: several traces "
            "of a task, or a model as judge."
        )
    elif (both := _with_both_outcomes(digest)) < ENOUGH_TASKS:
        few = "No task has" if not both else "Only 1 task has" if both == 1 else f"Only {both} tasks have"
        found.append(f"{few} a passing and a failing trace; it takes {ENOUGH_TASKS} to count a cause.")
    return found


def _with_both_outcomes(digest: Digest) -> int:
    seen: dict[str, set[str]] = {}
    for card in digest.cards:
        seen.setdefault(card.task_id, set()).add(digest.outcome(card.trace_id).status)
    return sum({"pass", "fail"} <= found for found in seen.values())


def _feedback(digest: Digest, counts: dict[str, int]) -> list[str]:
    missing = failures_without_feedback(digest)
    if not missing:
        return []
    which = "None of the" if missing == counts["fail"] else f"{missing:,} of the"
    verb = "has" if missing == counts["fail"] else "have no"
    return [
        f"{which} {counts['fail']:,} failing traces {verb} feedback. A sentence for each failure is worth more than "
        "any setting: add a feedback file, or a note by hand."
    ]


def disagreements(digest: Digest) -> list[str]:
    """Traces of whose end different sides say different things, a sentence each."""
    found = []
    for card in digest.cards:
        said = _latest(digest.stated.get(card.trace_id, ()))
        if len(set(said.values())) > 1:
            words = ", ".join(f"{_WHO[origin]} says {status}" for origin, status in said.items())
            found.append(f"{card.external_id}: {words}; {digest.outcome(card.trace_id).status} counts.")
    return found


_WHO = {"human": "a person", "environment": "the environment", "judge": "a judge"}
"""Who states an end; what signs suggest is no statement."""


def _latest(stated: tuple[Outcome, ...]) -> dict[str, str]:
    """The latest statement about the end by origin; a bare note is none."""
    said = {one.origin: one.status for one in stated if one.status != "unknown" or not one.feedback}
    return {origin: said[origin] for origin in _WHO if origin in said}
