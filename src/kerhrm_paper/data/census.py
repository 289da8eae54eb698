"""UCI's Adult: whether people of the US census of 1994 earned more than 50 000 dollars.

Becker and Kohavi, Adult, UCI Machine Learning Repository, 1996 (CC BY 4.0).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kerhrm.randomness import stream
from kerhrm_paper.data.sources import RawData, RawFile

if TYPE_CHECKING:
    import pandas as pd

MIRROR = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
#: size in bytes, and SHA-256
FILES = {
    "adult.data": (
        3_974_305,
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "adult.test": (
        2_003_153,
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
}
#: of the files, which name none
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
#: race and sex are kept apart, as two values each
CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "native_country",
)
ROWS = (32_561, 16_281)  # of the two published files


def _raw_files() -> tuple[RawFile, ...]:
    files = []
    for name, (size, sha256) in FILES.items():
        file = RawFile(name, sha256, size, (f"{MIRROR}/{name}",))
        files.append(file)
    return tuple(files)


@dataclass(frozen=True)
class Adult(RawData):
    """People, those of the first file before those of the second."""

    numbers: np.ndarray  #: (N, 5), float64, columns as in :data:`NUMBERS`
    #: (N, C), uint8: whether a person has a value of :data:`CATEGORIES`; missing ones
    #: are a value
    indicators: np.ndarray
    is_black: np.ndarray  #: (N,), bool
    is_male: np.ndarray  #: (N,), bool
    earns_more: np.ndarray  #: (N,), bool: above 50 000 dollars a year
    is_test: np.ndarray  #: (N,), bool: of the second file
    source: str  #: ``"adult"`` or ``"fallback:adult"``
    name: ClassVar[str] = "adult"
    files: ClassVar[tuple[RawFile, ...]] = _raw_files()

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the two files, whose checksums have been verified."""
        import pandas as pd  # half a second, which only reading need spend

        tables = [_table(path) for path in paths]
        sizes = [len(table) for table in tables]
        people = pd.concat(tables, ignore_index=True)
        numbers = people[[*NUMBERS]].astype(np.float64)
        categories = people[[*CATEGORIES]]
        indicators = pd.get_dummies(categories, dtype=np.uint8)
        return cls(
            numbers=numbers.to_numpy(),
            indicators=indicators.to_numpy(),
            is_black=(people["race"] == "Black").to_numpy(),
            is_male=(people["sex"] == "Male").to_numpy(),
            earns_more=people["income"].str.startswith(">50K").to_numpy(bool),
            is_test=np.repeat([False, True], sizes),
            source=cls.name,
        )

    @classmethod
    def fallback(cls) -> Self:
        """People of a made-up town, whose education pays and whose sex does a little.

        As many of each file, and about as many of each race and sex.
        """
        random = stream(0, "data", "adult", "fallback")
        n = sum(ROWS)
        is_male = random.random(n) < 0.67
        is_black = random.random(n) < 0.1
        size = (n, len(NUMBERS))
        numbers = random.normal(size=size)
        occupation = random.integers(0, 6, n)
        indicators = occupation[:, None] == np.arange(6)
        education = numbers[:, NUMBERS.index("education_num")]
        score = education + occupation / 6 + 0.3 * is_male
        noise = random.logistic(size=n)
        return cls(
            numbers=numbers,
            indicators=indicators.astype(np.uint8),
            is_black=is_black,
            is_male=is_male,
            earns_more=score + noise > 2,
            is_test=np.repeat([False, True], ROWS),
            source="fallback:adult",
        )


def _table(path: Path) -> "pd.DataFrame":
    """A file as text; the second one begins with a remark after a ``|``."""
    import pandas as pd

    return pd.read_csv(
        path,
        names=[*COLUMNS],
        dtype=str,
        comment="|",
        skipinitialspace=True,
        keep_default_na=False,
    )
