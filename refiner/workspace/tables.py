"""A table looked at before it is taken in: columns, a mapping, three runs as it would give them. Nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from refiner import columns
from refiner.formats import table
from refiner.ports import Source
from refiner.types import Trace
from refiner.views import TableView, Upload

SAMPLES = 3


def look(upload: Upload, mapping: Mapping[str, str] | None = None) -> TableView:
    """The table with the mapping, or with the one that the names of its columns tell."""
    upload.data.seek(0)
    try:
        names = table.opened(upload.data).columns
    except table.Unreadable as error:
        return TableView((), {}, problem=str(error))
    chosen = dict(columns.guessed(names) if mapping is None else mapping)
    if problem := columns.problem(chosen, names):
        return TableView(names, chosen, problem=problem)
    upload.data.seek(0)
    given = Source("preview", upload.name, columns=tuple(chosen.items()))
    items = (item for item in table.FORMAT.parse(upload.data, given) if isinstance(item, Trace))
    found = tuple(islice(items, SAMPLES))
    upload.data.seek(0)
    return TableView(names, chosen, found, None if found else "not one row gives a run with these columns")
