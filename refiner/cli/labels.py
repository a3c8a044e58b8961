"""`refiner labels`: outcomes suggested by signs in the runs of a corpus, and taking or dismissing them by kind."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from refiner.cli.app import DATABASE
from refiner.cli.console import safe, table
from refiner.errors import UsageError
from refiner.reporting.markup import plural

if TYPE_CHECKING:
    from refiner.views import SuggestionRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("suggest", "accept", "dismiss"), help="what to do")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="kinds of signs, as `suggest` lists them")
    parser.add_argument("--corpus", required=True, metavar="NAME", help="the corpus of the app")
    parser.add_argument("--db", type=Path, default=DATABASE, metavar="FILE", help=f"the database (default {DATABASE})")
    parser.add_argument("--json", action="store_true", help="print the suggestions as JSON")


def run(arguments: argparse.Namespace) -> int:
    from refiner.workspace.desk import Workspace

    if (arguments.action == "suggest") == bool(arguments.kinds):
        raise UsageError("name the kinds to accept or dismiss, and none for suggest: `refiner labels accept approval`")
    if not arguments.db.exists():
        raise UsageError(f"--db {arguments.db}: there is no such database; `refiner ingest` makes one")
    desk = Workspace.open(arguments.db)
    try:
        if arguments.action == "suggest":
            desk.suggest_labels(arguments.corpus)
        rows = _of_kinds(desk.suggestions(arguments.corpus), arguments.kinds)
        chosen = [row.trace_id for row in rows]
        if arguments.action == "accept":
            print(f"{plural(desk.accept_suggestions(arguments.corpus, chosen), 'trace')} labelled.")
        elif arguments.action == "dismiss":
            print(f"{plural(desk.dismiss_suggestions(arguments.corpus, chosen), 'suggestion')} dismissed.")
        else:
            print(json.dumps([asdict(row) for row in rows], indent=2) if arguments.json else safe(as_text(rows)))
    finally:
        desk.close()
    return 0


def _of_kinds(rows: Sequence[SuggestionRow], kinds: Sequence[str]) -> list[SuggestionRow]:
    """The suggestions of these kinds, all without one. Raises UsageError for a kind that nothing is suggested by."""
    there = sorted({row.kind for row in rows})
    if strange := [kind for kind in kinds if kind not in there]:
        listed = f"there are {', '.join(there)}" if there else "there is none; `refiner labels suggest` looks for signs"
        raise UsageError(f"no open suggestion is of the kind {strange[0]}; {listed}")
    return [row for row in rows if not kinds or row.kind in kinds]


def as_text(rows: Sequence[SuggestionRow]) -> str:
    """A row a suggestion, by kind, and what to do with them."""
    if not rows:
        return "No run without an outcome shows a sign of how it ended."
    cells = [(row.kind, row.status, row.external_id, row.reason) for row in sorted(rows, key=lambda row: row.kind)]
    text = table(("kind", "suggests", "trace", "because"), cells, (14, 14, 30, 60))
    kinds = Counter((row.kind, row.status) for row in rows)
    summed = "; ".join(f"{kind}: {number:,} {status}" for (kind, status), number in sorted(kinds.items()))
    todo = (
        "Nothing counts yet. Accept a kind with `refiner labels accept KIND --corpus NAME`, or one by one in the app."
    )
    return f"{text}\n\n{summed}.\n{todo}"
