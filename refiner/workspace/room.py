"""What every part of the desk shares: the database, the clock, the reviewer. No method of a page lives here."""

from __future__ import annotations

import getpass
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from storage import Store

REVIEWER = "reviewer"


@dataclass(frozen=True, slots=True)
class Room:
    """One open database. `lock` makes reading and then writing one act; `clock` gives seconds since 1970.

    `folder` is where the database lies.
    """

    store: Store
    clock: Callable[[], float]
    environ: Mapping[str, str]
    folder: Path = field(default_factory=Path)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def open(cls, path: Path, clock: Callable[[], float], environ: Mapping[str, str]) -> Room:
        """Opens or makes the database. Raises StoreBusy, SchemaTooNew or StoreError."""
        return cls(Store.open(path, clock=lambda: iso(clock())[:19] + "Z"), clock, environ, path.absolute().parent)

    def now(self) -> str:
        """The time in UTC with milliseconds."""
        return iso(self.clock())

    def reviewer(self) -> str:
        """Who decides: the stored name, else the login name."""
        return self.store.setting(REVIEWER) or _login()


def iso(seconds: float) -> str:
    """A time in UTC with milliseconds, `2026-01-31T12:00:00.000Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """Seconds since 1970 of such a time."""
    return datetime.fromisoformat(text).timestamp()


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "reviewer"
