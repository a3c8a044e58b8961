"""Installing over what is there: adoption, hand edits, three-way merge, rollback. Files are the store's business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from refiner import carried
from refiner.errors import Conflict, SkillError
from refiner.installs.looking import look
from refiner.installs.package import Package
from refiner.installs.records import Files, Tree, Version, numbered
from refiner.installs.store import Entry, Store, digest
from refiner.installs.threeway import Choice, Woven, weave
from refiner.skills.loading import MAIN


@dataclass(frozen=True, slots=True)
class Status:
    """A skill's folder against its newest version. `head` None: no history yet. Paths are sorted."""

    head: Version | None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def edited(self) -> tuple[str, ...]:
        """Every file that differs from the newest version."""
        return tuple(sorted({*self.added, *self.changed, *self.removed}))


def status(store: Store) -> Status:
    """What changed in the folder since the last version."""
    seen = look(store)
    return Status(None) if seen.head is None else _compared(seen.head, seen.tree.files)


def _compared(head: Version, files: Files) -> Status:
    now = {path: digest(data) for path, data in files.items()}
    return Status(
        head,
        added=tuple(sorted(now.keys() - head.files.keys())),
        changed=tuple(sorted(path for path in now.keys() & head.files.keys() if now[path] != head.files[path])),
        removed=tuple(sorted(head.files.keys() - now.keys())),
    )


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an installation would do. `hand`: files edited since the last version. `barred`: why it takes a reason."""

    package: Package
    tree: Tree
    head: Version | None
    woven: Woven
    hand: tuple[str, ...]
    barred: str | None

    @property
    def adopts(self) -> bool:
        """Whether the skill lies there without a history, so that it becomes version 1 first."""
        return self.head is None and bool(self.tree.files)


def outlook(store: Store, package: Package) -> Outlook:
    """What `install` would do now; writes nothing. Raises SkillError."""
    seen = look(store)
    tree, head = seen.tree, seen.head
    if head is None and tree.files and MAIN not in tree.files:
        raise SkillError(f"{store.folder} holds files but no {MAIN}; choose another folder, or empty this one")
    hand = _compared(head, tree.files).edited if head and tree.files else ()
    mine = _mine(store, tree, head)
    woven = weave(_base(store, seen.versions, package), mine, package.files) if mine else weave({}, {}, package.files)
    return Outlook(package, tree, head, woven, hand, carried.exposed(package.provenance))


def _mine(store: Store, tree: Tree, head: Version | None) -> Files:
    """The owner's side; where SKILL.md is gone, all files that are gone count as lost, not as removed."""
    return {**store.files(head), **tree.files} if head and MAIN not in tree.files else tree.files


def _base(store: Store, versions: Sequence[Version], package: Package) -> Files:
    """What both sides come from: what this refinement brought last; else what it was made from; else what came last
    from outside. Unknown: nothing, so that every difference is shown."""
    past, refinement = _past(versions), package.provenance.get("refinement")
    outside = [one for one in past if one.source not in ("hand", "merge", "rollback")]
    same = [one for one in outside if refinement and one.more.get("refinement") == refinement]
    if package.base is not None and not same:
        return package.base
    return store.offered((same or outside)[0]) if outside else {}


def _past(versions: Sequence[Version]) -> list[Version]:
    """The newest version and what it comes from, newest first; a rollback comes from the version it brought back."""
    by_id = {one.id: one for one in versions}
    past: list[Version] = []
    at = versions[-1] if versions else None
    while at is not None:
        past.append(at)
        at = by_id.get(str(at.more.get("to") or (at.parents or ("",))[0]))
    return past


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installation did. `kept`: versions made of what lay there. Nothing differed: `new` is False."""

    version: Version
    new: bool
    kept: tuple[Version, ...] = ()
    files: tuple[str, ...] = field(default=())


def install(
    store: Store, package: Package, *, choices: Mapping[int, Choice] | None = None, override: str = "", note: str = ""
) -> Installed:
    """Puts a package into a folder and keeps it as a version; what lay there is kept as one too.

    Raises Conflict while a place that both sides changed is undecided, SkillError when the held-out tasks speak against
    the skill and no `override` says why it is installed all the same. Then nothing is written.
    """
    _decided(outlook(store, package), choices or {}, override)  # so that a refusal leaves no trace, not even a lock
    with store.locked():
        seen = outlook(store, package)
        files = _decided(seen, choices or {}, override)
        more = {"refinement": package.provenance.get("refinement"), "override": override.strip() if seen.barred else ""}
        known = store.files(seen.head) if seen.head else {}
        origin = carried.joined(store.origin(seen.head), known, package.origin, package.files, files)
        entry = Entry(_tree(files, seen), "installed", note or package.note, origin, _said(more), offered=package.files)
        return write(store, [*caught_up(store), entry])


def _decided(seen: Outlook, choices: Mapping[int, Choice], override: str) -> dict[str, bytes]:
    """The files to install. Raises like `install`."""
    if seen.barred and not override.strip():
        raise SkillError(f"{seen.barred}; nothing was installed. Give a reason to install it all the same")
    files = seen.woven.files(choices)
    if MAIN not in files:
        raise Conflict(f"these choices would leave the skill without its {MAIN}; nothing was written")
    return files


def _said(more: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in more.items() if value}


def _tree(files: Files, seen: Outlook) -> Tree:
    """The result with its executables: as they were, else as the package says, else what names its interpreter."""
    old, package = seen.tree, seen.package

    def runs(path: str) -> bool:
        given = path in package.executable or files[path].startswith(b"#!")
        return path in old.executable if path in old.files else given

    return Tree(files, frozenset(path for path in files if runs(path)))


def caught_up(store: Store) -> list[Entry]:
    """What lies in the folder and is in no version yet, as one: an adopted skill, or edits by hand."""
    tree, head = store.working(), store.head()
    if not tree.files:
        return []
    if head is None:
        return [Entry(tree, "adopted")]
    edited = _compared(head, tree.files).edited
    if not edited:
        return []
    origin = carried.moved(store.origin(head), store.files(head), tree.files)
    return [Entry(tree, "hand", ", ".join(edited), origin)]


def write(store: Store, entries: Sequence[Entry]) -> Installed:
    """Writes entries, the last one of which is what was asked for. Called inside `store.locked()`."""
    before = store.versions()
    version = store.write(entries)
    added = store.versions()[len(before) :]
    new = bool(added) and added[-1].source == entries[-1].source
    return Installed(version, new, added[:-1] if new else added, tuple(sorted(version.files)))


def rollback(store: Store, number: int, note: str = "") -> Installed:
    """Makes an earlier version the newest one again, as a new version. Raises SkillError when there is none such."""
    with store.locked():
        wanted = numbered(store.versions(), number)
        origin = carried.remembering(store.origin(wanted), store.origin(store.head()))
        entry = Entry(store.tree(wanted), "rollback", note or f"to version {number}", origin, {"to": wanted.id})
        return write(store, [*caught_up(store), entry])


def keep(store: Store, note: str = "") -> Installed | None:
    """Keeps what lies in the folder as a version when it is not one yet; None when it is."""
    with store.locked():
        entries = caught_up(store)
        return write(store, entries) if entries else None


def override_of(version: Version | None) -> str:
    """The reason for which a version was installed against the held-out tasks."""
    return str(version.more.get("override", "")) if version else ""


def refinement_of(store: Store, version: Version | None) -> str:
    """The refinement whose provenance a version carries, or nothing."""
    return str(carried.read_origin(store.origin(version)).get("refinement", ""))
