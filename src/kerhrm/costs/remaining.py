"""How much longer a run will take, told while it goes on."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kerhrm.costs.predict import duration
from kerhrm.costs.schedule import Task, plan

#: seconds from one line to the next
PAUSE = 60.0
#: seconds of a run that go as predicted, whatever was seen: the first jobs tell little
TRUST = 60.0


@dataclass
class Remaining:
    """Time that is left of jobs that were predicted, corrected by those that have ended."""

    tasks: Mapping[int, Task]
    cores: int
    now: Callable[[], float] = time.monotonic
    ended: set[int] = field(default_factory=set)
    running: dict[int, float] = field(default_factory=dict)  #: since when

    def __post_init__(self) -> None:
        self._began = self.now()
        self.predicted = plan(self.tasks, self.cores).seconds  #: of the whole run

    def begin(self, number: int) -> None:
        """A job begins."""
        self.running[number] = self.now()

    def end(self, number: int) -> None:
        """A job has ended."""
        self.running.pop(number, None)
        self.ended.add(number)

    def seconds(self) -> float:
        """Wall time that is left: what was predicted of it, times the pace so far.

        The pace is the time that has gone, over what was predicted of it, drawn towards 1 as if
        :data:`TRUST` seconds had gone as predicted.
        """
        now = self.now()
        gone = now - self._began
        left = {
            number: replace(
                task,
                seconds=max(0.0, task.seconds - now + self.running.get(number, now)),
                needs=[needed for needed in task.needs if needed not in self.ended],
            )
            for number, task in self.tasks.items()
            if number not in self.ended
        }
        predicted = plan(left, self.cores).seconds
        pace = (gone + TRUST) / (max(0.0, self.predicted - predicted) + TRUST)
        return pace * predicted


class TimeLeft(logging.Handler):
    """Listens to the events of Snakemake's logger, and says the time left once in a while.

    Parameters
    ----------
    remaining : Remaining
        Its jobs by Snakemake's ids.
    say : callable
        Of a line.
    """

    def __init__(self, remaining: Remaining, say: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._remaining, self._say = remaining, say
        self._last = remaining.now()

    def emit(self, record: logging.LogRecord) -> None:
        event = str(getattr(getattr(record, "event", None), "value", ""))
        if event == "job_started":
            for number in getattr(record, "jobs", []):
                self._remaining.begin(number)
        elif event == "job_finished":
            self._remaining.end(getattr(record, "job_id", -1))
            self._tell()

    def _tell(self) -> None:
        remaining = self._remaining
        jobs = len(remaining.tasks.keys() - remaining.ended)
        if not jobs or not remaining.predicted or remaining.now() - self._last < PAUSE:
            return
        self._last = remaining.now()
        self._say(f"kerhrm: about {duration(remaining.seconds())} left, {jobs} jobs")
