"""What a long job has computed so far, so that an interrupted one continues from there.

A job consists of units, as a seed and a candidate, whose results are arrays.  They are
written every ten seconds and when the job is stopped; a job that is started again with
the same inputs, parameters and code takes the results of the units that were done.
Once a minute the log says how far the job is.
"""

import itertools
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from kerhrm_paper.runs.arrays import load_arrays, save_arrays

Result = Mapping[str, np.ndarray]
PROGRESS_SECONDS = 60.0  #: between two lines in the log

log = logging.getLogger("kerhrm")


class Checkpoint:
    """Results of a job's units, in a folder.

    ``interval`` is the number of seconds between two writings.
    """

    def __init__(self, folder: Path, interval: float = 10.0) -> None:
        self.folder = folder
        self.interval = interval
        self.done: dict[str, dict[str, np.ndarray]] = {}
        self.unsaved: dict[str, Result] = {}
        self.written = self.logged = time.monotonic()
        self.n_computed = 0
        for path in sorted(folder.glob("*.npz")):
            arrays, _ = load_arrays(path)
            for key, array in arrays.items():
                unit, _, name = key.partition("|")
                of_unit = self.done.setdefault(unit, {})
                of_unit[name] = array

    def once(self, unit: str, compute: Callable[[], Result]) -> Result:
        """The unit's result: that of an earlier start of the job, else computed now."""
        if unit in self.done:
            return self.done[unit]
        result = compute()
        self.unsaved[unit] = result
        self.n_computed += 1
        now = time.monotonic()
        if now - self.logged >= PROGRESS_SECONDS:
            n_done = len(self.done) + self.n_computed
            log.info("%d fits done, the last one of %s", n_done, unit)
            self.logged = now
        if now - self.written >= self.interval:
            self.save()
        return result

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
        self.written = time.monotonic()

    def remove(self) -> None:
        """Remove what was written: the job is done."""
        shutil.rmtree(self.folder, ignore_errors=True)
