"""House prices of King County, whose market changes with the year a house was built.

The years 1900 to 2015 are cut into six periods of two decades (the last one shorter).
Methods are trained on the first and tested on all six; for methods that are given
environments, the first period is two decades.

A few houses were sold twice (in the first period, 11 of 1451 rows are such resales); they are
rows like any other, as in the published file, so that a pair may be split between parts.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from kerhrm.arrays import load_arrays, save_arrays
from kerhrm.data.dataset import Dataset, Split, stack
from kerhrm.data.houses_stand_in import simulate
from kerhrm.data.raw import KING_COUNTY, RawDataUnavailable, locate
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

logger = logging.getLogger(__name__)

Scale = Literal["train", "all"]
Clip = Literal["none", "train"]
Price = Literal["linear", "log"]

PREDICTORS = (
    "bedrooms",
    "bathrooms",
    "sqft_living",
    "sqft_lot",
    "floors",
    "waterfront",
    "view",
    "condition",
    "grade",
    "sqft_above",
    "sqft_basement",
    "yr_built",
    "yr_renovated",
    "lat",
    "long",
    "sqft_living15",
    "sqft_lot15",
)
EDGES = (1900, 1920, 1940, 1960, 1980, 2000, 2016)  # first year of each period, end of the last
PERIODS = ("1900-1919", "1920-1939", "1940-1959", "1960-1979", "1980-1999", "2000-2015")
ROWS = (1451, 1722, 4216, 4945, 4520, 4759)  # of each period in the published file
SECOND_DECADE = 1910


@dataclass(frozen=True)
class Houses:
    """Houses sold.

    Attributes
    ----------
    predictors : ndarray, (N, 17), float64
        Columns as in :data:`PREDICTORS`: all of the file but id, date, price and zipcode.
    price : ndarray, (N,), float64
        US dollars.
    source : str
        ``"king_county"`` or ``"stand-in:simulated-houses"``.
    """

    predictors: np.ndarray
    price: np.ndarray
    source: str

    @property
    def yr_built(self) -> np.ndarray:
        """Year of construction (N,), one of the predictors."""
        return self.predictors[:, PREDICTORS.index("yr_built")]

    @property
    def period(self) -> np.ndarray:
        """Number of the period (N,), 0 to 5.

        Raises
        ------
        KerhrmError
            If a house is older or newer than the periods.
        """
        year = self.yr_built
        outside = (year < EDGES[0]) | (year >= EDGES[-1])
        if outside.any():
            raise KerhrmError(
                f"a house of {self.source} was built in {year[outside][0]:g}",
                f"keep to the years {EDGES[0]} to {EDGES[-1] - 1}",
            )
        return np.digitize(year, EDGES) - 1

    @property
    def is_stand_in(self) -> bool:
        """Whether these are not the houses of the paper."""
        return self.source.startswith("stand-in:")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that :func:`load_saved` reads."""
        save_arrays(
            path, {"predictors": self.predictors, "price": self.price}, {"source": self.source}
        )


def load_saved(path: str | os.PathLike[str]) -> Houses:
    """Read what :meth:`Houses.save` wrote."""
    arrays, facts = load_arrays(path)
    return Houses(arrays["predictors"], arrays["price"], facts["source"])


def load_houses(
    raw_dir: str | os.PathLike[str] | None = None,
    on_missing: Literal["stand-in", "fail"] = "stand-in",
) -> Houses:
    """Load the house sales of King County.

    Parameters
    ----------
    raw_dir : path, optional
        Folder looked into first; see :func:`kerhrm.data.raw.locate`.
    on_missing : {"stand-in", "fail"}
        What to do when the file is in no source: warn and use :func:`stand_in`, or raise.

    Returns
    -------
    Houses
        21 613 of them, in the order of the file.

    Raises
    ------
    RawDataUnavailable
        If the file is in no source and ``on_missing="fail"``.
    KerhrmError
        If the file is truncated or altered: a stand-in never takes its place.
    """
    if on_missing not in ("stand-in", "fail"):
        raise KerhrmError(
            f"on_missing={on_missing!r} is unknown", 'choose one of "stand-in", "fail"'
        )
    try:
        (path,) = locate(KING_COUNTY, raw_dir).values()
    except RawDataUnavailable as error:
        if on_missing == "fail":
            raise
        logger.warning("using simulated houses instead of King County's: %s", error)
        return stand_in()
    return read_houses(path, sum(ROWS))


def read_houses(path: str | os.PathLike[str], rows: int | None = None) -> Houses:
    """Read a table of house sales with a header; other columns than those needed may be there.

    Parameters
    ----------
    path : path
    rows : int, optional
        How many there must be.

    Raises
    ------
    KerhrmError
        If columns or rows are missing, a cell is no finite number, or it is no such table.
    """
    cure = "replace it by the published file or remove it"
    needed = ["price", *PREDICTORS]
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:  # the errors of pandas are ValueErrors
        reason = " ".join(str(error).split())
        raise KerhrmError(f"cannot read {path}: {reason}", cure) from error
    missing = [name for name in needed if name not in table]
    if missing:
        raise KerhrmError(f"{path} has no column {', '.join(missing)}", cure)
    if len(table) == 0 or rows not in (None, len(table)):
        raise KerhrmError(
            f"{path} has {len(table)} rows of data instead of {rows or 'one or more'}", cure
        )
    values = table[needed].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise KerhrmError(
            f"{path}, data row {row + 1}: {needed[column]} is "
            f"{table[needed].iat[row, column]!r}, not a number",
            cure,
        )
    return Houses(values[:, 1:], values[:, 0], KING_COUNTY.name)


