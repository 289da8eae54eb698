"""House sales of King County as a table with all of its columns but the id."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kerhrm.data.sources.fetch import RawSet
from kerhrm.data.sources.king_county import EDGES, KING_COUNTY, PREDICTORS, ROWS
from kerhrm.data.sources.raw import RawData
from kerhrm.data.sources.simulated_houses import simulate
from kerhrm.randomness import stream

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("date", "price", *PREDICTORS, "zipcode")
#: of the county, for the simulated market
ZIP_CODES = (
    98001, 98002, 98003, 98004, 98005, 98006, 98007, 98008, 98010, 98011, 98014, 98019, 98022,
    98023, 98024, 98027, 98028, 98029, 98030, 98031, 98032, 98033, 98034, 98038, 98039, 98040,
    98042, 98045, 98052, 98053, 98055, 98056, 98058, 98059, 98065, 98070, 98072, 98074, 98075,
    98077, 98092, 98102, 98103, 98105, 98106, 98107, 98108, 98109, 98112, 98115, 98116, 98117,
    98118, 98119, 98122, 98125, 98126, 98133, 98136, 98144, 98146, 98148, 98155, 98166, 98168,
    98177, 98178, 98188, 98198, 98199,
)  # fmt: skip
BANDS = 10  #: of the latitude, each cut into as many parts of the longitude as there are codes for


@dataclass(frozen=True)
class Sales(RawData):
    """Houses sold, in the order of the file."""

    values: np.ndarray  #: (N, 20), float64, columns as in :data:`COLUMNS`; the date is 20141013
    source: str  #: ``"king_county"`` or ``"stand-in:simulated-houses"``
    published: ClassVar[RawSet] = KING_COUNTY

    @property
    def frame(self) -> "pd.DataFrame":
        """The table."""
        import pandas as pd  # half a second, which only reading need spend

        return pd.DataFrame(self.values, columns=list(COLUMNS))

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the one file, whose bytes are known."""
        import pandas as pd

        table = pd.read_csv(paths[0], dtype={"date": str})
        table["date"] = table["date"].str[:8]
        return cls(table[list(COLUMNS)].astype(np.float64).to_numpy(), cls.published.name)

    @classmethod
    def stand_in(cls) -> Self:
        """A simulated market; zip codes by place, days of sale by chance."""
        columns, price = simulate(ROWS, EDGES)
        n, per_band = len(price), len(ZIP_CODES) // BANDS
        rank = np.argsort(np.argsort(columns["lat"], kind="stable"), kind="stable")
        band = rank * BANDS // n
        code = np.empty(n, dtype=np.int64)
        for number in range(BANDS):
            rows = np.flatnonzero(band == number)
            order = np.argsort(np.argsort(columns["long"][rows], kind="stable"), kind="stable")
            code[rows] = number * per_band + order * per_band // len(rows)
        day = stream(0, "data", "houses", "stand-in", "date").integers(1, 29, n)
        month = stream(0, "data", "houses", "stand-in", "month").integers(0, 12, n)
        date = (2014 + (month + 4) // 12) * 10_000 + ((month + 4) % 12 + 1) * 100 + day
        more = {"date": date, "price": price, "zipcode": np.array(ZIP_CODES)[code]}
        table = np.stack([(columns | more)[name] for name in COLUMNS], axis=1)
        return cls(table.astype(np.float64), "stand-in:simulated-houses")
