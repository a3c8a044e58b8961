"""`python -m tests.bench [NAME]`: runs one bench or all, writes `build/bench/<name>.json`, prints a table."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

BENCHES = (
    "planted",
    "closed_loop",
    "one_shot",
    "cluster",
    "attribution",
    "client",
    "tokens",
    "audits",
    "app",
    "ingest",
)
OUT = Path("build/bench")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=f"Benches: {', '.join(BENCHES)}.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the benches to run; all of them without a name")
    wanted = [name.replace("-", "_") for name in parser.parse_args(arguments).names] or list(BENCHES)
    if unknown := [name for name in wanted if name not in BENCHES]:
        parser.error(f"unknown bench {', '.join(unknown)}; choose from {', '.join(BENCHES)}")
    for name in wanted:
        rows = importlib.import_module(f"tests.bench.bench_{name}").run()
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / f"{name}.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
        print(f"\n{name}\n{as_table(rows)}")
    return 0


def as_table(rows: list[dict[str, Any]]) -> str:
    cells = [["name", "value", "unit", "against", "ratio"], *([_cell(row.get(key)) for key in KEYS] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(KEYS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)


KEYS = ("name", "value", "unit", "against", "ratio")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
