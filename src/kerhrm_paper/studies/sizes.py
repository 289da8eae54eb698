"""What a fit takes: processor seconds and memory over rows, columns and networks.

Each fit has a process of its own, whose largest memory is that of the fit, its rows and
the imports.  Table ``sizes`` has a row for each.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from pandas import DataFrame

from kerhrm_paper.studies import one_fit
from kerhrm_paper.studies.study import Files, Study, Unit, keyed

SIZES = "sizes"
KEY = "task", "width", "rows", "columns"
SHAPES = (
    (2_000, 64),
    (10_000, 256),
    (50_000, 128),
    (50_000, 512),
    (50_000, 1024),
    (200_000, 128),
    (1_000_000, 20),
)
#: of the hidden layer; 0 is a network that is linear in the columns
WIDTHS = 0, 1024


def units(files: Files) -> Iterator[Unit]:
    """A unit for each fit."""
    tasks = ("classification", "regression")
    for task, width in product(tasks, WIDTHS):
        for n, d in SHAPES:
            key = keyed(KEY, (task, width, n, d))
            fit = partial(measured, key)
            yield Unit(SIZES, key, fit)


def measured(key: dict[str, Any]) -> DataFrame:
    """Cost of one fit, in a row."""
    text = json.dumps(key)
    command = [sys.executable, "-m", one_fit.__name__, text]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row = json.loads(done.stdout)
    return DataFrame([row])


STUDY = Study(units=units)
