"""A merge of two installed skills: the text by `folding`, and both histories in one log. Screens live elsewhere."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass

from refiner import carried
from refiner.errors import SkillError
from refiner.installs.folding import SIMILARITY, Folded, fold
from refiner.installs.installing import Installed, caught_up, write
from refiner.installs.looking import look
from refiner.installs.records import Tree, Version
from refiner.installs.store import Entry, Store
from refiner.skills.loading import MAIN


@dataclass(frozen=True, slots=True)
class Joined:
    """What a merge of two skills did: the new version of the destination, and what became of the source's lines."""

    installed: Installed
    folded: Folded
    deleted: bool


def join(source: Store, destination: Store, *, similarity: float = SIMILARITY, delete_source: bool = False) -> Joined:
    """Merges the source into the destination, which gets the source's versions too. The source stays unless asked.

    Raises SkillError when both are one skill, or one has no readable SKILL.md; then nothing is written.
    """
    foresee(source, destination, similarity)  # so that a refusal leaves no trace
    with ExitStack() as locks:
        for store in sorted((source, destination), key=lambda one: str(one.folder)):
            locks.enter_context(store.locked())
        folded = _fold(source, destination, similarity)
        installed = _written(source, destination, folded, similarity)
        if delete_source:
            shutil.rmtree(source.folder)
    return Joined(installed, folded, delete_source)


def foresee(source: Store, destination: Store, similarity: float = SIMILARITY) -> Folded:
    """What `join` would make of these two skills as they lie there; writes nothing. Raises SkillError like it."""
    if source.folder == destination.folder:
        raise SkillError(f"{source.folder} is both source and destination; name two skills")
    return _fold(source, destination, similarity)


def _fold(source: Store, destination: Store, similarity: float) -> Folded:
    return fold(_whole(destination), _whole(source), source.folder.name, similarity)


def _whole(store: Store) -> Tree:
    tree = look(store).tree
    if MAIN not in tree.files:
        raise SkillError(f"{store.folder} has no {MAIN}; a merge takes two whole skills")
    return tree


def _written(source: Store, destination: Store, folded: Folded, similarity: float) -> Installed:
    """What lies in both folders becomes a version of each; then the source's versions and the merge join the log."""
    theirs, mine = (_newest(store) for store in (source, destination))
    known = {one.id for one in destination.versions()}
    if theirs.id in known and destination.files(mine) == folded.tree.files:
        return Installed(mine, new=False)
    name, files = source.folder.name, folded.tree.files
    before, after = (source.origin(theirs), source.files(theirs)), (destination.origin(mine), destination.files(mine))
    more = {"from": name, "similarity": similarity, "folded": len(folded.folded)}
    origin = carried.together(*after, *before, files)
    merged = Entry(folded.tree, "merge", f"with {name}", origin, more, (mine.id, theirs.id))
    return write(destination, [*(_entry(source, one) for one in source.versions()), merged])


def _newest(store: Store) -> Version:
    waiting = caught_up(store)
    return store.write(waiting) if waiting else store.versions()[-1]


def _entry(store: Store, one: Version) -> Entry:
    """A version as an entry that becomes the same version in another log."""
    more = {key: value for key, value in one.more.items() if key != "offered"}
    offered = store.offered(one) if "offered" in one.more else None
    return Entry(store.tree(one), one.source, one.note, store.origin(one), more, one.parents, one.at, offered)
