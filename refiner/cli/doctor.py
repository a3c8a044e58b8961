"""`refiner doctor`: what is there, what would be used and why, what is missing and the fix for each."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

from refiner import config as settings
from refiner.cli.console import table
from refiner.resources import SETTINGS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for flag in settings.flags():
        parser.add_argument(*flag.names, **flag.arguments())
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(arguments: argparse.Namespace) -> int:
    from refiner import doctor

    given = {key: value for key, value in vars(arguments).items() if key not in ("run", "json")}
    checks = doctor.checks(os.environ, Path(SETTINGS), given)
    if arguments.json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        rows = [(_state(check), check.name, check.detail, "" if check.ok else check.fix) for check in checks]
        print(table(("", "check", "found", "fix"), rows, (8, 24, 52, 52)))
    return 1 if any(check.needed and not check.ok for check in checks) else 0


def _state(check: object) -> str:
    if getattr(check, "ok", False):
        return "ok"
    return "MISSING" if getattr(check, "needed", True) else "optional"
