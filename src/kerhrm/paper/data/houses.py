"""House prices of King County, whose market changes with the year a house was built.

The years 1900 to 2015 are cut into six periods of two decades (the last one shorter).
Methods are trained on the first and tested on all six; for methods that are given
environments, the first period is two decades.

A few houses were sold twice (in the first period, 11 of 1451 rows are such resales); they are
rows like any other, as in the published file, so that a pair may be split between parts.
"""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from kerhrm.errors import KerhrmError
from kerhrm.options import Options, PositiveFloat, option
from kerhrm.paper.data.dataset import Dataset, Split
from kerhrm.paper.data.drawing import stack
from kerhrm.paper.data.king_county import PERIODS, PREDICTORS, Houses
from kerhrm.randomness import stream

SECOND_DECADE = 1910


class HousesData(Options):
    """House prices of King County (paper, section 5.2)."""

    built_before: Literal[1920, 1950] = option(
        1920,
        "training houses were built before that year; 1950: the year of construction is the "
        "auxiliary variable and no predictor (Lin et al., ZIN, NeurIPS 2022)",
    )
    train_fraction: PositiveFloat = option(0.7, "share of these houses that is for training")
    validation_fraction: PositiveFloat = option(
        0.15, "share for validation; the rest of these houses is test data"
    )
    scale: Literal["train", "all"] = option("train", "houses on which predictors are standardised")
    # "all", as in other code of the authors' group, tells methods the mean of the test periods:
    # a regularised one shrinks towards the zero.  Errors are in units of all houses either way.
    price_scale: Literal["train", "all"] = option(
        "train", "houses that give the unit and the zero of the price in training"
    )
    clip: Literal["none", "train"] = option(
        "none", "train: predictors are moved into their range in training"
    )
    price: Literal["linear", "log"] = option(
        "linear", "log: its logarithm, with errors in its own unit"
    )

    @property
    def n_points(self) -> int:
        """Number of training points: of the houses built before 1920 or 1950."""
        return round(self.train_fraction * {1920: 1451, 1950: 4937}[self.built_before])

    @property
    def n_inputs(self) -> int:
        """Number of predictors."""
        return len(PREDICTORS) - (self.built_before == 1950)

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        if self.train_fraction + self.validation_fraction >= 1:
            raise ValueError("train_fraction + validation_fraction must stay below 1")
        return self


def generate(options: HousesData, seeds: Sequence[int], houses: Houses) -> Dataset:
    """Split the first period at random, once per seed; the later periods are the same for all.

    Training points come from one end of a shuffle and validation points from the other, so
    the size of neither moves the other; what is left between them is the first test
    environment, or no data where training houses were built before 1950.  Without clipping,
    later houses lie up to 131 training deviations out.

    Returns
    -------
    Dataset
        Standardised price and predictors, x (S, n, 17); ``unit`` converts errors to units of the
        price's deviation over all houses (367 118.7 dollars in the published file), whatever
        the scale in training.  The environment of training and
        validation points is the decade, 0 or 1, or the period if they were built before 1950; that
        of test points the period, and those of one period follow each other.

    Raises
    ------
    KerhrmError
        If a period has too few houses, or a price has no logarithm.
    """
    period = houses.period
    for number, name in enumerate(PERIODS):
        if not (period == number).any():
            raise KerhrmError(f"{houses.source} has no house of {name}", "use the published file")
    first = np.flatnonzero(houses.yr_built < options.built_before)
    # A stable sort: periods one after another, each in the order of the file.
    order = np.argsort(period, kind="stable")
    later = order[houses.yr_built[order] >= options.built_before]
    predictors, auxiliary, names = houses.predictors, None, list(PERIODS)
    hidden = (houses.yr_built >= SECOND_DECADE).astype(int)
    if late := options.built_before == 1950:
        predictors = np.delete(predictors, PREDICTORS.index("yr_built"), axis=1)
        auxiliary, hidden, period = houses.yr_built[:, None], period, period - 2
        names = ["1950-1959", *PERIODS[3:]]
    n_train = round(options.train_fraction * len(first))
    n_validation = round(options.validation_fraction * len(first))
    if min(n_train, n_validation, len(first) - n_train - n_validation) < 1:
        raise KerhrmError(
            f"{len(first)} houses built before {options.built_before} cannot be split into "
            f"{n_train} for training, {n_validation} for validation and some for the test",
            "change the fractions",
        )
    target = houses.price
    if options.price == "log":
        if not (target > 0).all():
            raise KerhrmError(f"a price in {houses.source} is not positive", "use price: linear")
        target = np.log(target)
    parts: dict[str, list[Split]] = {"train": [], "validation": [], "test": []}
    unit = []
    for seed in seeds:
        shuffled = first[stream(seed, "data", "houses").permutation(len(first))]
        rows = {
            "train": shuffled[:n_train],
            "validation": shuffled[::-1][:n_validation],
            "test": later,
        }
        if not late:
            left = shuffled[n_train : len(first) - n_validation]
            rows["test"] = np.concatenate([left, later])
        x = _standardise(predictors, _base(rows["train"], options.scale))
        if options.clip == "train":
            x = np.clip(x, x[rows["train"]].min(axis=0), x[rows["train"]].max(axis=0))
        base = _base(rows["train"], options.price_scale)
        y = _standardise(target, base)
        unit.append(target[base].std() / target.std())
        for name, chosen in rows.items():
            environment = period if name == "test" else hidden
            z = None if auxiliary is None else auxiliary[chosen]
            parts[name].append(Split(x[chosen], y[chosen], environment[chosen], z))
    return Dataset(
        train=stack(parts["train"]),
        validation=stack(parts["validation"]),
        test=stack(parts["test"]),
        source=houses.source,
        test_environments=names,
        seeds=seeds,
        task="regression",
        unit=np.array(unit),
    )


def _base(training: np.ndarray, scale: Literal["train", "all"]) -> np.ndarray | slice:
    """Rows that give the scale."""
    return slice(None) if scale == "all" else training


def _standardise(values: np.ndarray, base: np.ndarray | slice) -> np.ndarray:
    """Columns with mean 0 and deviation 1 on the rows ``base``; constant ones are centred."""
    deviation = values[base].std(axis=0)
    return np.asarray((values - values[base].mean(axis=0)) / np.where(deviation > 0, deviation, 1))
