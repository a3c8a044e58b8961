"""Steps on this machine: one after another, or on a pool of threads. A step's own failure never stops the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any

from refiner.errors import AnalystError, AuthFailed, EmbedderError
from refiner.ports import Done, Tools
from refiner.types import Step

Run = Callable[[Step, Tools], tuple[Any, ...]]


def attempt(run: Run, step: Step, tools: Tools, clock: Callable[[], float] = time.perf_counter) -> Done:
    """The step's records, or its error as text. What would fail every other step as well (auth, disk, bugs) is raised."""
    started = clock()
    try:
        records = run(step, tools)
    except AuthFailed:
        raise
    except (AnalystError, EmbedderError) as error:
        return Done(step, error=str(error), seconds=clock() - started)
    return Done(step, records, seconds=clock() - started)


@dataclass(frozen=True, slots=True)
class InlineExecutor:
    """One step after the other, in order."""

    def map(self, run: Run, steps: Iterable[Step], tools: Tools) -> Iterator[Done]:
        for step in steps:
            yield attempt(run, step, tools)


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """`workers` steps at a time, yielded as they end. Closing the iterator lets running steps end and starts no more."""

    workers: int = 16

    def map(self, run: Run, steps: Iterable[Step], tools: Tools) -> Iterator[Done]:
        waiting = iter(steps)
        with ThreadPoolExecutor(self.workers) as pool:
            running: set[Future[Done]] = set()
            while True:
                for step in islice(waiting, self.workers - len(running)):
                    running.add(pool.submit(attempt, run, step, tools))
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    yield future.result()
