"""`refiner calibrate`: how steady the gate of a stored refinement is, and whether it tells planted faults apart."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from refiner.cli.console import safe
from refiner.reporting.calibration import as_plain, votes_words, words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="DIR", help="the output folder of a `refiner refine`")
    parser.add_argument("--db", type=Path, metavar="FILE", help="the database, when it lies elsewhere")
    parser.add_argument("--refinement", metavar="ID", help="the refinement (default: the latest)")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="proposals asked about again (default 20)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="times each is asked again (default 1)")
    parser.add_argument("--planted", action="store_true", help="also precision and recall on the sample's known faults")
    parser.add_argument("--transport", choices=("http", "handoff", "replay"), help="default: that of the refinement")
    parser.add_argument("--handoff-dir", type=Path, metavar="DIR", help="where requests are laid down and answered")
    parser.add_argument("--replay-dir", type=Path, metavar="DIR", help="a recording to answer from")
    parser.add_argument("--record", type=Path, metavar="DIR", help="keep requests and replies here")
    parser.add_argument("--yes", action="store_true", help="agree that text of traces is sent to the model's host")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(arguments: argparse.Namespace) -> int:
    from refiner.cli.refine import ask
    from refiner.workspace import calibrating, stored_config
    from refiner.workspace.folder import DATABASE

    database = arguments.db or (arguments.out or Path(".refiner")) / DATABASE
    report = calibrating.stored(database, arguments.refinement)
    given = {name: getattr(arguments, name) for name in ("transport", "handoff_dir", "replay_dir", "record")}
    chosen = {name: value for name, value in given.items() if value is not None}
    config = replace(stored_config(report.config), **chosen, yes=arguments.yes)
    if report.analyst != "offline":
        ask(config)
    wish = calibrating.Wish(max(1, arguments.most), max(1, arguments.repeats), arguments.planted)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    report = calibrating.run(database, arguments.out, report.refinement_id, wish, config, os.environ, now)
    if arguments.json:
        print(json.dumps(as_plain(report.calibration), indent=2, ensure_ascii=True))
    else:
        lines = [
            *words(report.calibration, offline=report.analyst == "offline"),
            votes_words(report.usage, config.votes),
        ]
        print("\n".join(safe(one) for one in lines if one))
    return 0
