"""Pack A's tasks: a table to correct and complete, and a small summary beside it. What is right, and nothing else.

The sheet: columns A to D are the table (name, quantity, price, empty total) with headings in row 1 and data from row 2;
column F holds the labels of the summary, column G its values (owner, sum, two dates, status).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from openpyxl import Workbook

from sample_data.generator import checker
from sample_data.generator.pack import Plan, Step, Task

LABELS = ("Owner", "Sum", "As of", "Next review", "Status")
OWNERS = ("North", "Harbour", "Lindqvist", "Okafor", "Castello", "Meyer", "Tanaka", "Duarte", "Novak", "Patel")
STATES = ("checked", "done", "approved", "ready", "closed", "reviewed", "agreed", "cleared")
CODES = ("0.00", "#,##0.00", "0.0", "#,##0")

# sheet, headings of columns A to D, names for column A
THEMES = (
    ("Stock", ("Part", "Pieces", "Unit cost", "Stock value"), "Bolt Nut Washer Screw Bracket Hinge Spring Valve Clamp"),
    ("Orders", ("Article", "Ordered", "Price", "Line total"), "Lamp Chair Desk Shelf Stool Mirror Rug Clock Vase"),
    ("Hours", ("Person", "Hours", "Rate", "Pay"), "Ada Ben Cleo Dan Eve Finn Gus Hana Ivo"),
    ("Travel", ("Trip", "Days", "Daily rate", "Allowance"), "Rome Oslo Porto Ghent Turin Lyon Graz Cork Bern"),
    ("Meals", ("Dish", "Portions", "Portion price", "Takings"), "Soup Stew Salad Pasta Curry Pie Risotto Tart Wrap"),
    ("Fuel", ("Vehicle", "Litres", "Litre price", "Fuel cost"), "Van Truck Tractor Mower Digger Loader Crane Bus Boat"),
    ("Tickets", ("Show", "Sold", "Ticket price", "Revenue"), "Opera Ballet Comedy Drama Jazz Choir Magic Circus Revue"),
    ("Rent", ("Room", "Nights", "Night rate", "Rent due"), "Oak Elm Ash Birch Pine Cedar Maple Willow Larch"),
    ("Seeds", ("Plant", "Packets", "Packet price", "Seed cost"), "Bean Pea Leek Kale Beet Carrot Radish Onion Chard"),
    ("Print", ("Leaflet", "Copies", "Copy price", "Print cost"), "Map Menu Flyer Poster Card Badge Label Guide Form"),
    ("Repairs", ("Job", "Units", "Unit charge", "Charge"), "Roof Gutter Door Window Fence Gate Floor Boiler Pump"),
    ("Lessons", ("Course", "Sessions", "Session fee", "Fees"), "Piano Cello Flute Violin Guitar Drums Harp Voice Oboe"),
)

REQUESTS = (
    "In {file}, sheet {sheet}: the first {count} values of {quantity} are wrong, they should be {values}. Fill in "
    "{total} for every row of the table as a formula ({quantity} times {price}), format {total} as {code} and {price} "
    "as {price_code}. In the summary on the right enter the owner {owner}, the sum of {total} as a formula, {as_of} as "
    "the as-of date and {review} as the next review. When everything is in, set the status to {status} and save.",
    "Please finish {file}. On {sheet}, correct {quantity} from the top: {values}. {price} should show as {price_code}. "
    "{total} is {quantity} times {price}, a formula in each row of the table, shown as {code}. Summary: owner {owner}; "
    "sum = formula over {total}; as of {as_of}; next review {review} (both dates that can be sorted). Last of all put "
    "{status} as status and save.",
    "{file} needs an update on sheet {sheet}. The top {count} entries in {quantity} become {values}. Set the number "
    "format {price_code} on {price}. Then complete {total} with live formulas, {quantity} times {price}, for the rows "
    "of the table, number format {code}. Beside it: {owner} owns it, the sum stays a formula, the as-of date is "
    "{as_of}, the next review is on {review}. Finally the status is {status}. Save it under the same name.",
)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The numbers and words of one task."""

    sheet: str
    headings: tuple[str, ...]
    names: tuple[str, ...]
    quantities: tuple[int, ...]
    prices: tuple[float, ...]
    corrected: tuple[int, ...]
    owner: str
    as_of: date
    review: date
    status: str
    code: str
    price_code: str

    @property
    def last(self) -> int:
        return len(self.names) + 1

    @property
    def file(self) -> str:
        return f"{self.sheet.lower()}.xlsx"

    def workbook(self) -> Workbook:
        """The file as the agent finds it: no totals, an empty summary, and a second sheet that looks spare."""
        book = Workbook()
        page = book.active
        page.title = self.sheet
        page.append(self.headings)
        for record in zip(self.names, self.quantities, self.prices, strict=True):
            page.append(record)
        for row, label in enumerate(LABELS, start=1):
            page.cell(row, 6).value = label
        book.create_sheet("Notes")["A1"].value = "linked from the yearly report"
        return book

    def facts(self) -> dict[str, Any]:
        """What faults and accidents need to know: the last row, the results of the formulas, the two dates."""
        kept = self.quantities[len(self.corrected) :]
        quantities = (*self.corrected, *kept)
        totals = [round(quantity * price, 2) for quantity, price in zip(quantities, self.prices, strict=True)]
        return {
            "sheet": self.sheet,
            "last": self.last,
            "total": totals[0],
            "sum": round(sum(totals), 2),
            "as_of": self.as_of.isoformat(),
            "review": self.review.isoformat(),
        }


