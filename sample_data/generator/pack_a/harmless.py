"""Pack A's three habits, which do no harm, and its accidents, each of which happens in one run or one task only."""

from __future__ import annotations

from random import Random

from sample_data.generator.pack import Accident, Habit, Plan, Step, Task, changed, followed, position


def _list_sheets(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "open", Step("list", "list_sheets", {}))


def _fit_columns(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "sum", Step("fit", "autofit_columns", {"sheet": task.facts["sheet"]}))


def _read_twice(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "read", plan[position(plan, "read")])


HABITS = (
    Habit("lists_sheets", "Lists the sheets first.", "called(list_sheets)", 0.4, _list_sheets),
    Habit("fits_columns", "Fits the column widths.", "called(autofit_columns)", 0.4, _fit_columns),
    Habit("reads_twice", "Reads the table twice before the first edit.", "repeated_call(2)", 0.3, _read_twice),
)


def _values(plan: Plan) -> list[int]:
    return [row[0] for row in plan[position(plan, "quantities")].arguments["values"]]


def _with_values(plan: Plan, values: list[int]) -> Plan:
    return changed(plan, "quantities", values=[[value] for value in values])


def _digits_turned(plan: Plan, task: Task, random: Random) -> Plan:
    values = _values(plan)
    turned = int(str(values[0])[::-1])
    return _with_values(plan, [turned if turned != values[0] else values[0] + 1, *values[1:]])


def _values_swapped(plan: Plan, task: Task, random: Random) -> Plan:
    first, second, *rest = _values(plan)
    return _with_values(plan, [second, first, *rest])


def _zero_too_many(plan: Plan, task: Task, random: Random) -> Plan:
    *first, last = _values(plan)
    return _with_values(plan, [*first, last * 10])


def _in_dozens(plan: Plan, task: Task, random: Random) -> Plan:
    return _with_values(plan, [value * 12 for value in _values(plan)])


def _one_row_short(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "fill", range=f"D2:D{task.facts['last'] - 1}")


def _wrong_year(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "review", date="2025" + task.facts["review"][4:])


def _misspelt(plan: Plan, task: Task, random: Random) -> Plan:
    name = str(plan[position(plan, "owner")].arguments["value"])
    return changed(plan, "owner", value=name[:-1])


def _plus_for_times(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "formula", value="=B2+C2")


ACCIDENTS = (
    Accident("digits_turned", "Turns the digits of one value round.", _digits_turned),
    Accident("values_swapped", "Swaps two values.", _values_swapped),
    Accident("zero_too_many", "Types one zero too many.", _zero_too_many),
    Accident("in_dozens", "Takes the values of one task for dozens.", _in_dozens, scope="task"),
    Accident("one_row_short", "Stops filling one row too early.", _one_row_short),
    Accident("wrong_year", "Takes the year of a date from the year before.", _wrong_year),
    Accident("misspelt", "Drops the last letter of the owner's name.", _misspelt),
    Accident("plus_for_times", "Adds where it should multiply.", _plus_for_times),
)
