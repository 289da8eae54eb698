"""A file as a data frame: numbers as they are, everything else as text."""

import csv
import functools
import gzip
import os
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kerhrm.errors import KerhrmError
from kerhrm.sections import suggest

if TYPE_CHECKING:
    import pandas as pd

PARQUET = b"PAR1"
#: how files of other kinds begin
OTHERS = {PARQUET: "Parquet", b"PK\x03\x04": "a zip archive or an Excel sheet", b"\x1f\x8b": "gzip"}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*SEPARATORS, ".parquet")


def read_frame(path: str, columns: list[str] | None = None) -> "pd.DataFrame":
    """Read a table; of text files every cell is text, and cells without a value are NaN.

    Raises
    ------
    KerhrmError
        If there is no such file, it is empty, not what its suffix says, not UTF-8, has a column
        twice, lines of different length or no row of data, or lacks one of ``columns``.
    """
    import pandas as pd  # half a second, which only reading need spend

    kind = _kind(path)
    if kind == ".parquet":
        frame = _parquet(path)
    else:
        names = _header(path, SEPARATORS[kind])
        _missing(path, columns or [], names)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                frame = pd.read_csv(
                    path, sep=SEPARATORS[kind], dtype=str, encoding="utf-8-sig", usecols=columns,
                    skipinitialspace=True, index_col=False,
                )  # fmt: skip
        except pd.errors.ParserWarning as error:
            problem = f"cannot read {path}: the first row has more cells than there are columns"
            raise KerhrmError(problem, "name every column, or remove what is too much") from error
        except UnicodeDecodeError as error:
            raise _encoding(path, error) from error
        except (OSError, EOFError, ValueError) as error:  # the errors of pandas are ValueErrors
            raise KerhrmError(f"cannot read {path}: {_line(error)}", "mend that line") from error
    _missing(path, columns or [], list(frame.columns))
    if frame.empty:
        raise KerhrmError(f"{path} has no row of data", "add some")
    return frame


@functools.lru_cache
def _two_values(path: str, target: str, *_: Any) -> bool:
    return bool(read_frame(path, [target])[target].nunique() == 2)


def has_two_values(path: str, target: str) -> bool:
    """Whether a column has two different values; a file is read once for its time and size."""
    status = os.stat(path) if os.path.isfile(path) else None
    return _two_values(path, target, status and (status.st_mtime_ns, status.st_size))


def _kind(path: str) -> str:
    """Suffix without .gz, once the file looks like it."""
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() != ".gz"]
    kind, packed = (suffixes or [""])[-1], path.lower().endswith(".gz")
    if kind not in SUFFIXES or (packed and kind == ".parquet"):
        known = ".csv, .tsv, .csv.gz, .tsv.gz or .parquet"
        raise KerhrmError(f"{path} is no kind of file that is known", f"save it as {known}")
    try:
        if os.path.getsize(path) == 0:
            raise KerhrmError(f"{path} is empty", "save the table again")
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError as error:
        raise KerhrmError(f"cannot read {path}: {error.strerror}", "correct the path") from error
    found = next((name for magic, name in OTHERS.items() if start.startswith(magic)), "text")
    said = "gzip" if packed else "Parquet" if kind == ".parquet" else "text"
    if found != said:
        problem = f"{path} is not what its suffix says: it looks like {found}"
        raise KerhrmError(
            problem, f"rename it or save it as {'CSV' if said != 'Parquet' else said}"
        )
    return kind


def _header(path: str, separator: str) -> list[str]:
    """Names of the columns, which pandas would make different where one is there twice."""
    try:
        with _text(path) as file:
            names = [name.strip() for name in next(csv.reader(file, delimiter=separator), [])]
    except UnicodeDecodeError as error:
        raise _encoding(path, error) from error
    except (OSError, EOFError, csv.Error) as error:
        problem = f"{path} is not what its suffix says ({_line(error)})"
        raise KerhrmError(problem, "save it as CSV") from error
    _unique(path, names)
    for number, name in enumerate(names, 1):
        if not name:
            raise KerhrmError(f"{path}: column {number} has no name", "write one in the first line")
    if not names:
        raise KerhrmError(f"{path} has an empty first line", "write the columns' names there")
    return names


def _text(path: str) -> IO[str]:
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _parquet(path: str) -> "pd.DataFrame":
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        cure = "install pyarrow (pip install pyarrow), or save it as CSV"
        raise KerhrmError(f"{path}: Parquet needs pyarrow, which is not installed", cure) from error
    except (OSError, ValueError) as error:
        raise KerhrmError(f"{path} is damaged ({_line(error)})", "save it again") from error
    frame.columns = [str(name) for name in frame.columns]
    _unique(path, list(frame.columns))
    texts = [n for n in frame if frame[n].dtype.kind not in "iuf"]
    return frame.astype(dict.fromkeys(texts, str)).where(frame.notna())


def _unique(path: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            problem = f"{path} has two columns called '{name}'"
            raise KerhrmError(problem, "rename or remove one of them")


def _missing(path: str, wanted: list[str], names: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise KerhrmError(f"{path} has no column '{name}'", suggest(name, names))


def _encoding(path: str, error: UnicodeDecodeError) -> KerhrmError:
    byte = error.object[error.start]
    return KerhrmError(f"{path} is not UTF-8 text (byte 0x{byte:02x})", "save it as UTF-8")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
