"""What SWE-agent, mini-swe-agent, OpenHands and the worlds of ReAct say when they did not do it. Knows no steps."""

from __future__ import annotations

import re

_REFUSED = re.compile(r"\s*\[?((?:Your proposed edit has introduced new syntax error|No exact match found in ).*)")
_NO_SUCH = re.compile(r"\s*(Invalid action\b.*)", re.IGNORECASE)
_TIMED_OUT = re.compile(r"\s*(EXECUTION TIMED OUT)\b")
_KILLED = re.compile(r"\s*The last command <command>.*?</command> (timed out and has been killed)", re.DOTALL)


def refused(observation: str) -> str | None:
    """The line with which a tool says that it did nothing, or that a command was stopped; None for all else."""
    found = next(filter(None, (one.match(observation) for one in (_REFUSED, _NO_SUCH, _TIMED_OUT, _KILLED))), None)
    return found.group(1).strip() if found else None
