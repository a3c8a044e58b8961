"""A skill against the Agent Skills specification and against itself: limits, fences, links, lost sections."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from refiner import merge, skills
from refiner.errors import SkillError
from refiner.skills.loading import MAIN
from refiner.types import Change, Finding, SkillVersion

LIMITS_FILE = Path(__file__).with_name("spec_limits.toml")
CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English text; only advice depends on it."""
_FOLDER = re.compile(r"`((?:references|scripts|assets)/)`")
_MENTION = re.compile(r"`((?:references|scripts|assets)/[\w./-]*\w)`")


@dataclass(frozen=True, slots=True)
class Problem:
    """`match` says what it is about; two problems with equal code and match are the same one in two versions."""

    code: str
    match: str
    words: str
    level: Literal["error", "warning"] = "error"


@cache
def limits() -> dict[str, Any]:
    """The limits with the date they were read (`as_of`)."""
    return tomllib.loads(LIMITS_FILE.read_text(encoding="utf-8"))


def check(
    base: SkillVersion,
    merged: SkillVersion | merge.Merged,
    *,
    folder: str | None = None,
    lint_front_matter: bool | None = None,
    change_id: str = "",
) -> list[Finding]:
    """Findings about a merged skill: what the merge brought in as errors, what the base had already as warnings.

    `folder` is the folder's name when known. Front matter of a main file that is no SKILL.md is only read on demand.
    """
    front = merged.main == MAIN if lint_front_matter is None else lint_front_matter
    before = {(found.code, found.match) for found in problems(base.files, base.main, folder, front)}
    findings = []
    for problem in [*problems(merged.files, merged.main, folder, front), *_lost_sections(base, merged.files)]:
        is_old = (problem.code, problem.match) in before
        severity: Literal["error", "warning"] = "warning" if is_old else problem.level
        owner = "base skill" if is_old else "merge"
        findings.append(Finding("" if is_old else change_id, "spec", severity, problem.match, owner, problem.words))
    return findings


def lint(change: Change, base: SkillVersion, **options: Any) -> list[Finding]:
    """What one change alone would bring in; empty when it cannot be placed. `options` as for `check`."""
    try:
        merged = merge.apply(base, [replace(change, edits=tuple(replace(edit, requires=()) for edit in change.edits))])
    except SkillError:
        return []
    return [found for found in check(base, merged, change_id=change.key, **options) if found.source == "merge"]


def problems(files: Mapping[str, bytes], main: str, folder: str | None, front: bool) -> list[Problem]:
    """Everything wrong with one version of a skill, front matter first."""
    found = list(_front_matter(files[main], folder)) if front else []
    found += _size(files[main]) if front else []
    for path in sorted(files):
        if path == main or path.lower().endswith(".md"):
            found += _markdown(path, files)
    return [*found, *_unreached(files, main)]


def _front_matter(data: bytes, folder: str | None) -> Iterator[Problem]:
    front = skills.front_matter(data)
    if front is None:
        yield Problem("front matter", "missing", "SKILL.md has no front matter: add `---`, name, description, `---`")
        return
    if front.problem:
        yield Problem("front matter", "unreadable", f"the front matter cannot be read: {front.problem}")
        return
    rules = limits()
    for key in rules["front_matter"]["required"]:
        if not str(front.values.get(key) or "").strip():
            yield Problem(key, "missing", f"the front matter has no {key}: write one")
    for key in sorted(front.values.keys() - set(rules["front_matter"]["allowed"])):
        allowed = ", ".join(rules["front_matter"]["allowed"])
        yield Problem(
            "key", key, f"front matter key {key!r} is not allowed; allowed are {allowed}. Move it to metadata"
        )
    yield from _values(front.values, folder)


def _values(values: Mapping[str, Any], folder: str | None) -> Iterator[Problem]:
    rules, name = limits(), str(values.get("name") or "")
    if name and not re.fullmatch(rules["name"]["pattern"], name):
        words = f"name {name!r} may hold a-z, 0-9 and single hyphens only: use {skills.slug(name)!r}"
        yield Problem("name", name, words)
    elif name and folder is not None and name != folder:
        yield Problem("name", name, f"name {name!r} must equal the name of its folder, {folder!r}")
    for key in ("name", "description", "compatibility"):
        text = str(values.get(key) or "")
        if len(text) > rules[key]["longest"]:
            words = f"{key} has {len(text)} characters, at most {rules[key]['longest']} are allowed: shorten it"
            yield Problem(f"{key} length", key, words)
    if values.get("description") == skills.DESCRIPTION_TO_WRITE:
        yield Problem("description", "to write", "the description is still to be written", "warning")


