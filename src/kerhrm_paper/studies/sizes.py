"""What a fit takes: processor seconds and memory over rows, columns and networks.

Each fit has a process of its own (:mod:`kerhrm_paper.studies.apart`).  Table ``sizes``
has a row for each.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.randomness import stream
from kerhrm_paper.studies.apart import Prepared, measured
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
#: of which all columns are mixtures
FACTORS = 10
#: share of the rows in which the second factor is turned
TURNED = 0.2


def units(files: Files) -> Iterator[Unit]:
    """A unit for each fit."""
    tasks = ("classification", "regression")
    for task, width in product(tasks, WIDTHS):
        for n, d in SHAPES:
            key = keyed(KEY, (task, width, n, d))
            fit = partial(measured, __name__, key)
            yield Unit(SIZES, key, fit)


def prepare(key: dict[str, Any]) -> Prepared:
    """Rows of a size, and the estimator that is fitted to them."""
    x, y = rows(key["rows"], key["columns"], key["task"])
    kinds = {
        "classification": KerHRMClassifier,
        "regression": KerHRMRegressor,
    }
    width = key["width"]
    network = (width,) if width else ()
    kind = kinds[key["task"]]
    model = kind(network=network, random_state=0, n_jobs=1)
    return Prepared(
        fit=lambda: model.fit(x, y),
        describe=lambda fitted: {"predictor": fitted.predictor_},
    )


def rows(n: int, d: int, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d), float32, and targets (n,), of columns that are related.

    As in embeddings, the columns are mixtures of a few factors, and noise.  The first
    factor holds everywhere, the second one turns in a fifth of the rows.
    """
    random = stream(0, "sizes")
    size = (n, FACTORS)
    factors = random.standard_normal(size)
    is_turned = random.random(n) < TURNED
    turned = np.where(is_turned, -1.0, 1.0)
    first, second, *_ = factors.T
    if task == "classification":
        y = random.choice([-1.0, 1.0], n)
        cue = turned * y
        noise = 0.3 * second
        factors[:, 0] = y + first
        factors[:, 1] = cue + noise
    else:
        noise = 0.5 * random.standard_normal(n)
        signal = 2 * turned * second
        y = first + signal + noise
    mixed = (FACTORS, d)
    loadings = random.standard_normal(mixed)
    shape = (n, d)
    own = 0.3 * random.standard_normal(shape, dtype=np.float32)
    mixtures = factors @ loadings
    x = mixtures.astype(np.float32) + own
    return x, y


STUDY = Study(units=units)
