"""`refiner distill`: conversations into a skill. Lists what it takes for attempts, or learns from them."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refiner import config as settings
from refiner.cli import refine
from refiner.cli.console import Progress, safe, table
from refiner.conversation_views import SIGNS
from refiner.reporting.closing import closing_lines

if TYPE_CHECKING:
    from refiner.episodes import Cut, Episode
    from refiner.transcripts import Transcripts
    from refiner.workspace.distilling import Distilled, Target

WAITING = 3
BUDGET = 6
_OWN = ("transcript", "target", "name", "trust_suggested", "description", "edit_budget", "json", "run")
_NOT_TAKEN = {"skill_file", "skill_name", "raw_jsonl", "binary_rewards", "ground_truth_file", "task_key", "pass_at"}
_NOT_TAKEN |= {"lower_is_better", "score", "columns", "edit_budget", "limit", "llm_provider", "db"}
_NOT_TAKEN |= {"holdout", "output_dir"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--transcript", type=Path, nargs="+", required=True, metavar="PATH", help="sessions, chats, or folders of them"
    )
    parser.add_argument("--name", required=True, help="the name of the skill")
    parser.add_argument("--target", required=True, metavar="DIR", help="the folder of skills it goes into")
    parser.add_argument("--description", default="", help="what a new skill does and when to use it")
    parser.add_argument(
        "--trust-suggested", action="store_true", help="take the outcomes that users' words suggest as given"
    )
    parser.add_argument(
        "--edit-budget", type=int, default=BUDGET, metavar="N", help=f"the most changes (default {BUDGET})"
    )
    parser.add_argument(
        "--holdout",
        metavar="X",
        help="the share of conversations held out (default 0.3 from 4 conversations on, else 0)",
    )
    parser.add_argument(
        "--out", dest="output_dir", metavar="PATH", help="the folder for the result (default .refiner/distill/NAME)"
    )
    for flag in settings.flags():
        if flag.dest not in _NOT_TAKEN:
            parser.add_argument(*flag.names, **flag.arguments())
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    from refiner.workspace import distilling, tools_for

    config = _load(arguments)
    target = distilling.target_of(arguments.name, arguments.target, arguments.description)
    refine.ask(config)
    tools = tools_for(config, os.environ)
    found = distilling.read(config, arguments.transcript, tools)
    if not arguments.trust_suggested or not found.gathered.traces:
        taken = distilling.spent(tools)
        lines = [*listed(found), *_spent(taken)]
        print(_json(found, target, taken=taken) if arguments.json else safe("\n".join(lines)))
        return WAITING if found.gathered.traces else 0
    done = distilling.distill(config, found, target, Progress(), tools)
    print(_json(found, target, done) if arguments.json else as_text(found, done))
    return 1 if done.result and done.result.report.failed else 0


def _load(arguments: argparse.Namespace) -> settings.RefineConfig:
    given = {key: value for key, value in vars(arguments).items() if key not in _OWN}
    given["edit_budget"] = arguments.edit_budget
    given["output_dir"] = arguments.output_dir or Path(".refiner", "distill", arguments.name)
    return refine.load(argparse.Namespace(**given))


def listed(found: Transcripts) -> list[str]:
    """What was found, a row an attempt, and how to go on."""
    lines = [summary(found), ""]
    rows = [_row(cut, one) for cut in found.cuts for one in cut.episodes]
    if not rows:
        return [*lines, *found.left_out(), "There is nothing to learn from: no user said how an attempt went."]
    lines += [table(("outcome", "why", "asked", "the user's words"), rows, (7, 12, 44, 56)), "", *found.left_out()]
    return [
        *lines,
        "These outcomes are suggestions, so nothing was learned from them yet. Two ways on:",
        "  accept or dismiss each in the browser: refiner app, then Corpus, upload the files, “Cut into episodes”",
        "  take all of them as they are: the same command with --trust-suggested",
    ]


def _spent(taken: dict[str, Any]) -> list[str]:
    """What reading the conversations took of a model, in one line; none when nothing new was asked."""
    if not taken:
        return []
    calls, cost = taken["calls"], taken["cost"]
    money = "cost unknown" if cost is None else f"{cost:.4f} {taken['currency']} (prices of {taken['prices_of']})"
    return [f"Spent on reading them: {calls} call{'s' * (calls != 1)}, {taken['tokens']:,} tokens, {money}."]


def summary(found: Transcripts) -> str:
    """The counts in one sentence."""
    statuses = [outcome.status for outcome in found.gathered.outcomes]
    parts = f"{statuses.count('fail')} failed and {statuses.count('pass')} passed, going by how the user took them"
    return f"{len(statuses)} attempts in {found.conversations} of {len(found.cuts)} conversations: {parts}."


def _row(cut: Cut, one: Episode) -> tuple[str, str, str, str]:
    return one.status, SIGNS[one.sign], _short(one.task, 160), _short(one.said, 200)


def _short(text: str, most: int) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= most else f"{folded[: most - 1]}…"


def as_text(found: Transcripts, done: Distilled) -> str:
    """What was learned, what went into the skill, and what waits for a person."""
    lines = [safe(summary(found)), ""]
    if done.result is None:
        return "\n".join([*lines, f"{done.target.folder} holds what these conversations say already."])
    report = done.result.report
    parts = [*refine.warnings_of(report), refine.changes_table(report), refine.diff_of(done.result)]
    closing = closing_lines(report, done.result.out)
    return "\n".join([*lines, *(part for part in parts if part), *closing, skill_line(done)])


def skill_line(done: Distilled) -> str:
    """What became of the skill."""
    if done.installed is None:
        return f"{done.target.folder}: nothing was written, since no change is in the proposed skill."
    verb = "made" if done.target.new else "now"
    return f"{done.target.folder}: {verb} version {done.installed.version.number}."


def _json(
    found: Transcripts, target: Target, done: Distilled | None = None, *, taken: dict[str, Any] | None = None
) -> str:
    body: dict[str, Any] = {
        "conversations": len(found.cuts),
        "trusted": done is not None,
        "episodes": [_plain(cut, one) for cut in found.cuts for one in cut.episodes],
        "skipped": found.skipped,
        "skill": str(target.folder),
        "installed": None,
        "refinement": None,
        "spent": taken or {},
    }
    if done is not None:
        body["installed"] = done.installed.version.number if done.installed else None
        body["refinement"] = json.loads(refine.as_json(done.result)) if done.result else None
    return json.dumps(body, indent=2, ensure_ascii=True)


def _plain(cut: Cut, one: Episode) -> dict[str, Any]:
    return {
        "conversation": cut.source.external_id,
        "attempt": one.number,
        "task": one.task,
        "outcome": one.status,
        "sign": one.sign,
        "said": one.said,
        "spans": [span.span_id for span in one.spans],
        "reaction": [span.span_id for span in one.reaction],
    }
