"""The command line: parses, calls, prints. The only place that prints; no domain logic.

Exit codes: 0 done, 1 failed, 2 usage, 3 waiting, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Sequence

from refiner.cli.console import safe
from refiner.errors import RefinerError

COMMANDS = {
    "refine": "refine a skill from recorded traces",
    "distill": "conversations with an agent into a skill: what users corrected, by the same gate",
    "app": "the review app in the browser: from upload to an exported skill",
    "inspect": "what is in trace files: formats, counts, outcomes, rejected records",
    "ingest": "traces and labels into a corpus of the review app, for files too large to upload",
    "labels": "outcomes that signs in the runs suggest; none counts before it is accepted",
    "convert": "trace files of any format as the three canonical files: traces, outcomes, feedback",
    "doctor": "what is installed, what would be used, what is missing and how to fix it",
    "calibrate": "how steady the gate's verdicts are: asked again, shuffled, and on planted faults",
    "holdout": "what the held-out tasks say: sealed until opened on purpose, once",
    "export": "write the output tree of a stored refinement again",
    "skills": "installed skills: versions, differences, rollback, merge, install",
    "ablate": "the method with one part switched off at a time, in one table",
}
INTERRUPTED = 130


def _parsed(parser: argparse.ArgumentParser, given: list[str]) -> argparse.Namespace:
    """What was asked for; optional names behind options are moved before them, where argparse finds them."""
    known, late = parser.parse_known_args(given)
    if not late:
        return known
    if "--" in given or any(word.startswith("-") for word in late):
        return parser.parse_args(given)  # ends with what it does not know
    lead = next((at for at, word in enumerate(given) if word.startswith("-")), len(given))
    rest = given[lead:]
    for word in reversed(late):
        del rest[len(rest) - 1 - rest[::-1].index(word)]
    return parser.parse_args([*given[:lead], *late, *rest])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser(given[:1])
    arguments = _parsed(parser, given)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal of another encoding shows ? instead of failing
    try:
        return int(arguments.run(arguments))
    except RefinerError as error:
        print(safe(f"refiner: {error}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nrefiner: interrupted; finished work is kept, the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def build_parser(wanted: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser; only the wanted command's module is imported."""
    parser = argparse.ArgumentParser(
        prog="refiner",
        description="Recorded agent runs in, a better SKILL.md out, with every changed line explained.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, help_text in COMMANDS.items():
        command = commands.add_parser(name, help=help_text, description=help_text[0].upper() + help_text[1:] + ".")
        if name in wanted:
            module = importlib.import_module(f"refiner.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
