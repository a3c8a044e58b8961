"""Small skills to install, and what a folder holds, for the tests of installed skills."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from refiner.installs.package import Package, package_of
from refiner.installs.store import Store, store_of

FRONT = "---\nname: demo\ndescription: How to do the demo.\n---\n\n"


def skill(*lines: str, name: str = "demo") -> bytes:
    """A SKILL.md with these lines as its body."""
    return (FRONT.replace("demo\n", f"{name}\n", 1) + "# Demo\n\n" + "".join(f"{line}\n" for line in lines)).encode()


def package(*lines: str, base: Mapping[str, bytes] | None = None, **more: bytes) -> Package:
    """A package of one SKILL.md (and `more` files), made from `base`."""
    made = package_of({"SKILL.md": skill(*lines), **more}, None)
    return Package(made.files, base=base, name=made.name)


def opened(folder: Path) -> Store:
    """The store of a folder, with a clock that stands still."""
    return store_of(folder, clock=lambda: "2026-01-01T00:00:00+00:00")


def text(folder: Path, path: str = "SKILL.md") -> str:
    return (folder / path).read_bytes().decode()
