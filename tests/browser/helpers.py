"""The app as a child process and a person in front of it: opening pages, pressing keys, reading what is there.

Nothing here sleeps. Time passes only where a person takes it: reading a change, and moving the mouse on a picture.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, expect

from refiner.resources import ROOT

PAGES = ("corpus", "refine", "map", "review", "skill", "trace", "help")
UNFORESEEN = re.compile(r"error [0-9a-f]{8}\b|Uncaught app")
"""How the log speaks of an error that nobody foresaw; a tab that goes away leaves a trace in it, too."""
STILL = "[data-testid='stApp'][data-test-script-state='notRunning']"
PATIENCE = 30_000
"""Milliseconds that an element may take; far more than it does, for machines that do other work at the same time."""
READ = 850
"""Milliseconds that a person looks at a change: more than the 700 below which a decision does not count."""
MOVE = 200
"""Milliseconds between moving, pressing and releasing the mouse on a picture."""
PLACE = """(graph, key) => {
  const names = graph.data.at(-1);
  const at = names.customdata.findIndex(one => one[1] === key);
  const { xaxis, yaxis } = graph._fullLayout;
  const { left, top } = graph.getBoundingClientRect();
  return [left + xaxis._offset + xaxis.d2p(names.x[at]), top + yaxis._offset + yaxis.d2p(names.y[at])];
}"""
QUEUED = """() => {
  const rows = [...document.querySelectorAll("[class*='st-key-rv_pick_']")];
  return rows.length && rows.every(one => one.innerText.trim());
}"""
REPEAT = 33
"""Milliseconds between the repeats of a key that is held down."""
OWN = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": ""}
"""The code of this tree, wherever a package is installed from; compiled once and not at each start, as for a user."""
WIDE, HIGH, TALL = 1280, 860, 2600
SCREENS = ROOT / "build" / "screens"
expect.set_options(timeout=PATIENCE)


@dataclass
class App:
    """A running app. `server` is the process that has the database open, a child of `process`."""

    process: subprocess.Popen[str]
    url: str
    server: int
    database: Path
    log: Path

    def kill(self) -> None:
        """Ends the server without a word, as a crash would."""
        os.kill(self.server, signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> None:
        """Ends the app as Ctrl+C would; it lets the database go."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)

    def said(self) -> str:
        """What the server wrote into its log."""
        return self.log.read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(database: Path, port: int) -> list[str]:
    return [sys.executable, "-m", "refiner", "app", "--port", str(port), "--db", str(database)]


