"""A trace from what a reader found: empty facts left out, ids told apart. Knows no format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from refiner.formats._common import Item, lookup, scalar_id, text_of
from refiner.formats._stated import made_id
from refiner.formats._steps import opening
from refiner.formats._values import shallow, values
from refiner.jsontext import kind_of
from refiner.ports import Source
from refiner.types import BadRecord, Span, Trace


def build(
    source: Source,
    name: str,
    external_id: str,
    spans: tuple[Span, ...],
    *,
    place: object,
    task: str = "",
    task_id: str = "",
    model: Any = None,
    meta: dict[str, Any] | None = None,
) -> Trace:
    """The trace of format `name`; without a `task` its opening is the first thing a user says."""
    facts = {key: scalar_id(value) for key, value in (meta or {}).items()}
    return Trace(
        corpus=source.corpus,
        external_id=external_id,
        format=name,
        task=task or opening(spans),
        task_id=task_id,
        task_id_origin="file" if task_id else "none",
        spans=spans,
        model=scalar_id(model) or None,
        source=f"{source.path}:{place}",
        meta={key: value for key, value in facts.items() if value},
    )


def chosen_task(record: dict[str, Any], source: Source) -> str:
    """The task by the field the caller named, or nothing."""
    return scalar_id(lookup(record, source.task_key)) if source.task_key else ""


def file_id(source: Source, *endings: str) -> str:
    """The path without its ending; a folder named like its file (`task/task.traj`) says nothing more than the file."""
    path = PurePosixPath(source.path)
    ending = next((ending for ending in endings if path.name.endswith(ending) and path.name != ending), "")
    path = path.with_name(path.name.removesuffix(ending))
    parts = path.parts[:-1] if path.parts[-2:-1] == (path.name,) else path.parts
    return text_of("/".join(parts))


def inside(source: Source, name: str) -> str:
    """A name, behind the folder of its file: the runs of two folders may have the same names."""
    return text_of((PurePosixPath(source.path).parent / name).as_posix())


def records(
    stream: BinaryIO,
    source: Source,
    convert: Callable[[dict[str, Any], str, int], Iterable[Item]],
    *endings: str,
    one: Callable[[Any], dict[str, Any] | None] = lambda value: None,
) -> Iterator[Item]:
    """What `convert(record, name, line)` makes of each record of a file, those of lists one by one.

    A record that is the whole file is named by the file, without the ending; every other by file and hash. `one` may
    make one record of a whole list. Traces of one name are told apart by numbers.
    """
    copies, names = Counter[str](), Counter[str]()

    def converted(record: Any, line: int, whole: bool) -> Iterator[Item]:
        if not isinstance(record, dict):
            yield BadRecord(source.path, line, f"is {kind_of(record)}, not a record")
            return
        name = file_id(source, *endings) if whole else made_id(record, source, copies)
        yield from _numbered(convert(record, name, line), line, names)

    for line, value, problem, whole in values(stream):
        if problem or value == []:
            yield BadRecord(source.path, line, problem or "is an empty list")
            continue
        found = [made] if (made := one(value)) else value if isinstance(value, list) else [value]
        for record in found:
            yield from shallow(converted(record, line, whole and len(found) == 1), source, line)


def _numbered(items: Iterable[Item], line: int, names: Counter[str]) -> Iterator[Item]:
    """The items; a trace whose name is taken gets a number, and so does what is said about it."""
    renamed: dict[str, str] = {}
    for item in items:
        if isinstance(item, BadRecord):
            yield replace(item, line=item.line or line)
        elif isinstance(item, Trace):
            names[item.external_id] += 1
            count = names[item.external_id]
            numbered = item if count == 1 else replace(item, external_id=f"{item.external_id}#{count}")
            renamed[item.id] = numbered.id
            yield numbered
        else:
            yield replace(item, trace_id=renamed[item.trace_id])
