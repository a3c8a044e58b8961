"""`refiner export`: the output tree of a stored refinement, once more."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--refinement", required=True, metavar="ID", help="the refinement (run.json names it)")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--db", type=Path, metavar="FILE", help="the database (default: .refiner/refiner.duckdb)")


def run(arguments: argparse.Namespace) -> int:
    from refiner import workspace

    database = arguments.db or Path(".refiner") / workspace.DATABASE
    written = workspace.export(database, arguments.refinement, arguments.out)
    print(f"Written: {written}")
    return 0