def body_size(data: bytes) -> tuple[int, int]:
    """Lines and estimated tokens of the text below the front matter."""
    read = skills.document(data)
    body = read.text(read.body, len(data))
    return sum(line.start >= read.body for line in read.lines), -(-len(body) // CHARACTERS_PER_TOKEN)


def _size(data: bytes) -> Iterator[Problem]:
    rules = limits()["body"]
    for unit, count in zip(("lines", "tokens"), body_size(data), strict=True):
        if count > rules[unit]:
            words = f"the body has about {count:,} {unit}; under {rules[unit]:,} is advised. Move detail to references/"
            yield Problem("size", unit, words, "warning")


def _markdown(path: str, files: Mapping[str, bytes]) -> Iterator[Problem]:
    try:
        read = skills.document(files[path])
    except SkillError:
        return
    for offset in read.open_fences:
        fence = read.text(offset, read.line_at(offset).end).strip()
        words = f"{path}: the code fence {fence!r} is never closed: add the closing line"
        yield Problem("fence", f"{path}: {fence}", words)
    for target in _links(read.text(read.body, len(read.data))):
        if not _resolves(target, path, files):
            words = f"{path}: {target} is not a file of the skill: add it or drop the link"
            yield Problem("link", f"{path}: {target}", words)


@lru_cache(maxsize=32)
def _links(text: str) -> tuple[str, ...]:
    """Relative targets of links and images, and files named in code marks, in order and once each."""
    from markdown_it import MarkdownIt

    found: list[str] = []
    for token in MarkdownIt("commonmark").parse(text):
        for child in token.children or ():
            found.append(str(child.attrs.get("href") or child.attrs.get("src") or ""))
            found += _MENTION.findall(f"`{child.content}`") if child.type == "code_inline" else []
    relative = [target for target in found if target and not target.startswith(("#", "/")) and not _is_url(target)]
    return tuple(dict.fromkeys(relative))


def _unreached(files: Mapping[str, bytes], main: str) -> Iterator[Problem]:
    """Files that nothing names, and those that an agent finds only by way of another file than the main one."""
    direct = _named(main, files)
    near, seen = set(direct), {main}
    while rest := sorted(near - seen):
        seen.add(rest[0])
        near |= _named(rest[0], files)
    for path in sorted(files.keys() - {main}):
        if path not in near and not _is_hidden(path):
            words = f"{path} is named nowhere in the skill: link it from {main}, or leave it out"
            yield Problem("orphan", path, words, "warning")
        elif path not in direct and path.lower().endswith(".md") and not _is_hidden(path):
            words = f"{path} is only reached by way of another file: link it from {main} as well"
            yield Problem("deep", path, words, "warning")


def _named(path: str, files: Mapping[str, bytes]) -> set[str]:
    """The files that a markdown file links or names, whole folders included."""
    if path not in files or not (path.lower().endswith(".md") or "/" not in path):
        return set()
    try:
        read = skills.document(files[path])
    except SkillError:
        return set()
    text = read.text(read.body, len(read.data))
    wanted = {one for target in _links(text) for one in _places(target, path)}
    said = {one for one in files if one in text or posixpath.basename(one) in text}
    wanted |= {folder.rstrip("/") for folder in _FOLDER.findall(text)}
    return {one for one in files if one != path and (one in said or any(_within(one, place) for place in wanted))}


def _is_hidden(path: str) -> bool:
    """Whether a file is no part of what an agent reads: dot files, and licences and read-mes beside a skill."""
    parts = path.split("/")
    return any(part.startswith(".") for part in parts) or parts[-1].upper().split(".")[0] in ("LICENSE", "README")


def _is_url(target: str) -> bool:
    try:
        return bool(urlsplit(target).scheme)
    except ValueError:
        return True


def _resolves(target: str, path: str, files: Mapping[str, bytes]) -> bool:
    """Whether a target is a file or folder of the skill, seen from the file that names it or from the skill's root."""
    return any(_within(name, place) for name in files for place in _places(target, path))


def _places(target: str, path: str) -> set[str]:
    """Where a target may lie: seen from the file that names it, or from the skill's root."""
    plain = unquote(re.split(r"[?#]", target)[0])
    return {posixpath.normpath(posixpath.join(start, plain)) for start in (posixpath.dirname(path), "")}


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}/")


def _lost_sections(base: SkillVersion, merged: Mapping[str, bytes]) -> Iterator[Problem]:
    """Sections of the base that the merge no longer has; a skeleton's may go, since an export leaves out empty ones."""
    for path in () if skills.is_skeleton(base) else sorted(base.files):
        if path.lower().endswith(".md") and path in merged and base.files[path] != merged[path]:
            for lost in _lost(base.files[path], merged[path]):
                name = " > ".join(lost)
                yield Problem("section", f"{path}: {name}", f"{path}: section {name!r} would be lost: keep its heading")


def _lost(base: bytes, merged: bytes) -> Sequence[tuple[str, ...]]:
    try:
        before, after = skills.sections(base), {section.path for section in skills.sections(merged)}
    except SkillError:
        return ()
    return [section.path for section in before if section.path and section.path not in after]
