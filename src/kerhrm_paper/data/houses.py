"""House prices of King County, whose market changes with the year a house was built.

The years 1900 to 2015 are cut into six periods of two decades (the last one shorter).
Methods are trained on the first and tested on all six; for methods that are given
environments, the first period is two decades.  Where they are trained on houses built
before 1950, the year of construction is the auxiliary variable and no predictor (Lin et
al., ZIN, NeurIPS 2022).

A few houses were sold twice (in the first period, 11 of 1451 rows are such resales);
they are rows like any other, as in the published file, so that a pair may be split
between parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from kerhrm.options import Options, PositiveFloat, option
from kerhrm.randomness import stream
from kerhrm_paper.data.drawing import stack
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.king_county import BUILT_BEFORE, PERIODS, PREDICTORS, Houses

SECOND_DECADE = 1910


class HousesData(Options):
    """House prices of King County (paper, section 5.2)."""

    built_before: Literal[1920, 1950] = option(
        1920, "training houses; 1950: the year is auxiliary"
    )
    train_fraction: PositiveFloat = option(
        0.7, "share of these houses that is for training"
    )
    validation_fraction: PositiveFloat = option(
        0.15, "likewise for validation; the rest is test"
    )
    scale: Literal["train", "all"] = option(
        "train", "houses on which predictors are standardised"
    )
    # "all", as in other code of the authors' group, tells methods the mean of the test
    # periods: a regularised one shrinks towards the zero.  Errors are in units of all
    # houses either way.
    price_scale: Literal["train", "all"] = option(
        "train", "houses that give price's unit and zero"
    )
    clip: Literal["none", "train"] = option(
        "none", "train: predictors keep to their range there"
    )
    price: Literal["linear", "log"] = option(
        "linear", "log: errors are in its own unit"
    )

    @property
    def n_points(self) -> int:
        """Number of training points: of the houses built before 1920 or 1950."""
        n = BUILT_BEFORE[self.built_before]
        return round(self.train_fraction * n)

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        n = BUILT_BEFORE[self.built_before]
        n_validation = round(self.validation_fraction * n)
        n_left = n - self.n_points - n_validation
        smallest = min(self.n_points, n_validation, n_left)
        if smallest < 1:
            raise ValueError(
                "the two fractions must leave a house for each part; change them"
            )
        return self


@dataclass(frozen=True)
class _Design:
    """What all replicates share, a row for each house of the file.

    Attributes
    ----------
    predictors : ndarray, (N, c)
        Before they are standardised.
    target : ndarray, (N,)
        The price, or its logarithm.
    auxiliary : ndarray, (N, 1), optional
        Year of construction, where it is no predictor.
    environment : ndarray, (N,)
        Of a house among the training or validation points.
    test_environment : ndarray, (N,)
        Of a house among the test points.
    test_environments : list of str
        Their names.
    """

    predictors: np.ndarray
    target: np.ndarray
    auxiliary: np.ndarray | None
    environment: np.ndarray
    test_environment: np.ndarray
    test_environments: list[str]


def generate(options: HousesData, seeds: Sequence[int], houses: Houses) -> Draws:
    """Split the first period at random, once per seed.

    The later periods are the same for all.

    Training points come from one end of a shuffle and validation points from the other,
    so the size of neither moves the other; what is left between them is the first test
    environment, or no data where training houses were built before 1950.  Without
    clipping, later houses lie up to 131 training deviations out.

    Price and predictors, x (S, n, 17), are standardised; ``unit`` converts errors to
    units of the price's deviation over all houses (367 118.7 dollars in the published
    file), whatever the scale in training.  The environment of training and validation
    points is the decade, 0 or 1, or the period if they were built before 1950; that of
    test points the period, and those of one period follow each other.
    """
    design = _design(options, houses)
    is_early = houses.yr_built < options.built_before
    early = np.flatnonzero(is_early)
    # A stable sort: periods one after another, each in the order of the file.
    order = np.argsort(houses.period, kind="stable")
    is_later = houses.yr_built[order] >= options.built_before
    later = order[is_later]
    splits: dict[str, list[Split]] = {}
    for part in ("train", "validation", "test"):
        splits[part] = []
    units = []
    for seed in seeds:
        random = stream(seed, "data", "houses")
        permutation = random.permutation(len(early))
        shuffled = early[permutation]
        rows = _rows(shuffled, later, options)
        x, y, unit = _standardised(design, rows["train"], options)
        units.append(unit)
        for part, of_part in rows.items():
            environment = design.environment
            if part == "test":
                environment = design.test_environment
            auxiliary = design.auxiliary
            if auxiliary is not None:
                auxiliary = auxiliary[of_part]
            split = Split(
                x=x[of_part],
                y=y[of_part],
                environment=environment[of_part],
                auxiliary=auxiliary,
            )
            splits[part].append(split)
    return Draws(
        train=stack(splits["train"]),
        validation=stack(splits["validation"]),
        test=stack(splits["test"]),
        test_environments=design.test_environments,
        seeds=seeds,
        task="regression",
        source=houses.source,
        unit=np.array(units),
    )


def _design(options: HousesData, houses: Houses) -> _Design:
    target = houses.price
    if options.price == "log":
        target = np.log(target)
    if options.built_before == 1920:
        is_second_decade = houses.yr_built >= SECOND_DECADE
        return _Design(
            predictors=houses.predictors,
            target=target,
            auxiliary=None,
            environment=is_second_decade.astype(int),
            test_environment=houses.period,
            test_environments=list(PERIODS),
        )
    year = PREDICTORS.index("yr_built")
    without_year = np.delete(houses.predictors, year, axis=1)
    return _Design(
        predictors=without_year,
        target=target,
        auxiliary=houses.yr_built[:, None],
        environment=houses.period,
        test_environment=houses.period - 2,
        test_environments=["1950-1959", *PERIODS[3:]],
    )


def _rows(
    shuffled: np.ndarray, later: np.ndarray, options: HousesData
) -> dict[str, np.ndarray]:
    """Rows of each part, by the shuffled early houses and the later ones."""
    n = len(shuffled)
    n_train = round(options.train_fraction * n)
    n_validation = round(options.validation_fraction * n)
    test = later
    if options.built_before == 1920:
        # what is left of the first period is its test environment
        left = shuffled[n_train : n - n_validation]
        test = np.concatenate([left, later])
    from_the_end = shuffled[::-1]
    return {
        "train": shuffled[:n_train],
        "validation": from_the_end[:n_validation],
        "test": test,
    }


def _standardised(
    design: _Design, train: np.ndarray, options: HousesData
) -> tuple[np.ndarray, np.ndarray, float]:
    """x (N, c) and y (N,) of all houses, and the unit of y = 1 in a replicate.

    ``train`` are the rows of its training houses.
    """
    predictors = design.predictors
    target = design.target
    base = train if options.scale == "train" else slice(None)
    x = _standardise(predictors, predictors[base])
    if options.clip == "train":
        lowest = x[train].min(axis=0)
        highest = x[train].max(axis=0)
        x = np.clip(x, lowest, highest)
    base = train if options.price_scale == "train" else slice(None)
    base_target = target[base]
    y = _standardise(target, base_target)
    unit = base_target.std() / target.std()
    return x, y, unit


def _standardise(columns: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and deviation 1 on the rows ``base``; constant ones are
    centred."""
    mean = base.mean(axis=0)
    deviation = base.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    return np.asarray((columns - mean) / scale)
