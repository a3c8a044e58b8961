"""Where the files that are not code lie. No other module computes such a path; nothing here reads or writes a file.

The product is installed editable from its checkout, so every path is relative to the folder that holds the package.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The checkout: the folder with pyproject.toml."""

PROMPTS = ROOT / "prompts"
PAGES = ROOT / "pages"
MIGRATIONS = ROOT / "storage" / "migrations"
SAMPLE_DATA = ROOT / "sample_data"
OWN_SKILL = ROOT / "refiner" / "installs" / "own" / "skill-refiner"
"""The skill that teaches a coding agent to use this product."""
LOCK = ROOT / "requirements.lock"
SETTINGS = "refiner.toml"
"""The name of the settings file, looked for in the working directory."""


def prompt_file(name: str) -> Path:
    """The file of the prompt `name`; it may not exist."""
    return PROMPTS / f"{name}.md"
