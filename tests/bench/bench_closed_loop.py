"""Do scripted agents with the refined skill fail less, on tasks nothing was learned from? With two controls.

An agent heeds a rule only when added lines state it; what it looks for is fixed in the pack. Controls: as many lines
from another seed's refined skill of the *other* pack (the same pack's would hold the same rules), and the refined skill
with its rules turned round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sample_data.generator import Corpus, Pack, generate
from tests.bench.planted import PACKS, refined, row

SEEDS = range(101, 104)
OFFSET = 60  # tasks 61 to 120: none of those learned from
OTHER_SEED = 50
_NEGATED = re.compile(r"\b(?:[Dd]o not|[Nn]ever) ")


@dataclass(frozen=True, slots=True)
class Rates:
    """Passing runs of one seed, and how many of the base's failures had a planted, unstated cause."""

    runs: int
    base: int
    refined: int
    other_lines: int
    inverted: int
    avoidable: int
    avoided: int


def run() -> list[dict[str, Any]]:
    """Pass rates by pack, summed over the seeds."""
    rows = []
    for name, pack in PACKS.items():
        other = next(one for key, one in PACKS.items() if key != name)
        found = [_measure(pack, other, seed) for seed in SEEDS]
        runs = sum(one.runs for one in found)
        base = sum(one.base for one in found) / runs
        for label in ("base", "refined", "other_lines", "inverted"):
            rate = sum(getattr(one, label) for one in found) / runs
            rows.append(row(f"pack_{name}/pass_rate/{label}", rate, "share", "base", round(rate / base, 3)))
        gone = sum(one.avoided for one in found) / sum(one.avoidable for one in found)
        rows.append(row(f"pack_{name}/avoidable_failures_gone", gone, "share", "base (aim at least 0.5)"))
    return rows


def _measure(pack: Pack, other: Pack, seed: int) -> Rates:
    skill = refined(pack, generate(pack, seed), feedback=True).skill_text
    added = _added(pack.skill, skill)
    foreign = _added(other.skill, refined(other, generate(other, seed + OTHER_SEED), feedback=True).skill_text)
    controls = {"other_lines": _with(pack.skill, foreign[: len(added)]), "inverted": inverted(pack.skill, skill)}
    texts = {"base": pack.skill, "refined": skill, **controls}
    corpora = {label: generate(pack, seed, tasks_offset=OFFSET, skill=text) for label, text in texts.items()}
    passes = {label: sum(corpus.rewards.values()) for label, corpus in corpora.items()}
    avoidable = _avoidable(pack, corpora["base"])
    avoided = sum(corpora["refined"].rewards[one] for one in avoidable)
    return Rates(len(corpora["base"].rewards), **passes, avoidable=len(avoidable), avoided=avoided)


def _avoidable(pack: Pack, corpus: Corpus) -> set[str]:
    """Failing runs whose every cause is a planted fault that the skill does not state yet."""
    blamed = {one for part in (pack.stated, *pack.accidents) for one in corpus.acted[part.name]}
    return {one for one, passed in corpus.rewards.items() if not passed} - blamed


def _added(base: str, skill: str) -> list[str]:
    known = {line.strip() for line in base.splitlines()}
    return [line.strip() for line in skill.splitlines() if line.strip() and line.strip() not in known]


def _with(base: str, lines: list[str]) -> str:
    return base.rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def inverted(base: str, skill: str) -> str:
    """The refined skill with each added rule turned round: a ban becomes a demand, a demand a ban."""
    known = {line.strip() for line in base.splitlines()}
    return "\n".join(line if line.strip() in known else _inverted(line) for line in skill.splitlines()) + "\n"


def _inverted(line: str) -> str:
    if _NEGATED.search(line):
        return _NEGATED.sub("", line, count=1)
    head, comma, rest = line.rpartition(", ") if re.match(r"\W*(?:When|After|Before|In)\b", line) else ("", "", line)
    mark, words = re.match(r"(\W*)(.*)", rest, re.S).groups() if not comma else ("", rest)  # type: ignore[union-attr]
    return f"{head}{comma}{mark}do not {words[0].lower()}{words[1:]}" if words else line
