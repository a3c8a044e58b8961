"""Pack A's six faults, and the seventh, whose rule the weak skill states. The words agents heed are fixed here."""

from __future__ import annotations

from random import Random

from sample_data.generator.pack import Fault, Heed, Plan, Step, Task, changed, followed, without
from sample_data.generator.pack_a.skill import GENEROUS

_SAVE = ("save_workbook", "save", "saved", "saving")
_READ = ("read_range", "read back", "read it back", "read the file back", "read the workbook back", "re-read", "reread")
_FILL = ("fill_down", "fill", "fills", "filled", "filling")
_LAST = ("last row", "last data row", "end of the table", "end of the data")
_HEADER = ("header", "headers", "heading", "headings", "row 1")
_BELOW = ("below the head*", "under the head*", "row 2", "first data row", "first row of data")
_UNDO = ("undo", "redo", "fix", "correct", "repair", "restore", "put right", "start again", "write again")


def _no_read_back(plan: Plan, task: Task, random: Random) -> Plan:
    return without(plan, "read_back")


def _hard_coded(plan: Plan, task: Task, random: Random) -> Plan:
    key, fact = random.choice((("formula", "total"), ("sum", "sum")))
    return changed(plan, key, value=task.facts[fact])


def _header_overwritten(plan: Plan, task: Task, random: Random) -> Plan:
    values = next(step for step in plan if step.key == "quantities").arguments["values"]
    return changed(plan, "quantities", range=f"B1:B{len(values)}")


def _past_the_end(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "fill", range=f"D2:D{task.facts['last'] + random.randint(1, 6)}")


def _date_as_text(plan: Plan, task: Task, random: Random) -> Plan:
    key, cell = random.choice((("as_of", "G3"), ("review", "G4")))
    return changed(plan, key, tool="write_cell", sheet=task.facts["sheet"], cell=cell, value=task.facts[key])


def _no_format(plan: Plan, task: Task, random: Random) -> Plan:
    return without(plan, "format")


def _sheet_deleted(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "price_format", Step("tidy", "delete_sheet", {"sheet": "Notes"}))


FAULTS = (
    Fault(
        name="no_read_back",
        sentence="Stops after saving without reading the saved file back.",
        consequence="Saving goes on in the background and the newest edit, the status, never reaches the file.",
        predicate="absent(read_range after save_workbook)",
        probability=0.09,
        act=_no_read_back,
        heeds=(Heed("do", (_SAVE, ("after", "afterwards", "once", "then", "back", "when", "saved"), _READ)),),
    ),
    Fault(
        name="hard_coded_value",
        sentence="Types a computed number where a formula was asked.",
        consequence="The cell holds a number, so nothing is recalculated.",
        predicate="called(write_cell, value: number)",
        probability=0.09,
        act=_hard_coded,
        heeds=(
            Heed(
                "avoid",
                (
                    ("write_cell", "formula", "formulas", "computed", "calculated", "hard-code*", "hardcode*"),
                    ("number", "numbers", "constant", "constants", "literal", "fixed value", "computed value"),
                ),
            ),
            Heed("avoid", (("value", "values"), ("hard-code*", "hardcode*"))),
        ),
    ),
    Fault(
        name="header_overwritten",
        sentence="Starts a block of values in row 1 instead of row 2.",
        consequence="The heading is gone and every value sits one row too high.",
        predicate="result(write_range, text: word header)",
        probability=0.12,
        act=_header_overwritten,
        heeds=(
            Heed("avoid", (("write_range", "write", "overwrite", "start", "block"), _HEADER)),
            Heed("avoid", (_HEADER, ("overwrite*", "overwritten"))),
            Heed("do", (("write_range", "block", *_HEADER), _BELOW)),
            Heed("do", (_HEADER, _UNDO)),
        ),
    ),
    Fault(
        name="filled_past_the_end",
        sentence="Fills a formula down past the last row of the table.",
        consequence="Formulas stand in rows that have no data.",
        predicate="result(fill_down, text: word past)",
        probability=0.12,
        act=_past_the_end,
        heeds=(
            Heed("avoid", (_FILL, ("past", "beyond", "below", "further than", "farther than"))),
            Heed("do", (_FILL, ("only to", "only as far", "only up to", "stop", "exactly", "just to"), _LAST)),
            Heed("do", (_FILL, ("past", "beyond"), _UNDO)),
        ),
        endorsed_by=GENEROUS,
    ),
    Fault(
        name="date_as_text",
        sentence="Writes a date with `write_cell`, which stores text.",
        consequence="The cell holds text that looks like a date and does not sort or compute.",
        predicate="called(write_cell, value: date)",
        probability=0.09,
        act=_date_as_text,
        heeds=(
            Heed("avoid", (("write_cell",), ("date", "dates"))),
            Heed("avoid", (("date", "dates"), ("write_cell", "text", "string", "strings"))),
            Heed("do", (("date", "dates"), ("enter_date", "real date", "real dates", "true date", "true dates"))),
        ),
    ),
    Fault(
        name="no_number_format",
        sentence="Fills the new column and does not set its number format.",
        consequence="The new column shows General instead of the format that was asked.",
        predicate="absent(set_number_format after fill_down)",
        probability=0.09,
        act=_no_format,
        heeds=(
            Heed(
                "do",
                (
                    (*_FILL, "formula", "formulas", "new column"),
                    ("after", "afterwards", "once", "then", "when", "also", "every", "each"),
                    ("set_number_format", "number format", "number formats"),
                ),
            ),
        ),
    ),
)

STATED = Fault(
    name="sheet_deleted",
    sentence="Deletes the sheet that looks spare, although the skill forbids it.",
    consequence="The sheet is missing from the saved file.",
    predicate="called(delete_sheet)",
    probability=0.065,
    act=_sheet_deleted,
    heeds=(),
)
