"""Pack B's six faults, and the seventh whose rule the weak skill already states. What agents look for in a rule is
fixed here."""

from __future__ import annotations

from random import Random

from sample_data.generator.pack import Fault, Heed, Plan, Step, Task, changed, followed, position, without
from sample_data.generator.pack_b.skill import EARLY

_SORT = ("sort*", "re-sort*", "resort*", "order of the codes", "code order")
_ADD = ("append*", "add", "adds", "added", "adding", "addition*", "new row*", "new entr*")
_DOUBLE = ("remove_duplicates", "duplicate*", "deduplicat*", "de-duplicat*", "dedupe*", "copies", "double rows",
           "repeated rows")  # fmt: skip
_PERCENT = ("change_by_percent", "percent*", "raise", "raises", "raised", "raising", "increase*")
_FILTER = ("filter*", "clear_filter")
_MATCH = (
    "match*",
    "look up",
    "looks up",
    "looked up",
    "looking up",
    "look entries up",
    "look rows up",
    "look them up",
    "look it up",
    "look each row up",
    "lookup*",
    "look-up*",
    "fetch*",
    "join*",
)
_FORMULA = ("formula*", "fill_formula", "argument*", "function*")
_FIX = ("correct*", "fix*", "repair*", "redo", "again", "retry*", "rewrite", "rewrites", "rewritten", "reword*",
        "resolve*", "put right")  # fmt: skip
_GO_ON = ("go on", "going on", "continue*", "continuing", "proceed*", "move on", "carry on", "save", "saving",
          "finish*", "ignore*", "ignoring", "accept", "accepting", "leave", "leaves", "leaving", "left")  # fmt: skip


def _after(*things: str) -> tuple[str, ...]:
    return tuple(f"{when} {thing}" for when in ("after", "once", "when", "until") for thing in things)


def _until(*things: str) -> tuple[str, ...]:
    return tuple(f"until {thing}" for thing in things)


def _before(*things: str) -> tuple[str, ...]:
    return tuple(f"before {thing}" for thing in things)


_ADDING = ("append*", "you append*", "you have appended", "calling append_rows", "adding", "you add*", "you have added",
           "all new", "all the new", "all of the new", "every new", "any new", "new", "the new", "the last new",
           "all rows are in", "all entries are in", "all rows are there", "all rows have been", "all entries have been",
           "the rows are appended", "rows are appended", "rows have been appended", "rows are added", "the append*",
           "everything is in", "everything has been added", "the list is complete")  # fmt: skip
_SORTING = ("sort*", "you sort*", "calling sort_rows", "the sort*", "the list is sorted", "the rows are sorted",
            "the table is sorted", "the sheet is sorted", "it is sorted")  # fmt: skip


