"""House prices of King County, whose market changes with the year a house was built.

The years 1900 to 2015 are cut into six periods of two decades (the last one shorter).
Methods are trained on the first and tested on all six; for methods that are given
environments, the first period is two decades.

A few houses were sold twice (in the first period, 11 of 1451 rows are such resales); they are
rows like any other, as in the published file, so that a pair may be split between parts.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kerhrm.data.dataset import Dataset, Split, stack
from kerhrm.data.sources.king_county import PERIODS, Houses
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

Scale = Literal["train", "all"]
Clip = Literal["none", "train"]
Price = Literal["linear", "log"]

SECOND_DECADE = 1910


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
