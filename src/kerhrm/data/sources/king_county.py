"""House sales of King County, or a simulated market when there is no file of them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kerhrm.data.sources.fetch import DAMAGED, RawFile, RawSet
from kerhrm.data.sources.raw import RawData
from kerhrm.data.sources.simulated_houses import simulate
from kerhrm.errors import KerhrmError

_FILE = RawFile(
    "kc_house_data.csv",
    "d0875baa0251b21d4bdc9d2ae940a4fe0bb6009824f23dd0e2a5b2bf04557b7e",
    2515206,
    (
        "https://raw.githubusercontent.com/mlr-org/mlr3data/"
        "85e5790c5fd54aa68a64eb4ee931b75c5b7bcb2f/data-raw/kc_housing.csv.bz2",
    ),
)
KING_COUNTY = RawSet("king_county", (_FILE,))
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
    source: str  #: ``"king_county"`` or ``"stand-in:simulated-houses"``
    published: ClassVar[RawSet] = KING_COUNTY

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the one file."""
        return cls(*read_table(paths[0], sum(ROWS)), source=cls.published.name)

    @classmethod
    def stand_in(cls) -> Self:
        """A simulated market: as many houses per period, the same columns in the same units."""
        columns, price = simulate(ROWS, EDGES)
        predictors = np.stack([columns[name] for name in PREDICTORS], axis=1)
        return cls(predictors, price, "stand-in:simulated-houses")

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


def read_table(path: str | os.PathLike[str], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictors (N, 17) and price (N,), float64, of a table with a header and N = ``rows``.

    Other columns than those needed may be there.

    Raises
    ------
    KerhrmError
        If columns or rows are missing, a cell is no finite number, or it is no such table.
    """
    import pandas as pd  # half a second, which only reading need spend

    needed = ["price", *PREDICTORS]
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:  # the errors of pandas are ValueErrors
        reason = " ".join(str(error).split())
        raise KerhrmError(f"cannot read {path}: {reason}", DAMAGED) from error
    missing = [name for name in needed if name not in table]
    if missing:
        raise KerhrmError(f"{path} has no column {', '.join(missing)}", DAMAGED)
    if len(table) != rows:
        raise KerhrmError(f"{path} has {len(table)} rows of data instead of {rows}", DAMAGED)
    values = table[needed].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise KerhrmError(
            f"{path}, data row {row + 1}: {needed[column]} is "
            f"{table[needed].iat[row, column]!r}, not a number",
            DAMAGED,
        )
    return values[:, 1:], values[:, 0]
