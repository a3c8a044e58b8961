"""The weak SKILL.md that pack A's agents start from. It states one rule in full and endorses one fault."""

GENEROUS = (
    "Fill formulas down generously with `fill_down`, a few rows past the end of the table, so that rows added later "
    "are covered."
)

SKILL = f"""\
---
name: spreadsheet-edits
description: Edit an existing workbook with the workbook tools and save it. Use when a request names an .xlsx file \
and says what to change in it.
---

# Spreadsheet edits

## Steps

1. Open the workbook with `open_workbook`.
2. Find out how far the data goes with `find_last_row`, and look at the table with `read_range`.
3. Make the changes in the order that suits the sheet.
4. Look over the new cells, save, and say in one or two sentences what was done.

## Writing values

- Write a block of input values with `write_range`, one list for each row.
- Use `write_cell` for single cells.
- Spell names and words exactly as the request does.

## Formulas

- Write the formula in the top cell of the column with relative references.
- {GENEROUS}

## Formats and dates

- Number formats are given as format codes; use them as they stand.
- The request writes dates as year, month and day.

## Sheets

- Work on the sheet that the request names.
- Never call `delete_sheet`, not even on a sheet that looks spare: other workbooks link to it.

## Saving

- Save under the same name with `save_workbook`, once all changes are in.
"""
