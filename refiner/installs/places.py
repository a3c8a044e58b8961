"""Where agents look for skills, and which skill a name means. Reads folders only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refiner import skills
from refiner.errors import SkillError, UsageError
from refiner.skills.loading import HISTORY, MAIN

PROJECT = Path(".claude/skills")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that holds skills, one a folder. `key` is its short name, empty for a folder of one's own choice."""

    key: str
    folder: Path
    words: str


@dataclass(frozen=True, slots=True)
class Found:
    """A skill in a place. `name` is the front matter's, `folder` where it lies (a link is not followed)."""

    place: Place
    folder: Path
    name: str

    @property
    def shown(self) -> str:
        """Its folder's name, and its own where that differs."""
        own = self.folder.name
        return own if self.name in ("", own) else f"{own} ({self.name})"


def known(here: Path | None = None) -> tuple[Place, ...]:
    """The folders where agents look, whether they exist or not, each once: the home folder is no project of its own."""
    places = _every(here)
    return places[:-1] if places[-1].folder == places[0].folder else places


def _every(here: Path | None = None) -> tuple[Place, ...]:
    home = Path.home()
    return (
        Place("claude", home / ".claude" / "skills", "for you, in Claude Code"),
        Place("codex", home / ".codex" / "skills", "for you, in Codex"),
        Place("agents", home / ".agents" / "skills", "for you, in other agents"),
        Place("project", _project(here or Path.cwd(), home), "for this project"),
    )


def _project(here: Path, home: Path) -> Path:
    """The nearest `.claude/skills` from here upwards, never that of the home folder; else the one to make here."""
    for folder in (here, *here.parents):
        if folder == home:
            break
        if (folder / PROJECT).is_dir():
            return folder / PROJECT
    return here / PROJECT


def place_of(target: str) -> Place:
    """The place that `--target` means: a short name, or any folder."""
    short = next((place for place in _every() if place.key == target), None)
    return short or Place("", Path(target).expanduser(), "the folder you named")


def is_skill(folder: Path) -> bool:
    """Whether a folder holds a skill, or the history of one whose SKILL.md is gone."""
    return (folder / MAIN).is_file() or (folder / HISTORY / "log.jsonl").is_file()


def name_of(folder: Path) -> str:
    """The name in a skill's front matter; empty when there is none or it cannot be read."""
    try:
        front = skills.front_matter((folder / MAIN).read_bytes())
    except OSError:
        return ""
    return " ".join(str(front.values.get("name") or "").split()) if front else ""


def found_in(places: Sequence[Place]) -> tuple[Found, ...]:
    """Every skill of these places, by place and folder name. A place that is a skill itself counts as one."""
    return tuple(found for place in places for found in _in(place))


def _in(place: Place) -> Iterator[Found]:
    if is_skill(place.folder):
        yield Found(place, place.folder, name_of(place.folder))
        return
    try:
        folders = sorted(place.folder.iterdir()) if place.folder.is_dir() else []
    except OSError as error:
        raise SkillError(f"{place.folder}: cannot be read ({error.strerror}); check its permissions") from error
    for folder in folders:
        if not folder.name.startswith(".") and is_skill(folder):
            yield Found(place, folder, name_of(folder))


def pick(name: str | None, target: str | None) -> Found:
    """The one skill that is meant. Raises UsageError naming what there is when it is none or several."""
    places = [place_of(target)] if target else list(known())
    there = found_in(places)
    if name and is_skill(Path(name)) and not target:
        folder = Path(name)
        return Found(Place("", folder, "the folder you named"), folder, name_of(folder))
    fitting = [one for one in there if name is None or one.folder.name == name]
    fitting = _once(fitting or [one for one in there if one.name == name])
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        options = ", ".join(str(one.folder) for one in fitting)
        raise UsageError(
            f"{'several skills are there' if name is None else f'{name} is there more than once'}: {options}"
        )
    looked = ", ".join(str(place.folder) for place in places)
    listed = f"; there are {', '.join(one.shown for one in there)}" if there else "; there is none"
    raise UsageError(f"no skill {name or ''} in {looked}{listed}".replace("  ", " "))


def _once(found: Sequence[Found]) -> list[Found]:
    """Without those that only a link leads to a second time."""
    return list({one.folder.resolve(): one for one in reversed(found)}.values())[::-1]


def where_to(name: str, target: str | None) -> Path:
    """The folder to install a skill into: where it lies already, else a new one of its name in the target.

    Raises UsageError listing the known places when no target is named and it is not installed in exactly one.
    """
    places = [place_of(target)] if target else list(known())
    there = _once([one for one in found_in(places) if name in (one.folder.name, one.name)])
    if len(there) == 1:
        return there[0].folder
    if target and not there:
        return _beneath(places[0].folder, name)
    listed = "\n".join(f"  --target {place.key:<8} {place.folder}  ({place.words})" for place in known())
    why = f"{name} is installed in several places" if there else f"{name} is not installed yet"
    raise UsageError(f"{why}; say where, with any folder of skills or one of these:\n{listed}")


def _beneath(folder: Path, name: str) -> Path:
    if is_skill(folder):
        raise UsageError(f"{folder} holds another skill ({name_of(folder) or folder.name}); name a folder of skills")
    return folder / name
