"""Pack B's three habits, which do no harm, and its accidents, each of which happens in one run or one task only."""

from __future__ import annotations

from random import Random
from typing import Any

from sample_data.generator.pack import Accident, Habit, Plan, Step, Task, changed, followed, position, without


def _freeze_headings(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "append", Step("freeze", "freeze_panes", {"sheet": task.facts["sheet"], "cell": "A2"}))


def _count_groups(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(plan, "read", Step("count", "count_values", {"sheet": task.facts["sheet"], "column": "C"}))


def _match_first(plan: Plan, task: Task, random: Random) -> Plan:
    return followed(without(plan, "raise"), "match", plan[position(plan, "raise")])


HABITS = (
    Habit("freezes_headings", "Freezes the heading row.", "called(freeze_panes)", 0.4, _freeze_headings),
    Habit("counts_groups", "Counts the groups before the first edit.", "called(count_values)", 0.35, _count_groups),
    Habit(
        "matches_first",
        "Looks up the second list before it changes the amounts.",
        "sequence(match_column, change_by_percent)",
        0.4,
        _match_first,
    ),
)


def _argument(plan: Plan, key: str, name: str) -> Any:
    return plan[position(plan, key)].arguments[name]


def _entry_forgotten(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "append", rows=_argument(plan, "append", "rows")[:-1])


def _lowered(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "raise", percent=-_argument(plan, "raise", "percent"))


def _per_mille(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "raise", percent=_argument(plan, "raise", "percent") / 10)


def _limit_mistyped(plan: Plan, task: Task, random: Random) -> Plan:
    limit = str(task.facts["limit"])
    return changed(plan, "fill", formula=_argument(plan, "fill", "formula").replace(limit, f"{limit}0"))


def _limit_left_out(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "fill", formula=_argument(plan, "fill", "formula").replace(">=", ">"))


def _other_group(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "filter", value=task.facts["other_group"])


def _title_cut(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "title", value=_argument(plan, "title", "value")[:-1])


def _total_of_other_column(plan: Plan, task: Task, random: Random) -> Plan:
    return changed(plan, "total", value=_argument(plan, "total", "value").replace("D", "E"))


ACCIDENTS = (
    Accident("entry_forgotten", "Leaves out the last of the new entries.", _entry_forgotten),
    Accident("lowered", "Lowers the amounts instead of raising them.", _lowered),
    Accident("per_mille", "Reads the percentage of one task as per mille.", _per_mille, scope="task"),
    Accident("limit_mistyped", "Types a zero too many in the limit.", _limit_mistyped),
    Accident("limit_left_out", "Leaves the limit itself out of the upper level.", _limit_left_out),
    Accident("other_group", "Marks another group than the one that was named.", _other_group),
    Accident("title_cut", "Drops the last letter of the title.", _title_cut),
    Accident("total_of_other_column", "Adds up the column next to the amounts.", _total_of_other_column),
)
