"""Added lines that would make an agent fetch, run, reveal or ignore something. Flags them; a person decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from refiner.audits.added import added_lines, skill_text
from refiner.audits.injection_words import (
    CREDENTIALS,
    FORGETTING,
    HARMLESS_ASK,
    IGNORE,
    MID_SENTENCE,
    PROGRAMS,
    SHELL_FENCES,
)
from refiner.types import Change, Edit, Finding, SkillVersion

_PATTERNS = (
    ("a URL", re.compile(r"\b(?:https?|ftp|file|ssh|data|javascript):\S+|\bwww\.\S+", re.IGNORECASE)),
    (
        "a shell command",
        re.compile(rf"(?:^|[`$>|;&]\s*|\b(?:run|execute):?\s+){PROGRAMS}(?=\s)[^`\n]*", re.IGNORECASE),
    ),
    ("a shell command", re.compile(MID_SENTENCE)),
    ("a shell command", re.compile(r"\|\s*(?:ba|z)?sh\b|\$\([^)]*\)|&&\s*\w+|>\s*/(?:dev|etc|tmp)\S*")),
    ("a credential request", re.compile(CREDENTIALS, re.IGNORECASE)),
    ("an instruction to ignore others", re.compile(IGNORE, re.IGNORECASE)),
    ("hidden characters", re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\U000e0000-\U000e007f]+")),
    ("a hidden comment", re.compile(r"<!--.*?(?:-->|$)")),
)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*([\w-]*)")

Origin = Callable[[str], str]
"""External id of a trace in which a text stands, or ""."""


def injections(change: Change, base: SkillVersion, origin: Origin = lambda text: "") -> list[Finding]:
    """A hit for every suspicious piece of an added line that the base does not hold.

    What stands in a trace is quarantined, since text of a trace is data and never an instruction; the rest is flagged,
    naming the proposals it comes from.
    """
    known = skill_text(base)
    found: dict[str, Finding] = {}
    for edit, line, in_shell in _lines(change, base):
        for kind, match in suspicious(line, in_shell=in_shell):
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


def _lines(change: Change, base: SkillVersion) -> Iterator[tuple[Edit, str, bool]]:
    """Every added line, and whether it lies in a fence of shell commands."""
    fence = ""
    for edit, line in added_lines(change, base):
        if mark := _FENCE.match(line):
            fence = "" if fence else mark[1].lower() or "text"
            continue
        yield edit, line, fence in SHELL_FENCES


def suspicious(line: str, *, in_shell: bool = False) -> Iterator[tuple[str, str]]:
    """(kind, matching text) for everything in one line that could misuse an agent; in a shell fence, each command."""
    if in_shell and not line.lstrip().startswith("#"):
        yield "a shell command", line.strip().removeprefix("$ ")
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(line):
            if kind != "a credential request" or not _is_forbidden(line, match):
                yield kind, match.group().strip(" `.,;)")


def _is_forbidden(line: str, asks: re.Match[str]) -> bool:
    """Whether the line says not to ask."""
    before = line[: asks.end()]
    return bool(HARMLESS_ASK.search(before)) and not FORGETTING.search(before)


def _visible(match: str) -> str:
    return match if match.isprintable() else match.encode("unicode_escape").decode()
