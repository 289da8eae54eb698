"""House sales of King County, or a simulated market as synthetic fallback."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kerhrm.errors import KerhrmError
from kerhrm.paper.data.sources import RawData, RawFile
from kerhrm.randomness import stream

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
    "bedrooms", "bathrooms", "sqft_living", "sqft_lot", "floors", "waterfront", "view",
    "condition", "grade", "sqft_above", "sqft_basement", "yr_built", "yr_renovated", "lat",
    "long", "sqft_living15", "sqft_lot15",
)  # fmt: skip
EDGES = (1900, 1920, 1940, 1960, 1980, 2000, 2016)  # first year of each period, end of the last
PERIODS = ("1900-1919", "1920-1939", "1940-1959", "1960-1979", "1980-1999", "2000-2015")
ROWS = (1451, 1722, 4216, 4945, 4520, 4759)  # of each period in the published file


@dataclass(frozen=True)
class Houses(RawData):
    """Houses sold, in the order of the file; all of it but id, date and zipcode."""

    predictors: np.ndarray  #: (N, 17), float64, columns as in :data:`PREDICTORS`
    price: np.ndarray  #: (N,), float64, US dollars
    source: str  #: ``"king_county"`` or ``"fallback:simulated-houses"``
    name: ClassVar[str] = "king_county"
    files: ClassVar[tuple[RawFile, ...]] = (_FILE,)

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the one file, whose checksum has been verified."""
        import pandas as pd  # half a second, which only reading need spend

        table = pd.read_csv(paths[0], dtype=str)  # numbers as Python reads them, in every pandas
        values = table[["price", *PREDICTORS]].astype(np.float64).to_numpy()
        return cls(values[:, 1:], values[:, 0], cls.name)

    @classmethod
    def fallback(cls) -> Self:
        """A market that drifts with the year: as many houses per period, the same columns.

        The logarithm of the price is linear in that of the living area, in the grade and in the
        distance to the centre, with slopes that fall with the year of construction.
        """
        random = stream(0, "data", "houses", "fallback")
        n = sum(ROWS)
        year = np.repeat(EDGES[:-1], ROWS) + random.integers(0, 16, n)
        u = (year - EDGES[0]) / (EDGES[-1] - EDGES[0])
        columns = {name: np.abs(random.normal(3.0, 1.0, n)) for name in PREDICTORS}
        columns["sqft_living"] = np.exp(7.4 + 0.3 * u + 0.4 * random.normal(size=n))
        columns["grade"] = np.round(7 + 1.2 * u + random.normal(size=n))
        east, north = (5 + 10 * u) * random.normal(size=(2, n))  # kilometres from the centre
        columns |= {"yr_built": year, "lat": 47.61 + north / 111, "long": -122.33 + east / 75}
        log_price = (
            13.1
            + (1.0 - 0.5 * u) * np.log(columns["sqft_living"] / 1800)
            + (0.08 + 0.1 * u) * (columns["grade"] - 7)
            - (0.05 - 0.035 * u) * np.hypot(east, north)
            + 0.2 * random.normal(size=n)
        )
        predictors = np.stack([columns[name] for name in PREDICTORS], axis=1).astype(np.float64)
        return cls(predictors, np.round(np.exp(log_price)), "fallback:simulated-houses")

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
