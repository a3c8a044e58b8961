"""The weak SKILL.md that pack B's agents start from. It states one rule in full and endorses one fault."""

EARLY = "Call `sort_rows` early, as soon as the list is tidy, so that entries are quick to find while you work."

SKILL = f"""\
---
name: list-keeping
description: Bring a list in an .xlsx file up to date. Use when entries are to be added, tidied, looked up or marked.
---

# List keeping

## First look

- Open the workbook with `open_workbook`.
- A list has its headings in row 1 and its entries from row 2. Read it with `read_range` before anything is changed.
- Read the second list as well when the request draws on it.

## Entries

- Take new entries from the request, one row for each, with the values in the order of the headings.
- Add them with `append_rows`.
- Exact copies are taken out with `remove_duplicates`.
- {EARLY}

## Columns

- Amounts go up or down with `change_by_percent`, which works on a whole column.
- `match_column` fetches a column from the second list.
- `fill_formula` writes a formula into every entry; word it for row 2.
- To mark some of the entries, show just these with `filter_rows` and write with `write_visible`.

## Summary sheet

- Put the title in A1 and the values next to their labels with `write_cell`.
- Totals and counts are formulas, so that they stay up to date.
- Never call `merge_cells`, not even to centre a title: merged cells break the import of the file.

## Saving

- Save under the same name with `save_workbook`.
- Saving runs in the background: read the saved sheet with `read_range` before you finish, so that it completes.
- Say in a sentence or two what was done.
"""
