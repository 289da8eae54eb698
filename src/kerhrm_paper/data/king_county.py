"""Sales of houses in King County, as they were published: prices and predictors.

The years of construction are cut into six periods of two decades, the last one shorter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kerhrm.randomness import stream
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
# first year of each period, end of the last
EDGES = (1900, 1920, 1940, 1960, 1980, 2000, 2016)
PERIODS = ("1900-1919", "1920-1939", "1940-1959", "1960-1979", "1980-1999", "2000-2015")
ROWS = (1451, 1722, 4216, 4945, 4520, 4759)  # of each period in the published file
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
        (path,) = paths
        table = pd.read_csv(path, dtype=str)
        texts = table[["price", *PREDICTORS]]
        numbers = texts.astype(np.float64).to_numpy()
        return cls(
            predictors=numbers[:, 1:],
            price=numbers[:, 0],
            source=cls.name,
        )

    @classmethod
    def fallback(cls) -> Self:
        """A market that drifts: the price of the living area rises with
        the year built."""
        random = stream(0, "data", "houses", "fallback")
        n = sum(ROWS)
        first_year = np.repeat(EDGES[:-1], ROWS)
        years_later = random.integers(0, 16, n)
        year = first_year + years_later
        # as many before 1950 as in the published file
        middle = np.flatnonzero(first_year == EDGES[2])
        n_older = BUILT_BEFORE[1950] - sum(ROWS[:2])
        years_of_decade = years_later % 10
        older = middle[:n_older]
        year[older] = EDGES[2] + years_of_decade[older]
        newer = middle[n_older:]
        year[newer] = 1950 + years_of_decade[newer]
        size = (n, len(PREDICTORS))
        normal = random.normal(3.0, 1.0, size)
        predictors = np.abs(normal)
        predictors[:, PREDICTORS.index("yr_built")] = year
        area = predictors[:, PREDICTORS.index("sqft_living")]
        age = year - EDGES[0]
        slope = 0.1 + age / 200
        noise = random.normal(0, 0.2, n)
        log_price = 12 + slope * area + noise
        price = np.round(np.exp(log_price))
        return cls(
            predictors=predictors,
            price=price,
            source="fallback:houses",
        )

    @property
    def yr_built(self) -> np.ndarray:
        """Year of construction (N,), one of the predictors."""
        return self.predictors[:, PREDICTORS.index("yr_built")]

    @property
    def period(self) -> np.ndarray:
        """Number of the period (N,), 0 to 5."""
        return np.digitize(self.yr_built, EDGES) - 1
