"""A skill as a model sees it, and the edits of a reply as edits of that skill. Places nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refiner.analysts.model.budgets import head_and_tail, tokens
from refiner.analysts.model.redaction import Redactor, restore
from refiner.types import Edit, SkillVersion

_OTHERS = 0.3  # share of the room for a skill that its further files may take


@dataclass(frozen=True, slots=True)
class Shown:
    """`text`: the skill as it is sent. `values`: what the tokens in it stand for, to be put back into edits."""

    text: str
    values: dict[str, str]
    main: str
    paths: frozenset[str]


def show(skill: SkillVersion, redactor: Redactor, most: int) -> Shown:
    """The refined file whole where it fits, then other markdown files that do, then the names of the rest."""
    main = _decoded(skill.files[skill.main])
    others = sorted(path for path in skill.files if path != skill.main)
    readable = [path for path in others if path.lower().endswith(".md") and not path.lower().startswith("scripts/")]
    texts = [f"=== {skill.main}\n{main}" if others else main]
    left = int(most * _OTHERS)
    named = []
    for path in others:
        text = f"=== {path}\n{_decoded(skill.files[path])}" if path in readable else ""
        if text and tokens(text) <= left:
            texts.append(text)
            left -= tokens(text)
        else:
            named.append(path)
    if named:
        texts.append(f"Further files, not shown: {', '.join(named)}")
    text, values = redactor.found("\n\n".join(texts))
    return Shown(head_and_tail(text, most), values, skill.main, frozenset(skill.files))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def edits(replied: Sequence[Mapping[str, Any]], skill: Shown) -> tuple[Edit, ...]:
    """The edits of a reply, each once, with what was redacted from the skill put back."""
    return tuple(dict.fromkeys(_edit(one, skill) for one in replied))


def _edit(one: Mapping[str, Any], skill: Shown) -> Edit:
    path = one["path"].strip().removeprefix("./")
    if path not in skill.paths and (one["op"] != "create_file" or path.lower() == "skill.md"):
        path = skill.main
    section = tuple(restore(part, skill.values).strip().lstrip("#").strip() for part in one["section"] if part.strip())
    if section and section[0].startswith("==="):
        section = section[1:]
    new = "" if one["op"] == "delete" else restore(one["new"], skill.values)
    return Edit(path, one["op"], section, restore(one["old"], skill.values), new)
