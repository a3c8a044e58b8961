"""Hostile files and texts: what a file is called or holds writes nothing elsewhere, and no text becomes markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus import SKILL, Corpus, Record, call, lines, run, workbook
from format_samples import packed
from playwright.sync_api import expect
from rooms import fill, opened, refine, upload

from browser import helpers
from browser.conftest import Tabs

NAME = '<b class="pwned" onclick="pwned=1">'
TAGS = (
    '<script>window.pwned=1</script><img src="http://pixel.example/a.png" onerror="window.pwned=1">'
    '<b class="pwned">b</b> ![x](http://pixel.example/b.png) [y](http://pixel.example/c) :red[z] $x$ '
    "<style>.stApp{display:none}</style>"
)
MARKUP = ".pwned, [src*='pixel.example'], [href*='pixel.example'], [onerror], .katex"
CORPUS = '<b class="pwned"><img src=x onerror="pwned=1">![x](y)'


def poisoned(corpus: Corpus) -> Corpus:
    """The same runs with tags in every field: ids, tasks, tools, arguments, outputs, models, feedback, skill."""
    ids = {one["trace_id"]: f"{one['trace_id']} {TAGS}" for one in corpus.traces}
    return Corpus(
        tuple(_poisoned(one, ids) for one in corpus.traces),
        {ids[name]: value for name, value in corpus.rewards.items()},
        {ids[name]: f"{words} {TAGS}" for name, words in corpus.feedback.items()},
        SKILL.replace("## Saving", f"## Saving {NAME}").replace("## Sheets", f"{TAGS}\n\n## Sheets {TAGS}"),
    )


def _poisoned(one: Record, ids: dict[str, str]) -> Record:
    spans = [_span(span) for span in one["spans"]]
    return {
        **one,
        "trace_id": ids[one["trace_id"]],
        "task_id": f"{one['task_id']} {TAGS}",
        "model": TAGS,
        "spans": spans,
    }


def _span(span: Record) -> Record:
    made = {**span, "output_text": f"{span['output_text']} {TAGS}"}
    if "input_text" in span:
        arguments = {name: f"{value} {TAGS}" for name, value in json.loads(span["input_text"]).items()}
        made |= {"name": f"{span['name']} {NAME}", "input_text": json.dumps(arguments), "error": TAGS}
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database, three folders below one that nothing may be written to."""
    folder = tmp_path_factory.mktemp("hostile") / "a" / "b"
    folder.mkdir(parents=True)
    return folder / "refiner.duckdb"


@pytest.fixture(scope="module")
def refinement(place: Path) -> str:
    """A refinement of runs full of tags, by a reviewer who is called one."""
    desk = opened(place)
    fill(desk, poisoned(workbook()), CORPUS)
    desk.set_reviewer(CORPUS)
    made = refine(desk, CORPUS)
    desk.ingest(CORPUS, [upload(f"{NAME}.jsonl", f'{{"{TAGS}": 1}}\n')])
    desk.close()
    return made


@pytest.fixture(scope="module")
def app(place: Path, refinement: str) -> Iterator[helpers.App]:
    with helpers.running(place) as started:
        yield started


def harmless(screen: helpers.Screen) -> None:
    """Nothing of the tags became an element, ran, or hid the page."""
    screen.settle()
    expect(screen.page.locator(MARKUP)).to_have_count(0)
    assert screen.page.evaluate("window.pwned") is None
    expect(screen.page.get_by_test_id("stApp")).to_be_visible()


def test_no_text_becomes_markup_on_any_page(screen: helpers.Screen, refinement: str) -> None:
    given: dict[str, Any] = {"corpus": CORPUS, "refinement": refinement}
    for page, params in [
        ("corpus", {}),
        ("corpus", {"view": "traces"}),
        ("corpus", {"view": "hand"}),
        ("corpus", {"view": "skill"}),
        ("refine", {}),
        ("map", {"colour": "task"}),
        ("skill", {"preview": "supported"}),
        ("skill", {"preview": "supported", "view": "Side by side"}),
        ("skill", {"preview": "supported", "view": "Rendered"}),
    ]:
        screen.open(page, **given, **params)
        expect(screen.page.locator(".sr-title h1")).to_be_visible()
        harmless(screen)
        expect(screen.page.locator(".sr-id")).to_have_count(0)


