"""Time left of a run, with a clock of its own, against what then passes."""

import logging

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from kerhrm.costs.remaining import PAUSE, TRUST, Remaining, TimeLeft
from kerhrm.costs.schedule import Task


class Clock:
    """Stands still unless it is told otherwise."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def tasks(count: int, seconds: float = 100.0) -> dict[int, Task]:
    """One after the other."""
    return {n: Task(seconds, 1, 1.0, [n - 1] if n else []) for n in range(count)}


def test_it_begins_with_the_prediction(clock: Clock) -> None:
    assert Remaining(tasks(3), 1, clock).seconds() == 300
    assert Remaining({n: Task(100.0, 1, 1.0, []) for n in range(4)}, 2, clock).seconds() == 200


def test_a_run_as_predicted_leaves_what_was_predicted(clock: Clock) -> None:
    remaining = Remaining(tasks(3), 1, clock)
    for number in range(3):
        remaining.begin(number)
        clock.now += 40
        assert remaining.seconds() == 260 - 100 * number
        clock.now += 60
        remaining.end(number)
    assert remaining.seconds() == 0


@pytest.mark.parametrize("slower", [0.5, 2.0, 5.0])
def test_another_pace_is_learned_soon(clock: Clock, slower: float) -> None:
    remaining = Remaining(tasks(40), 1, clock)
    for number in range(20):
        remaining.begin(number)
        clock.now += 100 * slower
        remaining.end(number)
    true = 20 * 100 * slower
    assert remaining.seconds() == pytest.approx(true, rel=2 * TRUST / 2000 * abs(1 - 1 / slower))
    assert remaining.seconds() == pytest.approx(true, rel=0.06)


def test_a_job_that_will_not_end_makes_the_rest_longer(clock: Clock) -> None:
    remaining = Remaining(tasks(2), 1, clock)
    remaining.begin(0)
    clock.now += 1000
    assert remaining.seconds() > 100 * 1000 / (100 + TRUST)


def event(kind: LogEvent, **told: object) -> logging.LogRecord:
    record = logging.LogRecord("snakemake", logging.INFO, "", 0, None, None, None)
    vars(record).update(event=kind, **told)
    return record


def test_snakemake_s_events_are_told_once_in_a_while(clock: Clock) -> None:
    said: list[str] = []
    listener = TimeLeft(Remaining(tasks(5), 1, clock), said.append)
    logger = logging.Logger("snakemake")
    logger.addHandler(listener)
    for number in range(5):
        logger.handle(event(LogEvent.JOB_STARTED, jobs=[number]))
        clock.now += PAUSE / 2
        logger.handle(event(LogEvent.PROGRESS, done=number, total=5))
        logger.handle(event(LogEvent.JOB_FINISHED, job_id=number))
    logger.handle(logging.LogRecord("snakemake", logging.INFO, "", 0, "words", None, None))
    assert [line.split(", ")[-1] for line in said] == ["3 jobs", "1 jobs"]
    assert said[0].startswith("kerhrm: about ")
    assert said[0].endswith(" left, 3 jobs")


def test_of_jobs_that_nobody_knows_nothing_is_said(clock: Clock) -> None:
    said: list[str] = []
    listener = TimeLeft(Remaining(tasks(3, seconds=0.0), 1, clock), said.append)
    clock.now += 2 * PAUSE
    listener.emit(event(LogEvent.JOB_FINISHED, job_id=0))
    assert said == []