def start(database: Path, environ: Mapping[str, str] | None = None) -> App:
    """Starts `refiner app` on a free port and returns once it has said its address."""
    log = database.with_suffix(".log")
    with log.open("a") as err:
        process = subprocess.Popen(
            command(database, free_port()),
            cwd=ROOT,
            env={**os.environ, **OWN, **(environ or {})},
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
    assert process.stdout is not None
    url = next((line.strip() for line in process.stdout if line.strip().startswith("http://")), None)
    assert url, f"the app did not start:\n{log.read_text()}"
    noted = json.loads(database.with_suffix(".app.json").read_text())
    return App(process, url, int(noted["pid"]), database, log)


@contextmanager
def running(database: Path, environ: Mapping[str, str] | None = None) -> Iterator[App]:
    """The app on this database; whatever goes wrong on a page nobody foresaw is in its log and fails here."""
    app = start(database, environ)
    try:
        yield app
        assert not UNFORESEEN.search(app.said()), app.said()
    finally:
        app.stop()


@dataclass
class Screen:
    """One tab. `foreign`: addresses asked for beyond the server. `broken`: errors that scripts of the page raised."""

    page: Page
    url: str
    foreign: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def open(self, page: str = "", **params: str) -> Screen:
        """Goes to an address and waits until the page is drawn. The corpus page has the address of the app itself."""
        query = f"?{urlencode(params)}" if params else ""
        self.page.goto(f"{self.url}/{page.removeprefix('corpus')}{query}")
        return self.settle()

    def settle(self) -> Screen:
        """Waits until the script of the page has ended."""
        self.page.locator(STILL).wait_for(timeout=PATIENCE)
        return self

    def at(self, key: str) -> Locator:
        """The widget or container with this key."""
        return self.page.locator(f".st-key-{key}")

    def click(self, key: str) -> None:
        """Presses the button with this key."""
        self.at(key).get_by_role("button").first.click()

    def tab(self, name: str) -> None:
        """Goes to a page by its name on top."""
        self.page.get_by_test_id("stTopNavLink").filter(has_text=name).click()

    def param(self, name: str) -> str | None:
        """A value of the address bar."""
        return parse_qs(urlsplit(self.page.url).query).get(name, [None])[0]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def read(self) -> None:
        """Looks at what is on screen for as long as a person needs at the least."""
        self.settle()
        since = self.page.evaluate("performance.now()")
        self.page.wait_for_function(f"since => performance.now() - since > {READ}", arg=since)

    def says(self, words: str) -> None:
        """Waits for these words anywhere on the page."""
        expect(self.page.get_by_text(words).first).to_be_visible()

    def upload(self, key: str, *files: Any) -> None:
        """Gives files to the uploader whose key starts like this."""
        self.page.locator(f"[class*='st-key-{key}'] input[type=file]").set_input_files(list(files))

    def hold(self, key: str, times: int = 40) -> None:
        """Holds a key down as long as it takes a keyboard to repeat it so often, then lets it go."""
        for _ in range(times):
            self.page.keyboard.down(key)
            self.page.wait_for_timeout(REPEAT)
        self.page.keyboard.up(key)

    def picture(self, name: str, *, tall: bool = True) -> None:
        """Writes a screenshot for a person to look at; `tall` = with what is further down."""
        SCREENS.mkdir(parents=True, exist_ok=True)
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)
        high = self.page.get_by_test_id("stMain").evaluate("main => main.scrollHeight") if tall else HIGH
        self.page.set_viewport_size({"width": WIDE, "height": min(max(high + 60, HIGH), TALL)})
        self.page.screenshot(path=SCREENS / f"{name}.png", animations="disabled")
        self.page.set_viewport_size({"width": WIDE, "height": HIGH})

    # map

    def groups(self, side: str) -> list[str]:
        """The keys of the groups of a picture, the largest first, once it is drawn."""
        plot = self.page.locator(f"[class*='st-key-map_{side}_'] .js-plotly-plot")
        expect(plot).to_have_count(1)
        self.settle()
        return list(plot.evaluate("graph => graph.data.at(-1).customdata.map(([, key]) => key)"))

    def click_group(self, side: str, key: str, *, release: bool = True) -> None:
        """Clicks the most typical run of a group as a hand does; a quicker click is a drag to plotly, or nothing."""
        plot = self.page.locator(f"[class*='st-key-map_{side}_'] .js-plotly-plot")
        self.page.mouse.move(0, 0)
        self.page.wait_for_timeout(MOVE)
        self.page.mouse.move(*plot.evaluate(PLACE, key))
        self.page.wait_for_function("graph => graph._hoverdata?.length", arg=plot.element_handle())
        self.page.wait_for_timeout(MOVE)
        self.page.mouse.down()
        self.page.wait_for_timeout(MOVE)
        if release:
            self.page.mouse.up()

    # review

    def current(self) -> str:
        """The change that is shown."""
        here = self.page.locator("[class*='st-key-rv_row_here_']")
        expect(here).to_have_count(1)
        names = (here.get_attribute("class") or "").split()
        return next(one for one in names if one.startswith("st-key-rv_row_here_")).removeprefix("st-key-rv_row_here_")

    def marks(self) -> dict[str, str]:
        """The queue as it is drawn: the mark of each change by its id."""
        self.page.wait_for_function(QUEUED)
        rows = self.page.locator("[class*='st-key-rv_pick_']").evaluate_all(
            "all => all.map(one => [[...one.classList].find(name => name.startsWith('st-key-rv_pick_')), "
            "one.innerText.trim()])"
        )
        return {name.removeprefix("st-key-rv_pick_"): words[:1] for name, words in rows}

    def decided(self, number: int, total: int) -> None:
        """Waits until so many are decided and the page is drawn to its end."""
        expect(self.page.locator(".rv-progress")).to_contain_text(f"{number} of {total}")
        self.settle()

    def shows(self, change_id: str) -> None:
        """Waits until this change is the one on screen."""
        expect(self.at(f"rv_row_here_{change_id}")).to_be_visible()
        self.settle()

    def go_to(self, change_id: str) -> None:
        """Picks a change in the queue."""
        self.click(f"rv_pick_{change_id}")
        self.shows(change_id)


@contextmanager
def window(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A window of its own, as wide as a laptop; its tabs share what they have loaded."""
    own = browser.new_context(viewport={"width": WIDE, "height": HIGH}, accept_downloads=True, **options)
    own.set_default_timeout(PATIENCE)
    try:
        yield own
    finally:
        own.close()


@contextmanager
def tab(window: BrowserContext, url: str) -> Iterator[Screen]:
    """A tab in a session of its own. What it asks beyond the server is noted, and fails at the end."""
    screen = Screen(window.new_page(), url)

    def note(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            screen.foreign.append(request.url)

    screen.page.on("request", note)
    screen.page.on("pageerror", lambda error: screen.broken.append(str(error)))
    try:
        yield screen
        assert screen.foreign == []
        assert screen.broken == []
    finally:
        screen.page.close()
