"""Different runs with one id: harnesses count from 0 in every file. Decides what they are called; stores nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from refiner.growth import BEGINS
from refiner.types import Trace

GIVEN = "given_id"
"""The fact with the id that its file gives a trace, where a run of another file has that id."""
_GENERATED = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|(?=[A-Za-z]*[0-9])[0-9A-Za-z]{20,})"
    r"(?![0-9A-Za-z])",
    re.IGNORECASE,
)

Named = Mapping[tuple[str, str], str | None]
"""What traces are called other than their files say, by trace id and source; None: they are not kept at all."""


def is_generated(external_id: str) -> bool:
    """Whether an id was made to be the only one there is (a UUID, a long hash), so that two runs cannot share it."""
    return _GENERATED.search(external_id) is not None


def file_of(trace: Trace) -> str:
    """The file that a trace comes from."""
    return trace.source.rpartition(":")[0] or trace.source


def apart(trace: Trace, known: Trace) -> Trace | None:
    """The trace, called by its file as well, where a different run of another file has its id.

    None where the two are no two runs but one, told in two ways: the id was generated or is that of a session, the file
    is the same, or what was done is (only times and the like differ).
    """
    file = file_of(trace)
    unique = GIVEN in trace.meta or BEGINS in trace.meta or is_generated(trace.external_id)
    if unique or file == file_of(known) or _same_deeds(trace, known):
        return None
    name = f"{trace.external_id}@{file}"
    return replace(trace, external_id=name, meta={**trace.meta, GIVEN: trace.external_id})


def _same_deeds(one: Trace, other: Trace) -> bool:
    deeds = (
        [(span.span_id, span.kind, span.name, span.role, span.input, span.output) for span in trace.spans]
        for trace in (one, other)
    )
    return all(first == second for first, second in zip(*deeds, strict=False))


def renamed(trace: Trace, named: Named) -> Trace:
    """The trace as it is called; itself where nothing else is known or it is not kept."""
    name = named.get((trace.id, trace.source))
    return replace(trace, external_id=name, meta={**trace.meta, GIVEN: trace.external_id}) if name else trace


def meant(traces: Iterable[tuple[str, str, str]], place: str | None = None) -> dict[str, str | None]:
    """By each id that several runs have: the external id of the one that a label file at `place` speaks of, or None.

    `traces`: external id, the id that its file gives it (empty where it is the same), and that file. A label file
    speaks of the runs in its own folder.
    """
    by_id: dict[str, dict[str, str]] = {}
    for external_id, given, file in traces:
        by_id.setdefault(given or external_id, {})[external_id] = file
    return {given: _beside(runs, place) for given, runs in by_id.items() if runs.keys() != {given}}


def _beside(runs: Mapping[str, str], place: str | None) -> str | None:
    folder = None if place is None else PurePosixPath(place).parent
    near = [external_id for external_id, file in runs.items() if PurePosixPath(file).parent == folder]
    return near[0] if len(near) == 1 else None