def test_no_text_becomes_markup_while_it_is_reviewed(screen: helpers.Screen, refinement: str) -> None:
    screen.open("review", refinement=refinement)
    screen.says('<b class="pwned" onclick="pwned=1">')
    ids = list(screen.marks())
    harmless(screen)
    for tab in ("Counter-examples", "All in group"):
        screen.page.get_by_role("tab", name=tab).click()
        harmless(screen)
    screen.press("e")
    expect(screen.at("rv_text")).to_be_visible()
    screen.read()
    screen.at("rv_text").get_by_role("textbox").fill(f"- {TAGS}")
    screen.press("Control+Enter")
    screen.read()
    harmless(screen)
    screen.go_to(ids[-1])
    screen.read()
    screen.press("x")
    screen.at("rv_why").get_by_role("textbox").fill(TAGS)
    screen.press("Tab")
    screen.page.get_by_role("button", name="Other").click()
    screen.read()
    screen.go_to(ids[-1])
    harmless(screen)
    screen.press("o")
    expect(screen.page.locator(".rv-trace-head")).to_be_visible()
    harmless(screen)


def test_an_exported_report_asks_for_nothing_and_runs_nothing(
    screen: helpers.Screen, tabs: Tabs, refinement: str, tmp_path: Path
) -> None:
    screen.open("skill", refinement=refinement)
    base = screen.at("sk_export_base")
    expect(base.or_(screen.at("sk_get_report")).first).to_be_visible()
    if base.count():
        screen.click("sk_export_base")
    with screen.page.expect_download() as waited:
        screen.click("sk_get_report")
    report = tmp_path / "report.html"
    waited.value.save_as(report)
    away = tabs(report.as_uri())
    away.page.goto(away.url)
    expect(away.page.locator("h1").first).to_be_visible()
    assert away.page.evaluate("window.pwned") is None
    expect(away.page.locator(MARKUP)).to_have_count(0)


def one(name: str, text: str = "x") -> bytes:
    """A file with one trace."""
    return lines([run(name, text, [call("save_workbook")])])


def test_hostile_uploads_are_refused_in_words_and_the_rest_is_taken(screen: helpers.Screen, place: Path) -> None:
    files = {
        "../../climbed.jsonl": one("climbed"),
        "climbs.zip": packed({"../../../escaped.jsonl": one("escaped"), "/etc/absolute.jsonl": one("absolute")}),
        "bomb.zip": packed({"bomb.jsonl": b"\0" * 60_000_000, "kept.jsonl": one("kept")}),
        "long.jsonl": one("long", "x" * 1_000_000),
        "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(64),
        "empty.jsonl": b"",
        "cut.zip": packed({"cut.jsonl": one("cut")})[:-30],
    }
    screen.open("corpus", corpus=CORPUS)
    screen.click("new_corpus")
    screen.at("new_corpus_name").get_by_role("textbox").fill(f"up {NAME}")
    screen.press("Enter")
    screen.says("is there. Add traces to it below.")
    payloads = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files.items()]
    screen.upload("upload_files", *payloads)
    screen.says("The last upload")
    harmless(screen)
    said = " ".join(screen.page.get_by_test_id("stMain").inner_text().split())
    assert "5 new traces" in said
    for words in ("more than 200 times its size", "the file is empty", "the zip archive is damaged", "picture.png"):
        assert words in said
    assert "../" not in said
    written = {path.relative_to(place.parents[2]).as_posix() for path in place.parents[2].rglob("*") if path.is_file()}
    assert written <= {f"a/b/refiner.{kind}" for kind in ("duckdb", "duckdb.wal", "log", "app.json")}
    assert not list(helpers.ROOT.glob("*.jsonl"))
    screen.open("corpus", corpus=CORPUS)
    expect(screen.page.locator(".sr-metric").first).to_contain_text("48")


def test_label_files_that_fit_nothing_name_ids_of_both_kinds(screen: helpers.Screen) -> None:
    screen.open("corpus", corpus=CORPUS, view="labels")
    rows = "trace_id,outcome\n" + "".join(f"other-{number},fail\n" for number in range(5))
    screen.upload("labels_file", {"name": "labels.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    expect(screen.at("labels_file")).to_contain_text("labels.csv")
    screen.at("labels_attach").get_by_role("button").click()
    error = screen.page.locator(".sr-error").filter(has_text="not one of the 5 labels")
    expect(error).to_contain_text("other-0")
    expect(error).to_contain_text("other-2")
    expect(error).to_contain_text("task00-run0")
    harmless(screen)
