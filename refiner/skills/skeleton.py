"""The base of a skill that does not exist yet. Its empty sections are left out of an export by `refiner.merge`."""

from __future__ import annotations

import json
import re
import unicodedata

from refiner.skills.frontmatter import front_matter
from refiner.types import SkillVersion

SECTIONS = ("Steps", "Checks", "Avoid")
DESCRIPTION_TO_WRITE = "TODO: say what this skill does and when to use it."
_LONGEST_NAME = 64


def slug(name: str) -> str:
    """A name that the specification allows: 1 to 64 of a-z, 0-9 and single hyphens."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_NAME].strip("-") or "new-skill"


def skeleton(name: str | None = None, description: str = DESCRIPTION_TO_WRITE) -> SkillVersion:
    """A SKILL.md with front matter, a title and three empty sections; the description is still to be written, unless
    one is given."""
    given = " ".join((name or "New skill").split())
    title = given[:1].upper() + given[1:].replace("-", " ") if given == slug(given) else given
    head = f"---\nname: {slug(given)}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n\n# {title}\n"
    text = head + "".join(f"\n## {section}\n" for section in SECTIONS)
    return SkillVersion(files={"SKILL.md": text.encode("utf-8", "replace")})


def is_skeleton(skill: SkillVersion) -> bool:
    """Whether the skill is an untouched skeleton (of any name and description)."""
    text = skill.files[skill.main].decode("utf-8", "replace")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    return bool(title) and _tail(text) == _tail(skeleton("x").files["SKILL.md"].decode())


def _tail(text: str) -> str:
    return re.sub(r"\A---\nname: [^\n]*\ndescription: [^\n]*\n|^# .+$", "", text, flags=re.MULTILINE)


def needs_description(skill: SkillVersion) -> bool:
    """Whether the description is still the skeleton's."""
    front = front_matter(skill.files[skill.main])
    return front is not None and front.values.get("description") == DESCRIPTION_TO_WRITE
