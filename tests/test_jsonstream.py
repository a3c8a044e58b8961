"""Lists of records, and records over several lines, are read one at a time, in steps of any size."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refiner import jsonstream, jsontext
from refiner.jsontext import Row, rows

WORDS = st.text(alphabet='ab"\\\n\u2028é\U0001f600{[]},: 1', max_size=12)
RECORDS = st.dictionaries(WORDS, WORDS | st.integers() | st.lists(WORDS, max_size=2), max_size=3)
LAYOUTS = {
    "list": ("[", ",", "]"),
    "pretty": ("[\n", ",\n\n", "\n]\n"),
    "lines": ("", "\n", "\n"),
    "spaced": ("\n ", " ", ""),
}


def read(data: bytes, chunk: int) -> list[Row]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonstream, "CHUNK", chunk)
        patch.setattr(jsontext, "CHUNK", chunk)
        return list(rows(io.BytesIO(data)))


@given(
    st.lists(RECORDS, min_size=1, max_size=5),
    st.sampled_from(sorted(LAYOUTS)),
    st.booleans(),
    st.integers(0, 30),
    st.integers(1, 9),
)
def test_the_size_of_the_steps_changes_nothing(
    records: list[dict[str, object]], layout: str, indented: bool, cut: int, chunk: int
) -> None:
    start, between, end = LAYOUTS[layout]
    texts = [json.dumps(record, ensure_ascii=indented, indent=2 if indented else None) for record in records]
    data = ("\ufeff" + start + between.join(texts) + end).encode()
    whole = data[: len(data) - cut]
    assert read(whole, chunk) == read(whole, 10**9)
    if cut == 0 and all(records):  # a file whose first line is a whole record is one of lines
        assert [row.record for row in read(data, chunk)] == records


CUT = "cut off: the file ends inside this record"
SPOILT = "not JSON: Expecting value; nothing after it could be read"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('\n\n[{"a": 1},\n\n{"b":\n2}]', [(3, {"a": 1}, ""), (5, {"b": 2}, "")]),
        ('{\n"a": 1}\n{"b": 2}', [(1, {"a": 1}, ""), (3, {"b": 2}, "")]),
        ('[{"a": 1}, 7, {"b": 2', [(1, {"a": 1}, ""), (1, None, "not an object but a number"), (1, None, CUT)]),
        ('[{"a": 1},\n', [(1, {"a": 1}, ""), (2, None, "cut off: the file ends inside the list")]),
        ('[{"a": 1}, oops, {"b": 2}]', [(1, {"a": 1}, ""), (1, None, SPOILT)]),
        ('[1]\n{"a": 1}\n', [(1, None, "not an object but a number"), (2, {"a": 1}, "")]),
        ('[{"a": 1}]\n[{"b": 2},\n{}]{"d": 4}', [(1, {"a": 1}, ""), (2, {"b": 2}, ""), (3, {}, ""), (3, {"d": 4}, "")]),
        ("[{}]", [(1, {}, "")]),
        ("[12", [(1, None, "cut off: the file ends inside the list")]),
        ('\n{\n "a": {\n  "b": [\n   "c",\n   "d', [(2, None, CUT)]),
        ('{"a": [\n{"b": 1}', [(1, None, "not JSON: Expecting value at column 8"), (2, {"b": 1}, "")]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 3, 10**9])
def test_every_record_has_its_line_and_every_fault_its_reason(
    text: str, expected: list[tuple[object, ...]], chunk: int
) -> None:
    assert [tuple(row) for row in read(text.encode(), chunk)] == expected


@pytest.mark.parametrize("between", [b",", b",\n", b"\n\n"])
def test_a_long_list_is_never_in_memory_as_a_whole(between: bytes) -> None:
    record = json.dumps({"text": "x" * 1000}, indent=1).encode()
    listed = between.startswith(b",")
    data = (b"[" if listed else b"") + between.join([record] * 20_000) + (b"]" if listed else b"")
    stream = io.BytesIO(data)
    found = rows(stream)
    for number, row in enumerate(found, 1):
        assert row.record and stream.tell() <= len(record) * number + 3 * jsonstream.CHUNK
    assert number == 20_000