def stand_in() -> Houses:
    """A simulated market: as many houses per period, the same columns in the same units.

    It lets everything run without a network; errors on it say nothing about the paper.  See
    :func:`kerhrm.data.houses_stand_in.simulate`.
    """
    columns, price = simulate(ROWS, EDGES)
    predictors = np.stack([columns[name] for name in PREDICTORS], axis=1)
    return Houses(predictors, price, "stand-in:simulated-houses")


def generate(
    seeds: Sequence[int],
    houses: Houses,
    *,
    train_fraction: float = 0.7,
    validation_fraction: float = 0.15,
    scale: Scale = "train",
    price_scale: Scale = "all",
    clip: Clip = "none",
    price: Price = "linear",
) -> Dataset:
    """Split the first period at random, once per seed; the later periods are the same for all.

    Training points come from one end of a shuffle and validation points from the other, so
    the size of neither moves the other; what is left between them is the first test
    environment.

    Parameters
    ----------
    seeds : sequence of int, length B
    houses : Houses
    train_fraction, validation_fraction : float in (0, 1)
        Of the first period's houses; their sum leaves some over.
    scale : {"train", "all"}
        What predictors are standardised on: the seed's own training points, or all houses
        (and so the test points, too).  A predictor that is constant there is only centred.
    price_scale : {"train", "all"}
        Likewise for the price.  ``"all"`` measures errors in units of the variance of all
        prices (367 118.7 dollars squared in the published file), as the authors' group does in
        other code on these data.  That is a unit alone, the same for all seeds, but its zero is
        the mean of all prices, towards which a regularised method shrinks.
    clip : {"none", "train"}
        ``"train"`` moves every predictor into the range that it has among the seed's own
        training points, before any method sees it.  Without it later houses lie up to 131
        training deviations out, where a method that is not told better extrapolates.
    price : {"linear", "log"}
        What is predicted: the price, or its natural logarithm, in which few expensive houses
        weigh less.  Errors of the logarithm are in units of its own variance.

    Returns
    -------
    Dataset
        Standardised price and predictors, x (B, n, 17).  The environment of training and
        validation points is the decade, 0 or 1; that of test points the period, 0 to 5, and
        those of one period follow each other.

    Raises
    ------
    KerhrmError
        If an argument is out of its range, a period has too few houses, or a price has no
        logarithm.
    """
    if not seeds:
        raise KerhrmError("seeds is empty", "give one seed or more")
    for name, choice, known in (
        ("scale", scale, ("train", "all")),
        ("price_scale", price_scale, ("train", "all")),
        ("clip", clip, ("none", "train")),
        ("price", price, ("linear", "log")),
    ):
        if choice not in known:
            cure = " or ".join(f'"{other}"' for other in known)
            raise KerhrmError(f"{name}={choice!r} is unknown", f"choose {cure}")
    for name, fraction in (
        ("train_fraction", train_fraction),
        ("validation_fraction", validation_fraction),
        ("train_fraction + validation_fraction", train_fraction + validation_fraction),
    ):
        if not 0 < fraction < 1:
            raise KerhrmError(f"{name}={fraction:g} is impossible", "choose it between 0 and 1")
    period = houses.period
    for number, name in enumerate(PERIODS):
        if not (period == number).any():
            raise KerhrmError(f"{houses.source} has no house of {name}", "use the published file")
    first = np.flatnonzero(period == 0)
    # A stable sort: periods one after another, each in the order of the file.
    later = np.argsort(period, kind="stable")[len(first) :]
    n_train = round(train_fraction * len(first))
    n_validation = round(validation_fraction * len(first))
    if min(n_train, n_validation, len(first) - n_train - n_validation) < 1:
        raise KerhrmError(
            f"{len(first)} houses of {PERIODS[0]} cannot be split into {n_train} for training, "
            f"{n_validation} for validation and some for the test",
            "change the fractions",
        )
    decade = (houses.yr_built >= SECOND_DECADE).astype(int)
    target = houses.price
    if price == "log":
        if not (target > 0).all():
            raise KerhrmError(f"a price in {houses.source} is not positive", "use price: linear")
        target = np.log(target)
    parts: dict[str, list[Split]] = {"train": [], "validation": [], "test": []}
    for seed in seeds:
        shuffled = first[stream(seed, "data", "houses").permutation(len(first))]
        rows = {
            "train": shuffled[:n_train],
            "validation": shuffled[::-1][:n_validation],
            "test": np.concatenate([shuffled[n_train : len(first) - n_validation], later]),
        }
        x = _standardise(houses.predictors, rows["train"], scale)
        if clip == "train":
            x = np.clip(x, x[rows["train"]].min(axis=0), x[rows["train"]].max(axis=0))
        y = _standardise(target, rows["train"], price_scale)
        for name, chosen in rows.items():
            environment = period if name == "test" else decade
            parts[name].append(Split(x[chosen], y[chosen], environment[chosen]))
    return Dataset(
        train=stack(parts["train"]),
        validation=stack(parts["validation"]),
        test=stack(parts["test"]),
        source=houses.source,
        test_environments=list(PERIODS),
        seeds=seeds,
        task="regression",
    )


def _standardise(values: np.ndarray, training: np.ndarray, scale: Scale) -> np.ndarray:
    """Columns of ``values`` with mean 0 and deviation 1 on the rows that ``scale`` names."""
    base = values if scale == "all" else values[training]
    deviation = base.std(axis=0)
    return np.asarray((values - base.mean(axis=0)) / np.where(deviation > 0, deviation, 1))
