"""The worker: one job at a time, stopped only between steps, and never lost without a word."""

from __future__ import annotations

import threading

import pytest

from refiner.errors import JobRunning
from refiner.jobs import Stopped, Ticket, Worker


class Lost(list[tuple[str, str]]):
    """Remembers jobs that ended with an exception."""

    def __call__(self, name: str, error: BaseException) -> None:
        self.append((name, str(error)))


def test_a_job_runs_in_another_thread_and_leaves_the_worker_free() -> None:
    worker, seen = Worker(Lost()), list[object]()

    def work(ticket: Ticket) -> None:
        seen.extend([ticket.name, worker.running(), threading.current_thread() is threading.main_thread()])

    with worker.claim() as go:
        assert worker.running() is None
        go("first", work)
    assert worker.join(60)
    assert seen == ["first", "first", False]
    assert worker.running() is None


def test_a_second_job_is_refused_while_one_is_prepared_or_at_work() -> None:
    worker, gate = Worker(Lost()), threading.Event()
    with worker.claim() as go:
        with pytest.raises(JobRunning, match="only one runs at a time"), worker.claim():
            pass
        go("first", lambda ticket: gate.wait(60) and None)
    with pytest.raises(JobRunning), worker.claim():
        pass
    gate.set()
    assert worker.join(60)
    with worker.claim():
        pass


def test_a_preparation_that_fails_leaves_the_worker_free() -> None:
    worker = Worker(Lost())
    with pytest.raises(ValueError, match="no plan"), worker.claim():
        raise ValueError("no plan")
    with worker.claim():
        pass


def test_a_job_stops_at_its_next_check_and_only_when_it_is_the_one_meant() -> None:
    worker, passed = Worker(Lost()), list[str]()

    def work(ticket: Ticket) -> None:
        assert not worker.stop("another")
        ticket.check()
        passed.append("first step")
        assert worker.stop("job")
        try:
            ticket.check()
        except Stopped as stopped:
            passed.append(stopped.why)

    with worker.claim() as go:
        go("job", work)
    assert worker.join(60)
    assert passed == ["first step", "cancel"]
    assert not worker.stop("job")


def test_what_leaves_a_job_is_handed_over() -> None:
    lost = Lost()
    worker = Worker(lost)

    def work(ticket: Ticket) -> None:
        raise RuntimeError("no disk")

    with worker.claim() as go:
        go("job", work)
    assert worker.join(60)
    assert lost == [("job", "no disk")]
    assert worker.running() is None


def test_closing_stops_the_job_waits_for_it_and_takes_no_other() -> None:
    gate, why = threading.Event(), list[str]()

    class Joining(Worker):
        def join(self, seconds: float | None = None) -> bool:
            gate.set()  # the job has been told to stop by now
            return super().join(seconds)

    def work(ticket: Ticket) -> None:
        gate.wait(60)
        try:
            ticket.check()
        except Stopped as stopped:
            why.append(stopped.why)

    worker = Joining(Lost())
    with worker.claim() as go:
        go("job", work)
    worker.close()
    assert why == ["close"]
    with pytest.raises(JobRunning, match="closed"), worker.claim():
        pass
