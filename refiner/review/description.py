"""The description of a skill that starts from nothing: a change that only a person can write.

A skeleton's description says that it is to be written. Among the changes of a report there is then one more, which is
kept out by a finding until it is edited; from there on it is decided, undone and exported like any other.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from refiner import merge, skills
from refiner.audits.spec import limits
from refiner.errors import DecisionRefused
from refiner.reporting.report import FOR_A_PERSON, Report
from refiner.skills.outline import FRONT_MATTER
from refiner.types import Change, Edit, Finding

INTENT = "Write the description of the skill"
TO_WRITE = "to write"
"""What the check of the specification says it is about."""
WORDS = "the description is still to be written: say what the skill does and when to use it"
_WHY = "An agent decides by the description alone whether it reads a skill."
_OLD = json.dumps(skills.DESCRIPTION_TO_WRITE)
BLANK = json.dumps("")
"""What stands in a change where a person is to write the description."""
_VALUE = re.compile(r'(?m)^((?:description: )?)("(?:[^"\\]|\\.)*")$')
_LAST = (FOR_A_PERSON, 0)


def with_description(report: Report) -> Report:
    """The report with that change among its changes when the base waits for one and there is something to export."""
    if not report.changes or not skills.needs_description(report.base):
        return report
    edit = Edit(report.base.main, "replace", FRONT_MATTER, old=_OLD, new=BLANK)
    made = merge.settle(report.base, [Change((edit,), (), _WHY, _LAST)])[0]
    if made.unplaced:
        return report
    held = Finding(made.key, "spec", "error", TO_WRITE, "base skill", WORDS)
    return replace(report, changes=(*report.changes, made), findings=(*report.findings, held))


def is_description(change: Change) -> bool:
    """Whether this is that change, or one that adds a description that is missing, as nobody has edited it."""
    if change.rank[0] != FOR_A_PERSON or len(change.edits) != 1:
        return False
    found = _VALUE.search(change.edits[0].new)
    return found is not None and found[2] == BLANK


def amended(change: Change, text: str) -> tuple[Edit, ...]:
    """Its edits with a description, on one line. Raises DecisionRefused when it is empty or too long."""
    line, longest = " ".join(text.split()), limit()
    if not line or line == skills.DESCRIPTION_TO_WRITE:
        raise DecisionRefused(WORDS, "blocked")
    if len(line) > longest:
        words = f"the description has {len(line):,} characters, at most {longest:,} are allowed; shorten it"
        raise DecisionRefused(words, "blocked")
    return (named(change.edits[0], line),)


def named(edit: Edit, line: str) -> Edit:
    """The edit with this description where it writes one."""
    written = json.dumps(line, ensure_ascii=False)
    return replace(edit, new=_VALUE.sub(lambda found: found[1] + written, edit.new, count=1))


def limit() -> int:
    """The most characters of a description, by the specification."""
    return int(limits()["description"]["longest"])


def text_of(edits: tuple[Edit, ...]) -> str:
    """The description that edits of such a change write; empty while nobody has written one."""
    found = _VALUE.search(edits[0].new)
    return str(json.loads(found[2])) if found else ""
