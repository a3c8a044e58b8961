"""What an evaluator said, as classes that many runs share: typed differences, failing tests, templates of free lines.

Literals never survive in a class; action, argument and test names do. No counting, no traces here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from refiner.behaviours import literal, typed, value_types
from refiner.behaviours.names import clean

MAX_CLASSES = 8
LONGEST_LINE = 160
"""A longer line of prose gives no class: it is about one run."""
_READ = 1_000  # signs read of a line
OUTPUT_MISSING = "expected output not given"

_STRUCTURED = re.compile(r"(Missing action|Unexpected action|Wrong argument|Failing test): *(.+)", re.I)
_OUTPUT = re.compile(r"Expected output not given\b.*", re.I)
_EXPECTED_GOT = re.compile(
    r"(?:^|.*?[\s:(,])expected(?: to (?:be|equal|have|see))?:? +(?P<wanted>.+?)[,;.]? *(?:\(|\b)"
    r"(?:but )?(?:got|found|was|received|saw|had|actual(?: was)?)\b:? +(?P<got>.+?)[).;]*$",
    re.I,
)
_ASSERTION = re.compile(r"(?:E +)?(?:AssertionError: )?assert (?P<got>.+?) == (?P<wanted>.+)")
_TEST = re.compile(
    r"(?:FAILED|ERROR) +\S+?::(?P<pytest>[\w:]+)|^(?:FAIL|ERROR): (?P<unittest>\w+)|--- FAIL: (?P<go>\w+)"
    r"|<testcase\b[^>]*?\bname=\"(?P<junit>\w+)[^>]*>(?=\s*<(?:failure|error))|^(?P<verbose>test_?\w+)\b.*\b(?:FAIL|FAILED)$"
    r"|^not ok \d+ -? ?(?P<tap>\w+)$|^[✗✘×] (?P<mark>\w+)$"
)
_NAME_AT_START = re.compile(r"[\w/-]+(?:[.:]\w[\w\[\]*/-]*)*")
_TEST_NAME = re.compile(r"[\w.]*\w")
_RESERVED = re.compile(r"(?:missing|unexpected|wrong|failing|expected|when) ")
_ACTION = re.compile(r"(?:missing|unexpected) (?P<action>\S.*)|wrong (?P<wrong>[^.]+)\..+")
_ARTICLE = re.compile(r"^(?:an?|the|some|to be|value|of type) +", re.I)
_NOUN_NEXT = re.compile(r" (?!(?:in|for|of|at|with|from|to|but|and|or)\b)[A-Za-z]{2}")  # "number format" is no number
_NAMED = {
    "formula": "<formula>", "number": "<num>", "integer": "<num>", "int": "<num>", "float": "<num>",
    "date": "<date>", "datetime": "<date>", "text": "<str>", "string": "<str>", "str": "<str>",
    "range": "<range>", "id": "<id>", "identifier": "<id>", "path": "<path>", "file": "<path>",
    "nothing": "<none>", "none": "<none>", "null": "<none>", "empty": "<none>", "blank": "<none>", "nan": "<none>",
    "true": "<bool>", "false": "<bool>", "bool": "<bool>", "boolean": "<bool>", "list": "<list>", "array": "<list>",
}  # fmt: skip


def classes(text: str) -> tuple[str, ...]:
    """The distinct classes of a feedback text in order of appearance, at most 8."""
    found = dict.fromkeys(name for line in _lines(text) if (name := _class(line)))
    return tuple(found)[:MAX_CLASSES]


def normalise(text: str) -> str:
    """The text with every literal replaced by its typed placeholder, line by line, each cut at 1,000 signs."""
    return "\n".join(_normal(line) for line in _lines(text))


def _normal(line: str) -> str:
    """One typed line; the names of a structured one stay, and bare values after `expected` and `got` go."""
    structured = _STRUCTURED.fullmatch(line)
    name = structured and _NAME_AT_START.match(structured.group(2))
    if structured and name:
        return f"{structured.group(1)}: {name[0]}{_normal_values(structured.group(2)[name.end() :])}"
    return _normal_values(line)


def _normal_values(text: str) -> str:
    values = _EXPECTED_GOT.fullmatch(text)
    if not values:
        return typed(text)
    before, between = text[: values.start("wanted")], text[values.end("wanted") : values.start("got")]
    return f"{typed(before)} {_kind(values['wanted'])}{between}{_kind(values['got'])}"


def action(name: str) -> str | None:
    """The action that a class is about; None for a class that names none."""
    match = _ACTION.fullmatch(name)
    return (match["action"] or match["wrong"]) if match else None


def opposite(first: str, second: str) -> bool:
    """Whether two classes are `missing X` and `unexpected X` of one action."""
    kinds = {first.split(" ", 1)[0], second.split(" ", 1)[0]}
    return kinds == {"missing", "unexpected"} and action(first) == action(second)


def counterpart(name: str, text: str = "") -> str | None:
    """The behaviour that a class describes, as canonical text; None where there is none.

    `text` is the feedback the class was read from: a wrong argument has a counterpart only when the expected and the
    given value differ in type.
    """
    kind, _, rest = name.partition(" ")
    if action(name) is None:
        return None
    if kind == "unexpected":
        return f"called({rest})"
    return f"not(called({rest}))" if kind == "missing" else _wrong_type(name, text)


def _wrong_type(name: str, text: str) -> str | None:
    tool, _, argument = name.removeprefix("wrong ").partition(".")
    for line in _lines(text):
        values = _EXPECTED_GOT.fullmatch(line)
        if _class(line) == name and values:
            wanted, got = _kinds(values["wanted"]), _kinds(values["got"])
            if got and wanted and got[0] != wanted[0] and got[0] != "word":
                return f"called({tool}, {argument}: {got[0]})"
    return None


def _kinds(value: str) -> tuple[str, ...]:
    """The types of a value as it is written in a line: JSON where it parses, else the bare text."""
    bare: Any = {"nothing": None, "None": None, "True": True, "False": False}.get(value, value)
    if bare is value:
        try:
            bare = json.loads(value)
        except (ValueError, RecursionError):
            bare = value.strip("\"'`")
    kinds = value_types(bare)
    return ("word",) if kinds and kinds[0].startswith("word ") else kinds


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        line = re.sub(r"^(?:[-*•]|\d+[.)]) +", "", " ".join(line.split()))
        if line:
            yield line[:_READ]


def _class(line: str) -> str | None:
    structured = _STRUCTURED.fullmatch(line)
    if structured and (name := _structured(structured.group(1).lower(), structured.group(2))):
        return name
    if _OUTPUT.fullmatch(line):
        return OUTPUT_MISSING
    test = _TEST.search(line)
    if test:
        name = next(group for group in test.groups() if group)
        return f"failing {name.rsplit(':', 1)[-1]}"
    return _difference(line) or _template(line)


def _structured(kind: str, rest: str) -> str | None:
    if kind in ("missing action", "unexpected action"):
        name = clean(rest.split("(", 1)[0])
        return f"{kind.split(' ')[0]} {name}" if re.fullmatch(r"[\w.:/-]+", name) else None
    if kind == "failing test":
        name = rest.split("::")[-1].split("[", 1)[0].split(" ", 1)[0]
        return f"failing {name}" if _TEST_NAME.fullmatch(name) else None
    where = re.sub(r"\.\d+(?=\.|$)|\[\d*\]", "[]", rest.split(": ", 1)[0].strip())
    return f"wrong {where}" if re.fullmatch(r"[\w:/-]+(?:\.[\w\[\]*-]+)+", where) else None


def _difference(line: str) -> str | None:
    """`expected <T>, got <T>` for a line that tells both values."""
    match = _EXPECTED_GOT.fullmatch(line) or _ASSERTION.fullmatch(line)
    if not match or len(line) > 2 * LONGEST_LINE:
        return None
    return f"expected {_kind(match['wanted'])}, got {_kind(match['got'])}"


def _kind(value: str) -> str:
    """The placeholder of a value, of its written type (`a formula`), or of both (`the number 41`)."""
    value = value.strip()
    if value[:1] in "[{" and value[-1:] in "]}":
        return "<list>"
    while (shorter := _ARTICLE.sub("", value)) != value:
        value = shorter
    first = value.split(" ", 1)[0].strip(".,:;")
    whole = literal(value)
    counted = literal(first) if whole == "<str>" and first[:1].isdigit() else whole
    is_type = not _NOUN_NEXT.match(value[len(first) :])
    return _NAMED.get(first.lower(), counted) if is_type else counted


def _template(line: str) -> str | None:
    """A free line with its literals typed; None for long prose and for lines without a word."""
    if len(line) > LONGEST_LINE:
        return None
    template = typed(line).rstrip(" .;,")
    if not re.search(r"[^\W\d_]{3,}", re.sub(r"<\w+>", "", template)):
        return None
    return f"note: {template}" if _RESERVED.match(template) else template
