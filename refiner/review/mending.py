"""What is wrong with the front matter of the start skill, as changes that a person decides on: one for each mistake.

Only mistakes that can be mended without knowing more, and a description, whose text a person writes. No run asks for
these changes, so no automatic merge takes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from refiner import merge, skills
from refiner.audits.spec import Problem, limits, problems
from refiner.errors import SkillError
from refiner.reporting.report import FOR_A_PERSON, Report
from refiner.review.description import BLANK, is_description, named
from refiner.skills.loading import MAIN
from refiner.skills.outline import FRONT_MATTER
from refiner.types import Change, Edit, SkillVersion

_TOP = re.compile(r"(?m)^(?=[^\s#])")
_SAMPLE = "What it does, and when to use it."


def mendings(base: SkillVersion) -> tuple[Change, ...]:
    """A change for each mistake in the front matter of a SKILL.md that can be mended, each of which mends it alone."""
    if base.main != MAIN:
        return ()
    before = problems(base.files, base.main, None, True)
    ranks = count(1)
    drafts = [Change(edits, (), why, (FOR_A_PERSON, next(ranks))) for why, edits in _drafts(base, before)]
    return tuple(made for made in merge.settle(base, drafts) if _mends(base, made, before))


def with_mendings(report: Report) -> Report:
    """The report with these changes after its own, when there is something to export."""
    return replace(report, changes=(*report.changes, *mendings(report.base))) if report.changes else report


def is_mending(change: Change) -> bool:
    """Whether a change is one of these."""
    return change.rank[0] == FOR_A_PERSON and change.rank[1] > 0


def _mends(base: SkillVersion, made: Change, before: list[Problem]) -> bool:
    """Whether the skill has fewer mistakes with the change, and none that it did not have."""
    if made.unplaced:
        return False
    edits = tuple(named(one, _SAMPLE) for one in made.edits) if is_description(made) else made.edits
    try:
        after = problems(merge.apply(base, [replace(made, edits=edits)]).files, base.main, None, True)
    except SkillError:
        return False
    return len(after) < len(before) and {(one.code, one.match) for one in after} <= {
        (one.code, one.match) for one in before
    }


def _drafts(base: SkillVersion, found: list[Problem]) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    front = skills.front_matter(base.files[base.main])
    by_code = {one.code: one.words for one in reversed(found)}
    keys = [one.match for one in found if one.code == "key"]
    if front is None:
        if "front matter" in by_code and (title := _title(base)):
            yield by_code["front matter"], _whole(base, title)
        return
    if front.problem:
        return
    text = base.files[base.main][front.own_start : front.own_end].decode("utf-8", "replace").replace("\r\n", "\n")
    if by_code.keys() & {"name", "name length"} and (edit := _name(base, text, str(front.values.get("name") or ""))):
        yield by_code.get("name") or by_code["name length"], (edit,)
    if ("description", "missing") in {(one.code, one.match) for one in found}:
        yield by_code["description"], (_set(base, text, "description", BLANK),)
    if keys:
        why = f"keys that the specification does not allow in front matter, kept under metadata: {', '.join(keys)}"
        yield why, _moved(base, text)


def _name(base: SkillVersion, text: str, given: str) -> Edit | None:
    name = skills.slug(given) if given else _title(base)
    return _set(base, text, "name", name) if name else None


def _title(base: SkillVersion) -> str:
    """A name made of the first heading; empty without one."""
    heading = next((one.path[-1] for one in skills.sections(base.files[base.main]) if one.level > 0), "")
    return skills.slug(heading) if heading else ""


def _whole(base: SkillVersion, name: str) -> tuple[Edit, ...]:
    """Front matter on top of a file that has none; nothing that can be placed where text stands before a heading."""
    return (Edit(base.main, "append_to_section", (), new=f"---\nname: {name}\ndescription: {BLANK}\n---"),)


def _set(base: SkillVersion, text: str, key: str, value: str) -> Edit:
    """A key with its value: in place of its line when there is one, else at the end."""
    old = re.search(rf"(?m)^{key}[ \t]*:.*$", text)
    line = f"{key}: {value}"
    if old is None:
        return Edit(base.main, "append_to_section", FRONT_MATTER, new=line)
    return Edit(base.main, "replace", FRONT_MATTER, old=old[0], new=line)


def _moved(base: SkillVersion, text: str) -> tuple[Edit, ...]:
    """Keys that are not allowed, indented under metadata: each is cut out, and all stand where the first one stood."""
    allowed = limits()["front_matter"]["allowed"]
    blocks = [part for part in _TOP.split(text) if ":" in part]
    strangers = [part for part in blocks if _key(part) not in allowed]
    own = next((part for part in blocks if _key(part) == "metadata"), None)
    below = "".join(f"  {line}\n" if line else "\n" for part in strangers for line in part.rstrip("\n").split("\n"))
    if own is None:
        first, rest = strangers[0], strangers[1:]
        put = Edit(base.main, "replace", FRONT_MATTER, old=first, new=f"metadata:\n{below}")
    else:
        rest, put = strangers, Edit(base.main, "replace", FRONT_MATTER, old=own, new=own.rstrip("\n") + f"\n{below}")
    return (put, *(Edit(base.main, "delete", FRONT_MATTER, old=part) for part in rest))


def _key(block: str) -> str:
    return block.partition(":")[0].strip().strip("\"'")
