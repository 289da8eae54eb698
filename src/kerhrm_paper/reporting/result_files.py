"""Which columns must a file of results have, and what must stand in them?

A file of an earlier version may lack the columns that no reader needs.
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kerhrm.errors import shown

#: columns of text that may be empty in every row, which pandas would read as numbers
TEXTS = (
    "verdict",
    "outcome",
    "outcome_exact",
    "part",
    "reason",
    "selection",
    "data_source",
    "setting",
    "method",
    "learner",
)
#: keys that may be empty: reference rows have no learner, whole tables no part
OPTIONAL = ("learner", "part")


@dataclass(frozen=True)
class ResultFile:
    """A CSV file that a rule writes, compressed or not.

    Attributes
    ----------
    keys : sequence of str
        Columns that tell its rows apart.
    texts, numbers : sequence of str
        Columns of text, and of numbers.
    filled : sequence of str
        Columns besides the keys in which no cell is empty.
    has_rows : bool
        Whether it has rows in any case.
    """

    keys: Sequence[str]
    texts: Sequence[str]
    numbers: Sequence[str]
    filled: Sequence[str] = ()
    has_rows: bool = True

    def read(self, path: Path) -> pd.DataFrame:
        """The file's rows; texts stay as they are, as ``1.0`` and ``NA``.

        Raises ValueError with what is wrong, if the file is not as its rule writes it.
        """
        text = _text(path)
        texts = dict.fromkeys((*TEXTS, *self.texts), str)
        frame = pd.read_csv(
            io.StringIO(text), dtype=texts, keep_default_na=False, na_values=[""]
        )
        for problem in self._problems(frame):
            raise ValueError(problem)
        return _without_gaps(frame)

    def _problems(self, frame: pd.DataFrame) -> Iterator[str]:
        """What is wrong with the file's rows, from the whole to single cells."""
        for column in (*self.keys, *self.texts, *self.numbers):
            if column not in frame:
                yield f"it has no column {column!r}"
        if not isinstance(frame.index, pd.RangeIndex):
            yield "its rows are longer than its first line"
        if self.has_rows and frame.empty:
            yield "it has no rows"
        for column in self.numbers:
            yield from _no_number(frame[column])
        for column in (*self.keys, *self.filled):
            is_empty = frame[column].isna()
            if column not in OPTIONAL and is_empty.any():
                yield f"row {is_empty.idxmax()} has no {column}"
        is_again = frame.duplicated(list(self.keys))
        if is_again.any():
            names = ", ".join(self.keys)
            yield f"row {is_again.idxmax()} has the {names} of an earlier row"


CELLS = ResultFile(
    keys=("table", "setting", "method", "metric", "selection"),
    texts=(
        "table",
        "setting",
        "method",
        "metric",
        "selection",
        "data_source",
        "verdict",
        "reason",
    ),
    numbers=("mean", "std", "n_seeds", "ci_low", "ci_high", "paper"),
    filled=("n_seeds",),
)
SCORES = ResultFile(
    keys=("data", "setting", "learner", "method", "seed", "metric", "selection"),
    texts=(
        "data",
        "setting",
        "learner",
        "method",
        "metric",
        "selection",
        "data_source",
        "reason",
    ),
    numbers=("value",),  # a seed may be a text, as data=0,network=1,...
)
COMPARISONS = ResultFile(
    keys=("metric", "method", "baseline"),
    texts=("metric", "method", "baseline", "outcome"),
    numbers=(
        "n_settings",
        "n_seeds",
        "difference",
        "ci_low",
        "ci_high",
        "p",
        "p_holm",
    ),
    has_rows=False,
)
ENDPOINTS = ResultFile(
    keys=("table", "part", "method"),
    texts=("table", "part", "method", "metric", "outcome", "outcome_exact"),
    numbers=(
        "mean",
        "difference",
        "ci_low",
        "ci_high",
        "margin",
        "ci_low_exact",
        "ci_high_exact",
    ),
    has_rows=False,
)
BAND = ResultFile(
    keys=("table", "part", "method"),
    texts=("table", "part", "method", "outcome"),
    numbers=("lowest", "highest"),
    has_rows=False,
)
CLAIMS = ResultFile(
    keys=("claim",),
    texts=("statement", "status", "where", "status_pooled"),
    numbers=("claim", "effect", "ci_low", "ci_high"),
    filled=("statement", "status", "where", "status_pooled"),
)


def _text(path: Path) -> str:
    """Text of a file.

    Raises ValueError if it is empty, cut, or in another encoding.
    """
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError("it is not a whole gzip file") from error
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is not in UTF-8") from error
    if not text:
        raise ValueError("it is empty")
    if not text.endswith("\n"):
        raise ValueError("its last line is cut")
    return text


def _no_number(column: "pd.Series[float]") -> Iterator[str]:
    """The first cell of a column that is not a number."""
    is_truth = pd.api.types.is_bool_dtype(column)
    if pd.api.types.is_numeric_dtype(column) and not is_truth:
        return
    numbers = pd.to_numeric(column.astype(str), errors="coerce")
    is_text = column.notna() & numbers.isna()
    if is_text.any():
        row = is_text.idxmax()
        value = shown(column[row])
        yield f"row {row} of its column {column.name!r} holds {value}, not a number"


def _without_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with empty texts in the place of missing ones."""
    texts = {}
    for column in TEXTS:
        if column in frame:
            values = frame[column].astype(object)
            texts[column] = values.fillna("")
    return frame.assign(**texts)