def make_task(random: Random, index: int) -> Task:
    """A task with its own table, values, wording and order of steps; `index` only rotates the subjects."""
    content = _content(random, index)
    words = {
        "file": content.file, "sheet": content.sheet, "count": len(content.corrected),
        "quantity": content.headings[1], "price": content.headings[2], "total": content.headings[3],
        "values": ", ".join(map(str, content.corrected)), "code": content.code, "price_code": content.price_code,
        "owner": content.owner, "as_of": content.as_of, "review": content.review, "status": content.status,
    }  # fmt: skip
    return Task(
        request=random.choice(REQUESTS).format(**words),
        file_name=content.file,
        workbook=content.workbook,
        plan=_plan(content, random),
        checks=_checks(content),
        facts=content.facts(),
        difficulty=random.choice((0.85, 1.0, 1.15)),
    )


def _content(random: Random, index: int) -> _Sheet:
    sheet, headings, names = THEMES[index % len(THEMES)]
    rows = random.randint(6, 9)
    day = date(2026, 1, 1) + timedelta(days=random.randrange(300))
    return _Sheet(
        sheet=sheet,
        headings=headings,
        names=tuple(random.sample(names.split(), rows)),
        quantities=tuple(random.randint(2, 90) for _ in range(rows)),
        prices=tuple(round(random.uniform(0.5, 80.0), 2) for _ in range(rows)),
        corrected=tuple(random.sample(range(12, 99), random.randint(2, 4))),
        owner=random.choice(OWNERS),
        as_of=day,
        review=day + timedelta(days=random.randint(20, 120)),
        status=random.choice(STATES),
        code=random.choice(CODES),
        price_code=random.choice(CODES),
    )


def _plan(content: _Sheet, random: Random) -> Plan:
    """Everything right. The order varies from task to task where it does not matter."""
    sheet, last = content.sheet, content.last

    def step(key: str, tool: str, **arguments: Any) -> Step:
        return Step(key, tool, {"sheet": sheet, **arguments})

    look = [step("last_row", "find_last_row", column="A"), step("read", "read_range", range=f"A1:C{last}")]
    block = f"B2:B{len(content.corrected) + 1}"
    early = [
        step("owner", "write_cell", cell="G1", value=content.owner),
        step("quantities", "write_range", range=block, values=[[value] for value in content.corrected]),
    ]
    table = [
        step("price_format", "set_number_format", range=f"C2:C{last}", format=content.price_code),
        step("formula", "write_cell", cell="D2", value="=B2*C2"),
        step("fill", "fill_down", range=f"D2:D{last}"),
        step("format", "set_number_format", range=f"D2:D{last}", format=content.code),
    ]
    late = [
        step("sum", "write_cell", cell="G2", value=f"=SUM(D2:D{last})"),
        step("as_of", "enter_date", cell="G3", date=content.as_of.isoformat()),
        step("review", "enter_date", cell="G4", date=content.review.isoformat()),
    ]
    for part in (look, early, late):
        random.shuffle(part)
    return (
        Step("open", "open_workbook", {"path": content.file}),
        *look,
        *early,
        *table,
        *late,
        step("status", "write_cell", cell="G5", value=content.status),
        step("look_over", "read_range", range=f"D1:G{last}"),
        Step("save", "save_workbook", {"path": content.file}),
        step("read_back", "read_range", range=f"A1:G{last}"),
    )


def _checks(content: _Sheet) -> tuple[checker.Check, ...]:
    sheet, last = content.sheet, content.last
    values = {f"B{row}": value for row, value in enumerate(content.corrected, start=2)}
    return (
        checker.sheets((sheet, "Notes")),
        checker.first_of(checker.header(sheet, "B1", content.headings[1]), checker.cells(sheet, values)),
        checker.formulas(sheet, {f"D{row}": f"=B{row}*C{row}" for row in range(2, last + 1)}),
        checker.nothing_below(sheet, "D", last),
        checker.number_format(sheet, f"D2:D{last}", content.code),
        checker.number_format(sheet, f"C2:C{last}", content.price_code),
        checker.cells(sheet, {"G1": content.owner}),
        checker.formulas(sheet, {"G2": f"=SUM(D2:D{last})"}),
        checker.cells(sheet, {"G3": content.as_of}),
        checker.cells(sheet, {"G4": content.review}),
        checker.cells(sheet, {"G5": content.status}),
    )
