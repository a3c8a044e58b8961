"""Atoms over many traces: which ones a corpus shows, and where each holds and applies. No outcomes here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refiner.behaviours.features import Features, features
from refiner.behaviours.predicates import Order, Plain, parse
from refiner.types import Trace

COMMON_WORD_SHARE = 0.25
"""A word counts when at least this share of the distinct tasks shows it: rarer ones are literals of a task."""

Bools = NDArray[np.bool_]


def task_of(trace: Trace) -> str:
    """The task a trace belongs to; without one it is a task of its own."""
    return f"t:{trace.task_id}" if trace.task_id else f"x:{trace.external_id}"


def vocabulary(traces: Sequence[Trace]) -> list[str]:
    """Every atom that the traces show, sorted. absent(b after a) counts when some run has it and some run has not."""
    seen = [features(trace) for trace in traces]
    atoms = {atom for one in seen for atom in one.true if not _is_long_repeat(atom)}
    atoms.update(_common_word_atoms(traces, seen))
    atoms.update(_order_atoms(seen))
    return sorted(atoms)


def _is_long_repeat(atom: str) -> bool:
    return atom.startswith("repeated_call(") and atom not in ("repeated_call(2)", "repeated_call(3)")


def _common_word_atoms(traces: Sequence[Trace], seen: Sequence[Features]) -> set[str]:
    tasks: defaultdict[str, set[str]] = defaultdict(set)
    for trace, one in zip(traces, seen, strict=True):
        task = task_of(trace)
        for word in {_word(atom) for atom in one.words}:
            tasks[word].add(task)
    needed = COMMON_WORD_SHARE * len({task_of(trace) for trace in traces})
    common = {word for word, shown_in in tasks.items() if len(shown_in) >= needed}
    return {atom for one in seen for atom in one.words if _word(atom) in common}


def _word(atom: str) -> str:
    return atom[atom.rindex(" ") + 1 : -1]


def _order_atoms(seen: Sequence[Features]) -> set[str]:
    occurs: Counter[str] = Counter()
    follows: Counter[tuple[str, str]] = Counter()
    atoms = set()
    for one in seen:
        occurs.update(one.first.keys())
        for a, first_a in one.first.items():
            for b, last_b in one.last.items():
                if last_b > first_a and a != b:
                    atoms.add(f"sequence({a}, {b})")
                if last_b > one.last[a]:
                    follows[a, b] += 1
    atoms.update(f"absent({b} after {a})" for (a, b), count in follows.items() if count < occurs[a])
    return atoms


def table(traces: Sequence[Trace], atoms: Sequence[str]) -> tuple[Bools, Bools]:
    """`(holds, applies)`, both `(len(traces), len(atoms)) bool`; `holds` is False where a predicate does not apply."""
    seen = [features(trace) for trace in traces]
    holds = np.zeros((len(traces), len(atoms)), dtype=bool)
    applies = np.ones((len(traces), len(atoms)), dtype=bool)
    plain: dict[str, list[int]] = {}
    for column, text in enumerate(atoms):
        predicate = parse(text)
        if isinstance(predicate, Plain):
            plain.setdefault(str(predicate), []).append(column)
            continue
        if isinstance(predicate, Order):
            values = [predicate.value(one) if predicate.a in one.first else None for one in seen]
        else:
            values = [predicate.value(one) for one in seen]
        holds[:, column] = [value is True for value in values]
        applies[:, column] = [value is not None for value in values]
    for row, one in enumerate(seen):
        shown = [
            column
            for shown_in in (one.true, one.words)
            for atom in shown_in.keys() & plain.keys()
            for column in plain[atom]
        ]
        holds[row, shown] = True
    return holds, applies
