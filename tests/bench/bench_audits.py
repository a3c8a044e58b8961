"""The audits on the set of planted and clean edits: by kind how many were found, and how many clean ones stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


def run() -> list[dict[str, Any]]:
    """One row a kind, then the misses by name, then the clean edits."""
    import audit_cases

    rows = audit_cases.table()
    missed = [one.name for one in audit_cases.cases() if one.planted and not one.is_found(one.findings())]
    return [*rows, *({"name": f"missed: {name}", "value": "", "unit": ""} for name in missed)]