def _sorted_too_early(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(without(plan, "sort"), "dedupe", plan[position(plan, "sort")])


def _one_column_compared(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "dedupe", columns=["B"])


def _raised_twice(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "raise", plan[position(plan, "raise")])


def _filter_left_on(plan: Plan, task: Task, random: Random) -> Plan:
    return without(plan, "clear")


def _matched_by_name(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "match", own_key="B", source_key="B")


def _semicolons(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "fill", formula=plan[position(plan, "fill")].arguments["formula"].replace(",", ";"))


def _title_merged(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "title", Step("merge", "merge_cells", {"sheet": "Summary", "range": "A1:B1"}))


FAULTS = (
    Fault(
        name="sorted_too_early",
        sentence="Sorts the list and appends the new rows afterwards.",
        consequence="The new rows stand at the end, out of order.",
        predicate="sequence(sort_rows, append_rows)",
        probability=0.11,
        act=_sorted_too_early,
        heeds=(
            Heed("do", (_SORT, _after(*_ADDING))),
            Heed("do", (_ADD, _before(*_SORTING))),
            Heed("do", (_ADD, ("sort again", "sort the list again", "sort the rows again", "sort the table again",
                               "sort the sheet again", "sort it again", "call sort_rows again", "sort once more",
                               "re-sort*", "resort*", "repeat the sort*"))),
            Heed("do", (_SORT, ("sort last", "sort_rows last", "sorting last", "after that sort", "then sort*",
                                "then call sort_rows", "followed by sort*"))),
            Heed("avoid", (_ADD, tuple(f"after {thing}" for thing in _SORTING))),
            Heed("avoid", (_SORT, (*_before(*_ADDING), *_until(*_ADDING), "early"))),
        ),
        endorsed_by=EARLY,
    ),
    Fault(
        name="one_column_compared",
        sentence="Removes duplicates by comparing a single column.",
        consequence="An entry that shares its name with another one is gone.",
        predicate="called(remove_duplicates, columns: list 1)",
        probability=0.11,
        act=_one_column_compared,
        heeds=(
            Heed(
                "do",
                (
                    _DOUBLE,
                    ("all columns", "all the columns", "all of the columns", "all of its columns", "every column",
                     "each column", "all four columns", "whole row*", "entire row*", "full row*", "complete row*",
                     "several columns", "multiple columns", "more than one column", "at least two columns",
                     "two or more columns", "all fields", "every field", "all cells", "every cell", "all values",
                     "every value", "list of several", "several items"),
                ),
            ),
            Heed(
                "avoid",
                (
                    _DOUBLE,
                    ("single column", "one single column", "only one column", "just one column", "by one column",
                     "on one column", "in one column", "one column only", "one column alone", "name alone",
                     "names alone", "only the name*", "just the name*", "by name*", "by the name*", "on the name*",
                     "on name*", "list of one", "list with one", "one-column", "single-column", "single item",
                     "one-item"),
                ),
            ),
        ),
    ),
    Fault(
        name="raised_twice",
        sentence="Makes the same change by percent twice.",
        consequence="The amounts have gone up twice.",
        predicate="repeated_call(2)",
        probability=0.11,
        act=_raised_twice,
        heeds=(
            Heed("avoid", (_PERCENT, ("repeat*", "twice", "again", "a second time", "two times", "more than once"))),
            Heed("do", (_PERCENT, ("only once", "just once", "exactly once", "once only", "at most once", "one time",
                                   "a single time", "once per", "once for each", "one call", "a single call"))),
            Heed("avoid", (("a call", "any call", "calls", "same call", "identical call*", "same arguments",
                            "equal arguments", "identical arguments", "same tool"),
                           ("repeat*", "twice", "a second time", "two times", "more than once"))),
            Heed("avoid", (("identical", "same", "equal"), ("call again", "called again", "again with", "made again"))),
        ),
    ),
    Fault(
        name="filter_left_on",
        sentence="Filters the list and leaves the filter on.",
        consequence="The saved list hides its rows.",
        predicate="absent(clear_filter after filter_rows)",
        probability=0.11,
        act=_filter_left_on,
        heeds=(
            Heed("do", (_FILTER, ("clear_filter", "clear", "clears", "cleared", "clearing", "remove the filter",
                                  "remove any filter", "remove every filter", "remove it", "filter is removed",
                                  "removing the filter", "take off", "taken off", "take the filter off", "switch off",
                                  "turn off", "lift", "lifted", "reset", "undo", "unfilter", "show all", "show every*",
                                  "unhide"))),
            Heed("avoid", (_FILTER, ("filter on", "filters on", "still on", "is on", "left on", "active", "in place",
                                     "leave", "leaves", "leaving", "left", "hidden", "save a filtered",
                                     "saving a filtered", "list filtered", "sheet filtered", "rows filtered"))),
            Heed("avoid", (_FILTER, _before("clear_filter", "clearing", "you clear*", "calling clear_filter",
                                            "the filter is cleared", "it is cleared"))),
        ),
    ),
    Fault(
        name="matched_by_name",
        sentence="Looks the second list up by name, which is spelled in two ways, instead of by code.",
        consequence="Where the spelling differs, the looked-up cell stays empty.",
        predicate="result(match_column, text: word unmatched)",
        probability=0.13,
        act=_matched_by_name,
        heeds=(
            Heed("do", (_MATCH, ("code", "codes", "column a", "id", "ids", "identifier*", "unique"))),
            Heed("avoid", (_MATCH, ("name", "names", "column b"))),
            Heed("do", (("unmatched",), (*_FIX, "another key", "other key", "different key", "another column"))),
            Heed("avoid", (("unmatched",), _GO_ON)),
            Heed("avoid", ((*_GO_ON, "row", "rows", "result*", "answer*", "cell", "cells", "there", "match*"),
                           ("unmatched",))),
        ),
    ),
    Fault(
        name="semicolons",
        sentence="Separates the arguments of a formula with semicolons, and goes on when it is refused.",
        consequence="The formula column stays empty.",
        predicate="error(Error: formula refused, unknown argument separator)",
        probability=0.11,
        act=_semicolons,
        heeds=(
            Heed("do", (_FORMULA, ("comma", "commas"))),
            Heed("avoid", (_FORMULA, ("semicolon", "semicolons", ";"))),
            Heed("do", (("refused", "refuses", "rejected", "rejects", "error", "errors", "fails", "failed", "failing",
                         "separator*"), _FIX)),
            Heed("avoid", (("refused", "refuses", "rejected", "rejects", "error", "errors", "fails", "failed"),
                           _GO_ON)),
        ),
    ),
)  # fmt: skip

STATED = Fault(
    name="title_merged",
    sentence="Merges cells to centre the title, although the skill forbids it.",
    consequence="The summary has merged cells, which break the import of the file.",
    predicate="called(merge_cells)",
    probability=0.06,
    act=_title_merged,
    heeds=(),
)
