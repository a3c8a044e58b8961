"""What a task of pack B is about: a list with double rows, entries to add, and a second list to look things up in.

The list: columns A to D are code, name, group, amount; E (looked up), F (formula) and G (mark) have headings only.
The second list, Directory: code, name as spelled there, and the word that belongs in column E. A third sheet, Summary,
has labels in A2 to A4.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from openpyxl import Workbook

LABELS = ("Prepared by", "Total", "Entries")
AUTHORS = ("Abara", "Brandt", "Costa", "Dimitrov", "Eklund", "Farouk", "Goswami", "Hansen", "Ibarra", "Jansen")
LEVELS = (("high", "low"), ("large", "small"), ("major", "minor"), ("full", "part"), ("upper", "lower"))
MARKS = ("letter", "visit", "reminder", "survey", "audit", "invitation", "parcel")
COUPLES = ("Ada Ben Cleo Dan Eve Finn Gus Hana Ivo Jana Karl Lena", "Berg Cole Diaz Ekman Frost Gale Hahn Irwin Jung")
FIRMS = ("Blue Green Silver Red Amber Copper Ivory Coral Jade Onyx", "Mill Forge Kiln Press Loom Dairy Bakery Joinery")
GOODS = ("Oak Pine Steel Brass Glass Stone Cork Wool Linen Felt", "Table Shelf Bench Frame Stool Rack Tray Chest")

# sheet, headings of columns B to G, names, groups, words of the second list
THEMES = (
    ("Members", "Member Branch Dues Mentor Level Mailing", COUPLES, "North South East West", "Olsen Park Quinn Rossi"),
    ("Suppliers", "Supplier Region Invoice Buyer Size Talk", FIRMS, "Coast Hills Plain Lakes", "Soto Tran Unger Vogel"),
    ("Pupils", "Pupil Class Fees Teacher Share Notice", COUPLES, "Heron Otter Badger Lynx", "Weiss Xu Young Zeller"),
    ("Catalogue", "Item Range Price Maker Band Action", GOODS, "Garden Kitchen Office Hall", "Aalto Breuer Eames Rams"),
    ("Donors", "Donor Circle Pledge Host Rank Thanks", COUPLES, "Spring Summer Autumn Winter", "Adler Boyd Cruz Dunn"),
    ("Stalls", "Stall Market Rent Warden Group Message", FIRMS, "Harbour Station Abbey Castle", "Evans Fox Green Hale"),
    ("Loans", "Object Museum Value Courier Class Task", GOODS, "Bergen Ghent Porto Turin", "Ives Jain Kent Lowe"),
    ("Staff", "Person Team Wage Lead Grade Event", COUPLES, "Sales Design Works Care", "Moss Nash Otto Pace"),
    ("Clients", "Client District Budget Agent Tier Call", FIRMS, "Canal Tower Garden Bridge", "Reid Shaw Todd Vane"),
    ("Samples", "Sample Source Weight Analyst Bin Step", GOODS, "Quarry River Field Attic", "Webb York Zorn Amin"),
)  # fmt: skip

Entry = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Content:
    """The numbers and words of one task. `entries` are those that belong in the list at first, `added` the new ones."""

    sheet: str
    headings: tuple[str, ...]
    entries: tuple[Entry, ...]
    doubled: tuple[int, ...]
    added: tuple[Entry, ...]
    spelled: dict[str, str]
    fetched: dict[str, str]
    percent: int
    limit: int
    levels: tuple[str, str]
    group: str
    other_group: str
    mark: str
    author: str

    @property
    def file(self) -> str:
        return f"{self.sheet.lower()}.xlsx"

    @property
    def title(self) -> str:
        return f"{self.sheet} overview"

    @property
    def listed(self) -> tuple[Entry, ...]:
        """All entries that the list should have in the end, sorted."""
        return tuple(sorted((*self.entries, *self.added)))

    @property
    def first_last(self) -> int:
        """The last row of the list as the agent finds it."""
        return len(self.entries) + len(self.doubled) + 1

    @property
    def last(self) -> int:
        """The last row of the list when all is done."""
        return len(self.listed) + 1

    @property
    def formula(self) -> str:
        yes, no = self.levels
        return f'=IF(D2>={self.limit},"{yes}","{no}")'

    def workbook(self) -> Workbook:
        """The file as the agent finds it. A copy of an entry stands right at the end of the list."""
        book = Workbook()
        page = book.active
        page.title = self.sheet
        page.append(("Code", *self.headings))
        for entry in (*self.entries, *(self.entries[index] for index in self.doubled)):
            page.append(entry)
        directory = book.create_sheet("Directory")
        directory.append(("Code", self.headings[0], self.headings[3]))
        for code, word in self.fetched.items():
            directory.append((code, self.spelled[code], word))
        summary = book.create_sheet("Summary")
        for row, label in enumerate(LABELS, start=2):
            summary.cell(row, 1).value = label
        return book

    def facts(self) -> dict[str, Any]:
        """What faults, habits and accidents need to know."""
        return {"sheet": self.sheet, "last": self.last, "limit": self.limit, "other_group": self.other_group}


def make_content(random: Random, index: int) -> Content:
    """The content of one task; `index` only rotates the subjects."""
    sheet, headings, names, groups, words = THEMES[index % len(THEMES)]
    first, more = random.randint(7, 10), random.randint(2, 4)
    entries = _entries(random, names, random.sample(groups.split(), 3), first + more)
    group, other_group, _ = (entry[2] for entry in entries[:3])
    return Content(
        sheet=sheet,
        headings=tuple(headings.split()),
        entries=tuple(entries[:first]),
        doubled=tuple(random.sample(range(first), 2)),
        added=tuple(entries[first:]),
        spelled=_spelled(random, entries),
        fetched={entry[0]: random.choice(words.split()) for entry in random.sample(entries, first + more)},
        percent=random.randint(2, 12),
        limit=random.randrange(60, 200, 10),
        levels=random.choice(LEVELS),
        group=group,
        other_group=other_group,
        mark=random.choice(MARKS),
        author=random.choice(AUTHORS),
    )


def _entries(random: Random, names: tuple[str, str], groups: list[str], count: int) -> list[Entry]:
    """Entries 1 and 2 have one name and are not the same; entry 0 has the highest code, so sorting moves new rows."""
    numbers = random.sample(range(100, 1000), count)
    highest = max(numbers)
    numbers.sort(key=lambda number: number != highest)
    pairs = [f"{one} {two}" for one in names[0].split() for two in names[1].split()]
    called = random.sample(pairs, count)
    called[2] = called[1]
    prefix = random.choice("KLMPRTW")
    return [
        (f"{prefix}{number}", name, groups[place % 3], random.randint(20, 300))
        for place, (number, name) in enumerate(zip(numbers, called, strict=True))
    ]


def _spelled(random: Random, entries: list[Entry]) -> dict[str, str]:
    """Code -> the name as the second list has it: a few, never one that two entries share, the other way round."""
    turned = random.sample([entry[0] for entry in entries[3:]], random.randint(2, 4))
    return {code: ", ".join(reversed(name.split())) if code in turned else name for code, name, _, _ in entries}
