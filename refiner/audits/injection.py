"""Added lines that would make an agent fetch, run, reveal or ignore something. Flags them; a person decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from refiner.audits.added import added_lines, skill_text
from refiner.types import Change, Finding, SkillVersion

_SECRET = (
    r"(?:pass(?:word|phrase|code)|api[ _-]?key|access key|private key|secret|credential|token|login|pin|cvv|ssn)s?"
)
_ASK = r"(?:ask|request|enter|provide|send|share|paste|reveal|show|print|collect|give|type|submit|e-?mail|upload)"
_OTHERS = r"(?:instruction|rule|guideline|polic(?:y|ie)|prompt|direction|section|skill|message|safeguard|restriction)s?"
_IGNORE = (
    r"(?:ignore|disregard|forget|override|overrule|bypass|skip|supersedes?|instead of following"
    r"|do not (?:follow|obey|apply|heed))"
)
_PROGRAMS = (
    r"(?:curl|wget|bash|sh|zsh|sudo|rm\s+-\w+|chmod|chown|eval|exec|nc|ncat|ssh|scp|rsync|powershell|pwsh|iex"
    r"|invoke-\w+|python3?\s+-[cm]|perl\s+-e|node\s+-e|pip3?\s+install|npm\s+(?:install|i)|npx|apt(?:-get)?\s+install"
    r"|git\s+(?:clone|push|remote)|docker|crontab|dd\s+if=|mkfs|kill)"
)
_PATTERNS = (
    ("a URL", re.compile(r"\b(?:https?|ftp|file|ssh|data|javascript):\S+|\bwww\.\S+", re.IGNORECASE)),
    (
        "a shell command",
        re.compile(rf"(?:^|[`$>|;&]\s*|\b(?:run|execute):?\s+){_PROGRAMS}(?=\s)[^`\n]*", re.IGNORECASE),
    ),
    ("a shell command", re.compile(r"\|\s*(?:ba|z)?sh\b|\$\([^)]*\)|&&\s*\w+|>\s*/(?:dev|etc|tmp)\S*")),
    ("a credential request", re.compile(rf"\b{_ASK}\b[^.\n]{{0,60}}\b{_SECRET}\b", re.IGNORECASE)),
    ("an instruction to ignore others", re.compile(rf"\b{_IGNORE}\b[^.\n]{{0,60}}\b{_OTHERS}\b", re.IGNORECASE)),
    ("hidden characters", re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\U000e0000-\U000e007f]+")),
    ("a hidden comment", re.compile(r"<!--.*?(?:-->|$)")),
)


Origin = Callable[[str], str]
"""External id of a trace in which a text stands, or ""."""


def injections(change: Change, base: SkillVersion, origin: Origin = lambda text: "") -> list[Finding]:
    """A hit for every suspicious piece of an added line that the base does not hold.

    What stands in a trace is quarantined, since text of a trace is data and never an instruction; the rest is flagged,
    naming the proposals it comes from.
    """
    known = skill_text(base)
    found: dict[str, Finding] = {}
    for edit, line in added_lines(change, base):
        for kind, match in suspicious(line):
            if match not in known and match not in found:
                found[match] = _finding(change, edit.path, line, kind, match, origin(match))
    return list(found.values())


def _finding(change: Change, path: str, line: str, kind: str, match: str, trace: str) -> Finding:
    words = f"adds {kind} to {path}: {_visible(match)}"
    fix = "accept it only if you would write it yourself; else take it out"
    if trace:
        words = f"{words}, as it stands in trace {trace}"
        fix = "take it out, or release it with a reason"
    source = trace or f"proposals {', '.join(change.proposal_ids)}"
    severity: Literal["quarantine", "flag"] = "quarantine" if trace else "flag"
    return Finding(
        change.key, "injection", severity, _visible(match), source, f"{words}: {fix}", _visible(line.strip()), fix
    )


def suspicious(line: str) -> Iterator[tuple[str, str]]:
    """(kind, matching text) for everything in one line that could misuse an agent."""
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(line):
            yield kind, match.group().strip(" `.,;)")


def _visible(match: str) -> str:
    return match if match.isprintable() else match.encode("unicode_escape").decode()
