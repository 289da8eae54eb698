"""How far something long is, and how long is left.

    for step in progress(range(1000), "training"):
        ...

shows nothing, and costs nothing, unless somebody watches: a fit with ``verbose=1``, the
command ``kerhrm check``, or a job of the workflow.

Who watches is a context variable, and no parameter.  Loops that last lie far below the
estimators, in functions that jobs and users call as well, and a parameter of all that
lie between would change none of their results.  A thread or process that starts has no
watcher, so that fits at the same time do not mix up their bars; and no estimator, copy
or file holds one.

On a terminal a loop is a bar; elsewhere a line a minute says how far it is.  Of loops
within loops the outer two are shown.
"""

import contextlib
import numbers
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

from kerhrm.errors import KerhrmError, shown

T = TypeVar("T")
Clock = Callable[[], float]

LINE_SECONDS = 60.0  #: between two lines
BAR_SECONDS = 0.5  #: that a loop takes before it has a bar
MOST_LOOPS = 2  #: that are shown at a time

#: of a stream that is full, closed, or has no such method: a fit goes on
UNWRITTEN = (AttributeError, OSError, ValueError)

_watcher: ContextVar["Watcher | None"] = ContextVar("kerhrm_progress", default=None)


def progress(iterable: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    """Items of a loop, which is shown to whoever watches.

    Parameters
    ----------
    iterable : iterable
        Returned as it is where nobody watches.
    what : str
        Plural noun of what the loop does, such as "iterations".
    total : int, optional
        Number of items; by default the length, where there is one.

    Returns
    -------
    iterable
        The same items.
    """
    watcher = _watcher.get()
    if watcher is None or watcher.is_full:
        return iterable
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    return _watched(watcher, iterable, what, total)


def _watched(
    watcher: "Watcher", iterable: Iterable[T], what: str, total: int | None
) -> Iterator[T]:
    with watcher.loop(what, total) as loop:
        for item in iterable:
            yield item
            watcher.advance(loop)


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[], None]]:
    """Show what is called back, as often as the function that is yielded is called."""
    watcher = _watcher.get()
    if watcher is None or watcher.is_full:
        yield lambda: None
        return
    with watcher.loop(what, None) as loop:
        yield lambda: watcher.advance(loop)


@dataclass(eq=False)
class Loop:
    """A loop that is shown.

    Attributes
    ----------
    what : str
        What it does.
    total : int or None
        Number of items.
    began : float
        Time by the watcher's clock.
    ended : float
        Time at which the last item ended.
    done : int
        Items that are done.
    known : int
        Of these, the ones that took no time, as an earlier start has done them.
    last : str
        Name of the last item.
    bar : tqdm or None
        On a terminal.
    """

    what: str
    total: int | None
    began: float
    ended: float
    done: int = 0
    known: int = 0
    last: str = ""
    bar: Any = None

    def __str__(self) -> str:
        if self.total is None and not self.done:
            return self.what
        of = "" if self.total is None else f" of {self.total}"
        last = f", the last one {self.last}" if self.last else ""
        return f"{self.what}: {self.done}{of}{last}"

    def left(self, now: float) -> float | None:
        """Seconds that are left, if all items last alike; None: none has ended."""
        n_timed = self.done - self.known
        if self.total is None or n_timed <= 0:
            return None
        if self.done >= self.total:
            return 0.0
        each = (self.ended - self.began) / n_timed
        of_this = max(0.0, each - (now - self.ended))
        return of_this + (self.total - self.done - 1) * each


