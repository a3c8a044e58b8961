"""Skill Refiner: recorded agent runs in, a better SKILL.md out, with every changed line explained.

from refiner import RefineConfig, refine
result = refine(RefineConfig(raw_jsonl=(Path("traces.jsonl"),), ...))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refiner.config import RefineConfig
    from refiner.reporting.report import Result
    from refiner.workspace import refine

__all__ = ["RefineConfig", "Result", "refine"]

_HOMES = {"RefineConfig": "refiner.config", "Result": "refiner.reporting.report", "refine": "refiner.workspace"}


def __getattr__(name: str) -> Any:
    """The public names, imported when first used: `import refiner` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'refiner' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
