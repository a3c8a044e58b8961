"""What lies in a skill's folder and its versions, of one moment, while other commands may be writing."""

from __future__ import annotations

from dataclasses import dataclass

from refiner.errors import SkillError
from refiner.installs.records import Tree, Version
from refiner.installs.store import Store


@dataclass(frozen=True, slots=True)
class Sight:
    """A skill at one moment: the package in its folder, and its versions, oldest first."""

    tree: Tree
    versions: tuple[Version, ...]

    @property
    def head(self) -> Version | None:
        return self.versions[-1] if self.versions else None


def look(store: Store) -> Sight:
    """The skill as it is between two writes: a write that is under way is waited for, never seen half done.

    Makes no file. Inside `store.locked()` nothing else writes, so nothing is waited for. Raises SkillError.
    """
    return _glance(store) or _waited(store)


def _glance(store: Store) -> Sight | None:
    """The skill without a lock; None when a write was seen. A write that ended meanwhile shows in the log."""
    versions = store.versions()
    try:
        tree = store.working()
    except SkillError:
        if store.writing() or store.versions() != versions:
            return None
        raise
    return None if store.writing() or store.versions() != versions else Sight(tree, versions)


def _waited(store: Store) -> Sight:
    """The skill with every writer kept out; where that is forbidden, as it lies there."""
    try:
        with store.locked():
            return Sight(store.working(), store.versions())
    except SkillError:
        return Sight(store.working(), store.versions())
