"""Pack B's tasks: a list to tidy, extend, sort, look up and mark, and a small summary. What is right, nothing else."""

from __future__ import annotations

from random import Random
from typing import Any

from sample_data.generator import checker
from sample_data.generator.pack import Plan, Step, Task
from sample_data.generator.pack_b import checks
from sample_data.generator.pack_b.content import Content, make_content
from sample_data.generator.pack_b.tools import by_percent

REQUESTS = (
    "In {file}, sheet {sheet}: some rows are in the list twice, keep one of each. Add these entries: {added}. The "
    "list should be in the order of the codes. Raise {amount} by {percent} percent for everyone. Fill in {fetched} "
    "from the sheet Directory, and {level} with a formula: {yes} when {amount} is {limit} or more, otherwise {no}. "
    "Every row of {group_heading} {group} gets {mark} under {mark_heading}. On Summary put the title {title}, "
    "{author} as the author, and formulas for the total of {amount} and the number of entries. Save.",
    "Please bring {file} up to date. The list on {sheet} has exact copies of rows, take them out. New: {added}. "
    "Everything in code order, please. {amount} goes up by {percent} percent. {fetched} is in Directory. {level} is "
    "{yes} from {limit} upwards in {amount}, else {no}, as a live formula. {mark_heading} is {mark} wherever "
    "{group_heading} is {group} and stays empty elsewhere. Summary: title {title}, prepared by {author}, total and "
    "number of entries as formulas. Everyone opens the file to see the whole list, so save it that way.",
    "{sheet} in {file} needs tidying. Drop repeated rows; add {added}; codes ascending from top to bottom. All of "
    "{amount} rises by {percent} percent. Look up {fetched} on the Directory sheet. In {level} a formula says {yes} "
    "at {limit} or above and {no} below that. Write {mark} in {mark_heading} for {group_heading} {group} only. Then "
    "the Summary sheet: {title} as its title, {author} as who prepared it, the total of {amount} and the count of "
    "entries, both formulas. Save under the same name.",
)


def make_task(random: Random, index: int) -> Task:
    """A task with its own list, wording and order of steps; `index` only rotates the subjects."""
    content = make_content(random, index)
    return Task(
        request=random.choice(REQUESTS).format(**_words(content)),
        file_name=content.file,
        workbook=content.workbook,
        plan=_plan(content, random),
        checks=_checks(content),
        facts=content.facts(),
        difficulty=random.choice((0.85, 1.0, 1.15)),
    )


def _words(content: Content) -> dict[str, Any]:
    _, group_heading, amount, fetched, level, mark_heading = content.headings
    return {
        "file": content.file, "sheet": content.sheet, "percent": content.percent, "limit": content.limit,
        "added": "; ".join(" ".join(map(str, entry)) for entry in content.added), "amount": amount,
        "fetched": fetched, "level": level, "yes": content.levels[0], "no": content.levels[1],
        "group_heading": group_heading, "group": content.group, "mark_heading": mark_heading, "mark": content.mark,
        "title": content.title, "author": content.author,
    }  # fmt: skip


def _plan(content: Content, random: Random) -> Plan:
    """Everything right. The order varies from task to task where it does not matter."""
    look, columns, summary = _look(content), _columns(content), _summary(content)
    for part in (look, columns, summary):
        random.shuffle(part)
    return (
        Step("open", "open_workbook", {"path": content.file}),
        *look,
        Step("dedupe", "remove_duplicates", {"sheet": content.sheet, "columns": ["A", "B", "C", "D"]}),
        Step("append", "append_rows", {"sheet": content.sheet, "rows": [list(entry) for entry in content.added]}),
        Step("sort", "sort_rows", {"sheet": content.sheet, "by": "A"}),
        *(step for group in columns for step in group),
        *summary,
        Step("look_over", "read_range", {"sheet": content.sheet, "range": f"A1:F{content.last}"}),
        Step("save", "save_workbook", {"path": content.file}),
        Step("read_back", "read_range", {"sheet": content.sheet, "range": f"A1:G{content.last}"}),
    )


def _look(content: Content) -> list[Step]:
    return [
        Step("read", "read_range", {"sheet": content.sheet, "range": f"A1:D{content.first_last}"}),
        Step("read_directory", "read_range", {"sheet": "Directory", "range": f"A1:C{content.last}"}),
    ]


def _columns(content: Content) -> list[list[Step]]:
    """The changes to columns D to G; each group keeps its own order."""

    def step(key: str, tool: str, **arguments: Any) -> Step:
        return Step(key, tool, {"sheet": content.sheet, **arguments})

    source = {"source": "Directory", "source_key": "A", "source_value": "C"}
    return [
        [
            step("raise", "change_by_percent", column="D", percent=content.percent),
            step("match", "match_column", own_key="A", into="E", **source),
        ],
        [step("fill", "fill_formula", column="F", formula=content.formula)],
        [
            step("filter", "filter_rows", column="C", value=content.group),
            step("mark", "write_visible", column="G", value=content.mark),
            step("clear", "clear_filter"),
        ],
    ]


def _summary(content: Content) -> list[Step]:
    values = {
        "title": ("A1", content.title),
        "author": ("B2", content.author),
        "total": ("B3", f"=SUM({content.sheet}!D2:D{content.last})"),
        "entries": ("B4", f"=COUNTA({content.sheet}!A2:A{content.last})"),
    }
    return [
        Step(key, "write_cell", {"sheet": "Summary", "cell": cell, "value": value})
        for key, (cell, value) in values.items()
    ]


def _checks(content: Content) -> tuple[checker.Check, ...]:
    sheet, listed = content.sheet, content.listed
    amounts = {code: by_percent(amount, content.percent) for code, _, _, amount in listed}
    marks = {code: content.mark if group == content.group else None for code, _, group, _ in listed}
    return (
        checks.rows_once(sheet, [entry[0] for entry in listed]),
        checks.in_order(sheet),
        checks.column(sheet, "D", amounts),
        checks.column(sheet, "E", content.fetched),
        checks.formula_column(sheet, "F", content.formula.replace("D2", "D{row}")),
        checks.column(sheet, "G", marks),
        checks.all_visible(sheet),
        checker.cells("Summary", {"A1": content.title, "B2": content.author}),
        checker.formulas("Summary", {"B3": f"=SUM({sheet}!D2:D{content.last})"}),
        checker.formulas("Summary", {"B4": f"=COUNTA({sheet}!A2:A{content.last})"}),
        checks.nothing_merged("Summary"),
    )
