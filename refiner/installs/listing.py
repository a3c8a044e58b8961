"""What is installed where, and what differs between two versions, as values for a front end. Writes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from refiner import merge
from refiner.errors import SkillError
from refiner.installs.installing import Status, status
from refiner.installs.looking import look
from refiner.installs.places import Found, Place, found_in, known, place_of
from refiner.installs.records import Files, Version, numbered
from refiner.installs.store import Store, store_of


@dataclass(frozen=True, slots=True)
class Listed:
    """A skill on one line. `state` says in words how its folder stands to its newest version."""

    found: Found
    status: Status
    state: str


@dataclass(frozen=True, slots=True)
class Listing:
    places: tuple[Place, ...]
    skills: tuple[Listed, ...]

    @property
    def empty(self) -> tuple[Place, ...]:
        """The places without a skill."""
        used = {one.found.place.folder for one in self.skills}
        return tuple(place for place in self.places if place.folder not in used)


def listing(target: str | None = None) -> Listing:
    """The skills of one place, or of every place where agents look."""
    places = (place_of(target),) if target else known()
    return Listing(places, tuple(_listed(found) for found in found_in(places)))


def _listed(found: Found) -> Listed:
    try:
        state = status(store_of(found.folder))
    except SkillError as error:
        return Listed(found, Status(None), f"cannot be read: {error}")
    return Listed(found, state, _words(state))


def _words(found: Status) -> str:
    if found.head is None:
        return "no history yet"
    edited = len(found.edited)
    return f"edited by hand ({edited} file{'s' * (edited != 1)})" if edited else "as installed"


@dataclass(frozen=True, slots=True)
class Compared:
    """Two states of a package: their names for a person, their files, and the patch from one to the other."""

    first: str
    last: str
    before: Files
    after: Files

    @property
    def diff(self) -> str:
        return merge.diff(self.before, self.after)


def compared(store: Store, first: int | None = None, last: int | None = None) -> Compared:
    """Two versions, or a version and what lies in the folder. Raises SkillError for a version that is not there.

    Without `last`: what lies there. Without `first`: the version before `last`, or the newest one when the folder was
    edited since, else the one before that.
    """
    versions = store.versions()
    if not versions:
        raise SkillError(f"{store.folder}: no version was kept yet, so there is nothing to compare with")
    edited = bool(status(store).edited)
    if first is None:
        first = max(1, last - 1) if last else len(versions) if edited else max(1, len(versions) - 1)
    old = numbered(versions, first)
    if last is None:
        return Compared(named(old), "what lies there now", store.files(old), look(store).tree.files)
    new = numbered(versions, last)
    return Compared(named(old), named(new), store.files(old), store.files(new))


def named(version: Version) -> str:
    return f"version {version.number}"
