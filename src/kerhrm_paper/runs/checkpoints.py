"""What a long job has computed so far, so that an interrupted one continues from there.

A job consists of units, as a seed and a candidate, whose results are arrays.  They are
written every ten seconds and when the job is stopped; a job that is started again with
the same inputs, parameters and code takes the results of the units that were done.
Once a minute the log says how many fits of how many are done, how far the current one
is, and about how long is left.  A job shows no bar: several of them share a terminal.
"""

import contextlib
import itertools
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from kerhrm.progress import Clock, Lines, Loop, watched
from kerhrm_paper.runs.arrays import load_arrays, save_arrays

Result = Mapping[str, np.ndarray]
log = logging.getLogger("kerhrm")


class Checkpoint:
    """Results of a job's units, in a folder.

    ``interval`` is the number of seconds between two writings, by ``clock``.
    """

    def __init__(
        self, folder: Path, interval: float = 10.0, clock: Clock = time.monotonic
    ) -> None:
        self.clock = clock
        self.lines = Lines(log.info, clock)
        self.fits: Loop | None = None
        self.folder = folder
        self.interval = interval
        self.done: dict[str, dict[str, np.ndarray]] = {}
        self.unsaved: dict[str, Result] = {}
        self.written = clock()
        for path in sorted(folder.glob("*.npz")):
            arrays, _ = load_arrays(path)
            for key, array in arrays.items():
                unit, _, name = key.partition("|")
                of_unit = self.done.setdefault(unit, {})
                of_unit[name] = array

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Say in the log how far the job is, while it runs."""
        with watched(self.lines), self.lines.loop("working", None) as self.fits:
            yield
        self.fits = None

    def expect(self, n_units: int) -> None:
        """Let the log say how many units the job has."""
        if self.fits is not None:
            self.fits.what = "fits"
            self.fits.total = n_units

    def leave_out(self) -> None:
        """Let the log count a unit less, as nothing computes it."""
        if self.fits is not None and self.fits.total is not None:
            self.fits.total -= 1

    def once(self, unit: str, compute: Callable[[], Result]) -> Result:
        """The unit's result: that of an earlier start of the job, else computed now."""
        if unit in self.done:
            self._count(unit, known=1)
            return self.done[unit]
        result = compute()
        self.unsaved[unit] = result
        self._count(unit)
        passed = self.clock() - self.written
        if passed >= self.interval:
            self.save()
        return result

    def each_seed(
        self, n_seeds: int, compute: Callable[[int], Result], prefix: str = ""
    ) -> list[Result]:
        """Results of all replicates, each a unit of the prefix and its number.

        Parameters
        ----------
        n_seeds : int
            How many there are.
        compute : callable
            The result of the replicate of a number.
        prefix : str
            Tells units apart of a job that has several for each replicate.
        """
        results = []
        for s in range(n_seeds):
            of_seed = partial(compute, s)
            result = self.once(f"{prefix}seed={s}", of_seed)
            results.append(result)
        return results

    def _count(self, unit: str, known: int = 0) -> None:
        """Count a unit for the log; ``known`` is 1 if an earlier start computed it."""
        if self.fits is not None:
            self.fits.last = unit
            self.fits.known += known
            self.lines.advance(self.fits)

    def save(self) -> None:
        """Write what has been computed since the last writing."""
        if not self.unsaved:
            return
        arrays = {}
        for unit, result in self.unsaved.items():
            for name, array in result.items():
                arrays[f"{unit}|{name}"] = array
        paths = (self.folder / f"{number:06d}.npz" for number in itertools.count())
        free = next(path for path in paths if not path.exists())
        save_arrays(free, arrays)
        self.unsaved = {}
        self.written = self.clock()

    def remove(self) -> None:
        """Remove what was written: the job is done."""
        shutil.rmtree(self.folder, ignore_errors=True)
