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
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from kerhrm.options import Options, PositiveFloat, option
from kerhrm.randomness import stream
from kerhrm_paper.data.dataset import Dataset, Split
from kerhrm_paper.data.drawing import stack
from kerhrm_paper.data.sources import RawData, RawFile

_FILE = RawFile(
    "kc_house_data.csv",
    "d0875baa0251b21d4bdc9d2ae940a4fe0bb6009824f23dd0e2a5b2bf04557b7e",
    2515206,
    (
        "https://raw.githubusercontent.com/mlr-org/mlr3data/"
        "85e5790c5fd54aa68a64eb4ee931b75c5b7bcb2f/data-raw/kc_housing.csv.bz2",
    ),
)
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
EDGES = (
    1900,
    1920,
    1940,
    1960,
    1980,
    2000,
    2016,
)  # first year of each period, end of the last
PERIODS = ("1900-1919", "1920-1939", "1940-1959", "1960-1979", "1980-1999", "2000-2015")
ROWS = (1451, 1722, 4216, 4945, 4520, 4759)  # of each period in the published file
SECOND_DECADE = 1910
BUILT_BEFORE = {1920: 1451, 1950: 4937}  # rows of the published file


@dataclass(frozen=True)
class Houses(RawData):
    """Houses sold, in the order of the file; all of it but id, date and zipcode."""

    predictors: np.ndarray  #: (N, 17), float64, columns as in :data:`PREDICTORS`
    price: np.ndarray  #: (N,), float64, US dollars
    source: str  #: ``"king_county"`` or ``"fallback:houses"``
    name: ClassVar[str] = "king_county"
    files: ClassVar[tuple[RawFile, ...]] = (_FILE,)

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the one file, whose checksum has been verified."""
        import pandas as pd  # half a second, which only reading need spend

        # numbers as Python reads them, in every pandas
        table = pd.read_csv(paths[0], dtype=str)
        values = table[["price", *PREDICTORS]].astype(np.float64).to_numpy()
        return cls(values[:, 1:], values[:, 0], cls.name)

    @classmethod
    def fallback(cls) -> Self:
        """A market that drifts: the price of the living area rises with
        the year built."""
        random = stream(0, "data", "houses", "fallback")
        year = np.repeat(EDGES[:-1], ROWS) + random.integers(0, 16, sum(ROWS))
        predictors = np.abs(random.normal(3.0, 1.0, (len(year), len(PREDICTORS))))
        predictors[:, PREDICTORS.index("yr_built")] = year
        area = predictors[:, PREDICTORS.index("sqft_living")]
        log_price = (
            12
            + (0.1 + (year - EDGES[0]) / 200) * area
            + random.normal(0, 0.2, len(year))
        )
        return cls(predictors, np.round(np.exp(log_price)), "fallback:houses")

    @property
    def yr_built(self) -> np.ndarray:
        """Year of construction (N,), one of the predictors."""
        return self.predictors[:, PREDICTORS.index("yr_built")]

    @property
    def period(self) -> np.ndarray:
        """Number of the period (N,), 0 to 5."""
        return np.digitize(self.yr_built, EDGES) - 1


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
        return round(self.train_fraction * BUILT_BEFORE[self.built_before])

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        n_validation = round(
            self.validation_fraction * (n := BUILT_BEFORE[self.built_before])
        )
        if min(self.n_points, n_validation, n - self.n_points - n_validation) < 1:
            raise ValueError(
                "the two fractions must leave a house for each part; change them"
            )
        return self


def generate(options: HousesData, seeds: Sequence[int], houses: Houses) -> Dataset:
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
    period = houses.period
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
    target = np.log(houses.price) if options.price == "log" else houses.price
    parts: dict[str, list[Split]] = {"train": [], "validation": [], "test": []}
    unit = []
    for seed in seeds:
        shuffled = first[stream(seed, "data", "houses").permutation(len(first))]
        left = shuffled[n_train : len(first) - n_validation]
        rows = {
            "train": shuffled[:n_train],
            "validation": shuffled[::-1][:n_validation],
        }
        rows["test"] = later if late else np.concatenate([left, later])
        bases: dict[str, Any] = {"train": rows["train"], "all": slice(None)}
        x = _standardise(predictors, bases[options.scale])
        if options.clip == "train":
            x = np.clip(x, x[rows["train"]].min(axis=0), x[rows["train"]].max(axis=0))
        base = bases[options.price_scale]
        y = _standardise(target, base)
        unit.append(target[base].std() / target.std())
        for name, chosen in rows.items():
            environment = period if name == "test" else hidden
            z = None if auxiliary is None else auxiliary[chosen]
            parts[name].append(Split(x[chosen], y[chosen], environment[chosen], z))
    facts: dict[str, Any] = {
        "source": houses.source,
        "task": "regression",
        "unit": np.array(unit),
    }
    drawn: dict[str, Any] = {name: stack(splits) for name, splits in parts.items()}
    return Dataset(**drawn, test_environments=names, seeds=seeds, **facts)


def _standardise(values: np.ndarray, base: Any) -> np.ndarray:
    """Columns with mean 0 and deviation 1 on the rows ``base``; constant ones are
    centred."""
    deviation = values[base].std(axis=0)
    return np.asarray(
        (values - values[base].mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    )
