"""The arguments that say which score tells how a trace ended, and when it passes; the same for every command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from refiner.errors import UsageError

if TYPE_CHECKING:
    from refiner.labels import Threshold


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--score", metavar="NAME", help="the score of the traces that says how they ended")
    parser.add_argument(
        "--pass-at",
        type=float,
        metavar="X",
        help="a score passes from here, 0 to 1 without --score (default 1; 0 where lower is better)",
    )
    parser.add_argument("--lower-is-better", action="store_true", help="a score passes up to --pass-at, not from it on")


def threshold(arguments: argparse.Namespace) -> Threshold:
    """When a score passes. Raises UsageError for a limit that no outcome from 0 to 1 could be measured by."""
    from refiner.labels import Threshold

    below, given = arguments.lower_is_better, arguments.pass_at
    if given is not None and arguments.score is None and not 0 <= given <= 1:
        raise UsageError(f"--pass-at: {given!r} is out of range; without --score it must be between 0 and 1")
    return Threshold((0.0 if below else 1.0) if given is None else given, below)
