"""Steps on this machine: one after another, or on a pool of threads. A step's own failure never stops the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Any

from refiner.errors import AnalystError, EmbedderError, Waiting
from refiner.ports import Done, Tools
from refiner.types import Step

Run = Callable[[Step, Tools], tuple[Any, ...]]


def attempt(run: Run, step: Step, tools: Tools, clock: Callable[[], float] = time.perf_counter) -> Done:
    """The step's records, or its error as text. What would fail every other step as well (auth, disk, bugs) is raised.

    A step whose reply comes later is neither: see `Done.waiting_in`.
    """
    started = clock()
    try:
        records = run(step, tools)
    except Waiting as waiting:
        return Done(step, seconds=clock() - started, waiting_in=waiting.where)
    except (AnalystError, EmbedderError) as error:
        if error.systemic if isinstance(error, AnalystError) else not error.retryable:
            raise
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
    """`workers` steps at a time, yielded as they end. Closing the iterator lets running steps end and starts no more.

    What is raised in one step is raised once the others that were running have ended and been yielded: their replies
    are paid for.
    """

    workers: int = 16

    def map(self, run: Run, steps: Iterable[Step], tools: Tools) -> Iterator[Done]:
        waiting = iter(steps)
        ended: SimpleQueue[Future[Done]] = SimpleQueue()
        running = 0
        stopped: BaseException | None = None
        with ThreadPoolExecutor(self.workers) as pool:
            while True:
                for step in islice(waiting, 0 if stopped else self.workers - running):
                    pool.submit(attempt, run, step, tools).add_done_callback(ended.put)
                    running += 1
                if not running:
                    break
                future = ended.get()
                running -= 1
                problem = future.exception()
                if problem is None:
                    yield future.result()
                stopped = stopped or problem
        if stopped is not None:
            raise stopped
