"""Inner state of a long job on disk, so that an interrupted one goes on where it was.

A job's long computations are *sections*, begun one after another in an order that depends
on its inputs alone.  What a section has saved comes back to the section of the same number
when the job is started again: ``begin``, then ``offer`` at every step, and ``finish``.

Outside a job (:func:`opened`) sections save nothing, so that the functions which use them
stay pure.  State is arrays in one ``.npz``, written at most every 30 seconds and when the
job is told to stop; jobs shorter than that write nothing.
"""

import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kerhrm.storage.arrays import load_arrays, save_arrays

if TYPE_CHECKING:
    import torch
    from torch import Tensor

State = Mapping[str, np.ndarray]

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The job was told to stop, and its state is saved."""


class Journal:
    """State of all sections of one job; the arguments are those of :func:`opened`."""

    def __init__(self, path: Path, should_stop: Callable[[], str | None], interval: float) -> None:
        self.path, self.should_stop, self.interval = path, should_stop, interval
        self.states: dict[int, dict[str, np.ndarray]] = {}
        self.finished: set[int] = set()
        self.numbers = itertools.count()
        self.written = time.monotonic()
        if path.exists():
            arrays, facts = load_arrays(path)
            for key, array in arrays.items():
                number, _, name = key.partition(".")
                self.states.setdefault(int(number), {})[name] = array
            self.finished = set(facts["finished"])
            log.info("going on from %s: %d sections are done", path, len(self.finished))

    def offer(self, number: int, state: Callable[[], State]) -> None:
        """Save, if it is time to; raise :class:`Stopped`, if the job has to stop."""
        reason = self.should_stop()
        if reason is None and time.monotonic() - self.written < self.interval:
            return
        self.states[number] = dict(state())
        arrays = {f"{n}.{name}": a for n, s in self.states.items() for name, a in s.items()}
        save_arrays(self.path, arrays, {"finished": sorted(self.finished)})
        self.written = time.monotonic()
        if reason is not None:
            raise Stopped(f"{reason}; the state is in {self.path}")


class Section:
    """One computation of a job; ``saved`` is its state, or its result if ``finished``."""

    def __init__(self, name: str, journal: Journal | None) -> None:
        self.name, self.journal = name, journal
        self.number = next(journal.numbers) if journal else 0
        self.saved: State | None = journal.states.get(self.number) if journal else None
        self.finished = journal is not None and self.number in journal.finished
        self.start = self.shown = time.monotonic()

    def offer(self, state: Callable[[], State]) -> None:
        """Let the state be saved, if it is time to; :class:`Stopped` if the job has to stop."""
        if self.journal is not None:
            self.journal.offer(self.number, state)

    def progress(self, done: int, total: int, loss: Callable[[], float]) -> None:
        """Log how far the section is, at most every ten seconds."""
        now = time.monotonic()
        if done and now - self.shown >= 10:
            self.shown = now
            left = (now - self.start) / done * (total - done)
            log.info("%s: %d of %d, loss %.4f, %.0f s left", self.name, done, total, loss(), left)

    def finish(self, result: Callable[[], State]) -> None:
        """Hand in the result, which takes the place of the state."""
        if self.journal is not None and not self.finished:
            self.journal.states[self.number] = state = dict(result())
            self.journal.finished.add(self.number)
            self.journal.offer(self.number, lambda: state)


_current: ContextVar[Journal | None] = ContextVar("journal", default=None)


def recording() -> bool:
    """Whether a job runs, whose sections have to begin in their order."""
    return _current.get() is not None


def begin(name: str) -> Section:
    """Begin the next section of the running job."""
    return Section(name, _current.get())


def once(
    name: str, compute: "Callable[[], Mapping[str, Tensor]]", device: "torch.device"
) -> "Mapping[str, Tensor]":
    """A section without inner state: what it computed before, or else what it computes now."""
    import torch  # a second, which half of all jobs need not spend

    section = begin(name)
    if section.finished and section.saved is not None:
        return {key: torch.from_numpy(a).to(device) for key, a in section.saved.items()}
    result = compute()
    section.finish(lambda: {key: t.detach().cpu().numpy() for key, t in result.items()})
    return result


@contextlib.contextmanager
def opened(
    path: Path, should_stop: Callable[[], str | None] = lambda: None, interval: float = 30.0
) -> Iterator[None]:
    """Let sections save to ``path``, which goes when the body succeeds.

    They do so every ``interval`` seconds, and when ``should_stop`` gives a reason to.
    """
    token = _current.set(Journal(path, should_stop, interval))
    try:
        yield
    finally:
        _current.reset(token)
    path.unlink(missing_ok=True)
