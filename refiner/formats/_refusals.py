"""What the tools of SWE-agent and of OpenHands, which took them over, say when they did not do it. Knows no steps."""

from __future__ import annotations

import re

_REFUSED = re.compile(r"\s*\[?((?:Your proposed edit has introduced new syntax error|No exact match found in ).*)")
_TIMED_OUT = re.compile(r"\s*(EXECUTION TIMED OUT)\b")


def refused(observation: str) -> str | None:
    """The line with which a tool says that it did nothing, or that a command was stopped; None for all else."""
    found = _REFUSED.match(observation) or _TIMED_OUT.match(observation)
    return found.group(1).strip() if found else None
