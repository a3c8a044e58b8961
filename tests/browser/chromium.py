"""Which Chromium the browser tests use. `python -m tests.browser.chromium` prints its path, or how to get one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

VARIABLE = "CHROMIUM_PATH"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--disable-gpu",
)
MISSING = f"""No Chromium was found, and the browser tests need one. Install it, then run make test again:
    Debian, Ubuntu:  apt-get update && apt-get install -y chromium
    anywhere else:   {os.path.relpath(sys.executable)} -m playwright install chromium
One that is not on the search path: {VARIABLE}=/path/to/chromium make test"""


class NoChromium(Exception):
    """There is none; the message says how to get one."""


def executable(playwright: Playwright) -> str:
    """The path: what CHROMIUM_PATH names, else the first one by name, else Playwright's own. Raises NoChromium."""
    if given := os.environ.get(VARIABLE):
        if not os.access(given, os.X_OK):
            raise NoChromium(f"{VARIABLE} names {given}, which cannot be run; set it to a Chromium, or unset it")
        return given
    named = next((path for name in NAMES if (path := shutil.which(name))), None)
    own = playwright.chromium.executable_path
    if named is None and not Path(own).exists():
        raise NoChromium(MISSING)
    return named or own


@contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium without a window. Raises NoChromium."""
    with started() as playwright:
        path = executable(playwright)
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS), env=dict(os.environ))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def started() -> Iterator[Playwright]:
    """Playwright, which looks for its own browser in the home of the user, whatever home the tests are given."""
    home = os.environ.get("HOME")
    if home and (own := _home_of_user()):
        os.environ["HOME"] = own
    manager = sync_playwright()
    try:
        playwright = manager.__enter__()
    finally:
        if home:
            os.environ["HOME"] = home
    try:
        yield playwright
    finally:
        manager.__exit__(None, None, None)


def _home_of_user() -> str | None:
    try:
        import pwd
    except ImportError:
        return None
    return pwd.getpwuid(os.getuid()).pw_dir


def main() -> int:
    try:
        with started() as playwright:
            print(executable(playwright))
    except NoChromium as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
