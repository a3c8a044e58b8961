"""Prompts as files: markdown with front matter that names the inputs and the schema of the reply.

Nothing here talks to a model or knows what a prompt is for. Values are put in as they are, in one pass: text that comes
from a trace or a skill is never expanded, and never leaves the fence that a prompt draws around it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from refiner import resources
from refiner.errors import PromptError
from refiner.ids import content_key

FENCE = "fence"
"""The input that holds the marker line around untrusted text."""

_SLOT = re.compile(r"\{\{([a-z_]+)\}\}")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n(.*)\Z", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `inputs` = {name: what it holds}, `reply` = JSON schema, `prompt_hash` changes with any byte."""

    name: str
    inputs: Mapping[str, str]
    reply: Mapping[str, Any]
    text: str
    prompt_hash: str

    def render(self, **values: str) -> str:
        """The text with every `{{name}}` replaced by its value.

        Raises PromptError when a value is missing or unknown, or when the fence marker is no single line or occurs
        in another value (see `fence_for`).
        """
        self._check(values)
        return _SLOT.sub(lambda slot: values[slot[1]], self.text)

    def _check(self, values: Mapping[str, str]) -> None:
        _compare(self.name, "value", set(values), set(self.inputs))
        marker = values.get(FENCE)
        if marker is None:
            return
        if not marker.strip() or "\n" in marker:
            raise PromptError(f"{self.name}: the fence marker must be one line that is not empty")
        for name, value in values.items():
            if name != FENCE and marker in value:
                raise PromptError(f"{self.name}: the fence marker occurs in the value of {name}; use fence_for(...)")


def _compare(name: str, what: str, found: set[str], declared: set[str]) -> None:
    missing, unknown = sorted(declared - found), sorted(found - declared)
    if missing:
        raise PromptError(f"{name}: no {what} for {', '.join(missing)}")
    if unknown:
        raise PromptError(f"{name}: {what} for {', '.join(unknown)}, which is no declared input")


def fence_for(*texts: str) -> str:
    """A marker line that occurs in none of the texts: equal for equal texts, not to be guessed by their authors."""
    attempt = 0
    while (marker := f"=====[ {content_key('fence', texts, attempt)} ]=====") in "\n".join(texts):
        attempt += 1
    return marker


@cache
def load(name: str) -> Prompt:
    """The prompt `name` of the prompts folder. Raises PromptError when the file is missing or not well formed."""
    try:
        content = resources.prompt_file(name).read_text(encoding="utf-8")
    except OSError:
        raise PromptError(f"{name}: there is no such prompt; there are {', '.join(names())}") from None
    return parse(name, content)


def names() -> list[str]:
    """The prompts there are, sorted."""
    return sorted(path.stem for path in resources.PROMPTS.glob("*.md"))


def parse(name: str, content: str) -> Prompt:
    """The prompt that a file's `content` describes. Raises PromptError, saying what is wrong with it."""
    match = _FRONT_MATTER.match(content)
    if match is None:
        raise PromptError(f"{name}: the file must begin with front matter between two lines of ---")
    head = _front_matter(name, match[1])
    text = match[2].strip() + "\n"
    if "{{" in _SLOT.sub("", text):
        raise PromptError(f"{name}: a placeholder is not of the form {{{{name}}}} (lower-case letters and underscores)")
    _compare(name, "placeholder", set(_SLOT.findall(text)), set(head["inputs"]))
    return Prompt(
        name=name,
        inputs=MappingProxyType(head["inputs"]),
        reply=MappingProxyType(head["reply"]),
        text=text,
        prompt_hash=content_key("prompt", name, content),
    )


def _front_matter(name: str, text: str) -> dict[str, dict[str, Any]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        head = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise PromptError(f"{name}: the front matter is not valid YAML: {error}") from None
    if not isinstance(head, dict) or any(not isinstance(head.get(key), dict) for key in ("inputs", "reply")):
        raise PromptError(f"{name}: the front matter needs `inputs` (name: what it holds) and `reply` (a JSON schema)")
    return head