class Watcher:
    """Loops that run, the outer ones first."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.loops: list[Loop] = []

    @property
    def is_full(self) -> bool:
        """Whether no further loop is shown."""
        return len(self.loops) >= MOST_LOOPS

    @contextlib.contextmanager
    def loop(self, what: str, total: int | None) -> Iterator[Loop]:
        """Show a loop while it runs."""
        began = self.clock()
        loop = Loop(what, total, began, began)
        self.loops.append(loop)
        self._begin(loop)
        try:
            yield loop
        finally:
            self.loops.remove(loop)
            self._end(loop)

    def advance(self, loop: Loop) -> None:
        """Count an item that is done."""
        loop.done += 1
        loop.ended = self.clock()

    def _begin(self, loop: Loop) -> None:
        """Show a loop that has no item done."""

    def _end(self, loop: Loop) -> None:
        """Show no more of a loop."""


class Bars(Watcher):
    """A bar of tqdm for each loop; outer ones stay, with the time that they took."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def advance(self, loop: Loop) -> None:
        """Count an item that is done, and draw the bar."""
        super().advance(loop)
        with contextlib.suppress(*UNWRITTEN):
            loop.bar.update()

    def _begin(self, loop: Loop) -> None:
        from tqdm import tqdm  # which nobody needs who watches nothing

        columns, rows = _size(self.stream)
        with contextlib.suppress(*UNWRITTEN):
            loop.bar = tqdm(
                total=loop.total,
                desc=loop.what,
                file=self.stream,
                leave=len(self.loops) == 1,
                delay=BAR_SECONDS,
                ncols=columns,
                nrows=rows,
            )

    def _end(self, loop: Loop) -> None:
        with contextlib.suppress(*UNWRITTEN):
            loop.bar.close()


def _size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of a terminal; 80 and 24 where it says 0, and tqdm would draw
    nothing."""
    columns, rows = 0, 0
    with contextlib.suppress(OSError, ValueError):
        columns, rows = os.get_terminal_size(stream.fileno())
    return columns or 80, rows or 24


class Lines(Watcher):
    """A line a minute, on all loops that run.

    ``write`` writes one.  Lines come from the loops themselves, and from another thread
    that calls ``beat``, so that a single long item is not silent.
    """

    def __init__(
        self, write: Callable[[str], object], clock: Clock = time.monotonic
    ) -> None:
        super().__init__(clock)
        self.write = write
        self.written = clock()
        self._writing = threading.Lock()

    def advance(self, loop: Loop) -> None:
        """Count an item that is done, and write a line if one is due."""
        super().advance(loop)
        self.beat()

    def beat(self) -> None:
        """Write a line if something runs, and the last line is a minute old."""
        if self.clock() - self.written < LINE_SECONDS:
            return
        if not self._writing.acquire(blocking=False):
            return
        try:
            loops = tuple(self.loops)
            if loops:
                self.write(self._line(loops))
                self.written = self.clock()
        finally:
            self._writing.release()

    def _line(self, loops: tuple[Loop, ...]) -> str:
        now = self.clock()
        parts = [str(loop) for loop in loops]
        parts.append(f"{duration(now - loops[0].began)} so far")
        for loop in loops:
            left = loop.left(now)
            if left is not None:
                of = "" if loop is loops[0] else f" of these {loop.what}"
                parts.append(f"about {duration(left)}{of} left")
                break
        return "; ".join(parts)


def duration(seconds: float) -> str:
    """A time in its largest unit, as "90 s", "12 min" or "2.5 h"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 5970:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextlib.contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Show loops to a watcher."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextlib.contextmanager
def shown_if(verbose: Any) -> Iterator[None]:
    """Show loops on standard error, if verbose is 1 and nobody watches already.

    Raises KerhrmError if it is no whole number of 0 or more.
    """
    whole = isinstance(verbose, numbers.Integral) and not isinstance(verbose, bool)
    if not whole or verbose < 0:
        problem = f"verbose must be a whole number of 0 or more; got {shown(verbose)}"
        raise KerhrmError(problem, "use verbose=1, or leave it out")
    if not verbose or _watcher.get() is not None or sys.stderr is None:
        yield
        return
    with watched(_watcher_of(sys.stderr)):
        yield


def _watcher_of(stream: TextIO) -> Watcher:
    """Bars on a terminal, lines elsewhere."""
    on_terminal = False
    with contextlib.suppress(*UNWRITTEN):
        on_terminal = stream.isatty()
    if on_terminal:
        return Bars(stream)

    def write(line: str) -> None:
        with contextlib.suppress(*UNWRITTEN):
            print(line, file=stream, flush=True)

    return Lines(write)
