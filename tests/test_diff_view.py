"""The diff as HTML: nothing of either text is lost or becomes markup, and each changed line knows its change."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pages._ui.diff import blocks, counts, diff_html, diff_rows, hunks, rows_html
from refiner import merge
from refiner.types import Change, Edit, SkillVersion

HOSTILE = [
    "<script>alert(1)</script>\n",
    "<img src=https://example.org/x.png onerror=alert(1)>\n",
    "![picture](https://example.org/x.png) [link](javascript:alert(1))\n",
    '"></div></details><style>*{display:none}</style>\n',
    "</ins></del><ins>forged</ins> &lt;b&gt; &amp;#60;\n",
]
LINE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\r"), max_size=12)
TEXT = st.lists(
    st.sampled_from(["", "the rule is this one\n", "the rule was that one\n", "- a\n", *HOSTILE]) | LINE, max_size=8
).map("".join)


def without(markup: str, dropped: str) -> str:
    """The text of a diff without its `dropped` elements and without tags."""
    body = re.sub(r"^<style>.*?</style>", "", markup, flags=re.DOTALL)
    kept = re.sub(rf"<{dropped}>.*?</{dropped}>", "", body, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", kept))


def side(markup: str, name: str) -> str:
    cells = re.findall(rf'<div class="{name}" [^>]*>(.*?)</div>', markup, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", "".join(cells)))


class Tags(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: set[tuple[str, tuple[str, ...]]] = set()
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, tuple(sorted(name for name, _ in attrs))))


@settings(max_examples=150, deadline=None)
@given(TEXT, TEXT)
@example("a\r\nb\r\n", "a\nb")
@example("", "only\n")
@example("gone", "")
def test_taking_the_tags_away_gives_back_both_texts(before: str, after: str) -> None:
    markup = diff_html(before, after)
    assert without(markup, "ins") == before
    assert without(markup, "del") == after


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT)
def test_side_by_side_each_column_holds_its_text(before: str, after: str) -> None:
    markup = diff_html(before, after, "side")
    assert (side(markup, "old"), side(markup, "new")) == (before, after)


@pytest.mark.parametrize("mode", ["inline", "side"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_makes_no_element_of_its_own(text: str, mode: str) -> None:
    allowed = {tag for tag, _ in Tags(diff_html("plain\n", "other\n", mode)).found} | {"ins", "del", "span"}
    for before, after in [(text, "x\n"), ("x\n", text), (text, text), (text, text.replace("a", "e"))]:
        found = Tags(diff_html(before, after, mode)).found
        assert {tag for tag, _ in found} <= allowed
        assert {name for _, names in found for name in names} <= {"class", "data-o", "data-n"}


def test_a_changed_word_is_marked_and_the_rest_of_its_line_is_not() -> None:
    rows = diff_rows("- Save under the same name, once.\n", "- Save under a new name, once.\n")
    assert rows_html(rows).count("<del>") == 1
    assert "Save under <del>the same</del><ins>a new</ins> name, once." in rows_html(rows)


def test_lines_that_have_nothing_in_common_stand_under_each_other() -> None:
    rows = diff_rows("alpha beta gamma\n", "Zwölf Boxkämpfer jagen\n")
    assert [(row.kind, row.old, row.new) for row in rows] == [("del", 1, None), ("ins", None, 1)]


def test_a_similar_line_is_found_among_several_new_ones() -> None:
    rows = diff_rows(
        "keep\nUse `write_cell` for cells.\n", "keep\nEntirely new text\nUse `write_cell` for single cells.\n"
    )
    assert [row.kind for row in rows] == ["same", "ins", "both"]
    assert counts(rows) == (2, 1)


def test_a_long_unchanged_stretch_is_folded_and_still_there() -> None:
    before = "".join(f"line {number}\n" for number in range(60))
    markup = diff_html(before, before + "new\n")
    assert 'data-label="57 unchanged lines"' in markup and "line 7\n" in markup
    gap = rows_html(diff_rows(before, before + "new\n"), fold="gap")
    assert "line 7\n" not in gap and "line 58\n" in gap and 'data-label="57 unchanged lines"' in gap


def test_what_cannot_be_seen_gets_a_sign() -> None:
    assert 'data-u="202E"' in diff_html("", "pay \u202eresu\n") and 'data-u="200B"' in diff_html("a\u200bb", "")


def test_bytes_that_are_no_text_do_not_stop_the_page() -> None:
    diff_html("a\udcff\n", "b\udcff\n", "side").encode()


def test_a_large_rewrite_is_shown_without_being_compared_word_by_word() -> None:
    before = "".join(f"old {number}\n" for number in range(5_000))
    after = "".join(f"new {number}\n" for number in range(5_000))
    assert counts(diff_rows(before, after)) == (5_000, 5_000)
    one_line = diff_rows("a " * 40_000, "b " * 40_000)
    assert {row.kind for row in one_line} == {"del", "ins"}


BASE = "# Skill\n\n## Saving\n\n- Save once.\n- Close it.\n\n## End\n\n- Say what was done.\n"


def change(op: str, old: str, new: str, *section: str) -> Change:
    edit = Edit("SKILL.md", op, ("Skill", *section), old, new)  # type: ignore[arg-type]
    return Change((edit,), (new,), new)


CHANGES = [
    change("insert_after", "- Save once.", "  - Under the same name.", "Saving"),
    change("insert_after", "- Save once.", "  - Then read it back.", "Saving"),
    change("replace", "- Close it.", "- Close it at the end.", "Saving"),
    change("delete", "- Say what was done.", "", "End"),
]


def test_every_hunk_is_one_change_even_where_changes_touch() -> None:
    base = SkillVersion({"SKILL.md": BASE.encode()})
    merged = merge.apply(base, CHANGES)
    rows = diff_rows(BASE, merged.files["SKILL.md"].decode())
    added = [(one.start_line, one.end_line, one.change_id) for one in merged.lines]
    cut = [(one.start_line, one.end_line, one.change_id) for one in merged.removed]
    found = hunks(rows, added, cut)
    assert sorted(one.change_ids for one in found) == sorted((one.key,) for one in CHANGES)
    texts = {one.change_ids[0]: "".join(text for _, text in rows[one.start].pieces) for one in found}
    assert texts[CHANGES[1].key] == "  - Then read it back.\n"
    assert texts[CHANGES[3].key] == "- Say what was done.\n"


def test_every_row_is_shown_once_with_its_hunk_or_between_two() -> None:
    rows = diff_rows("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n5\ny\n6\n7\n8\n9\n")
    found = list(blocks(rows, hunks(rows, [(5, 5, "one"), (7, 7, "two")], [])))
    assert [row for _, part in found for row in part] == rows
    assert [(hunk.change_ids if hunk else None, [row.new for row in part]) for hunk, part in found] == [
        (None, [1]),
        (("one",), [2, 3, 4, 5, 6]),
        (("two",), [7, 8, 9, 10]),
        (None, [11]),
    ]
