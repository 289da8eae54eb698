"""The text of a file: what kind of file it is, and its encoding."""

import codecs
import io
import re
import stat
import zipfile
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError

ARCHIVE = "unpack it"
SHEET = "open it there and save the sheet as CSV"
CONVERT = "read it with pandas and write it with to_csv"
#: how files of other kinds begin, what they are, and what to do
MAGIC = (
    (b"\x1f\x8b", "a gzip archive", ARCHIVE),
    (b"BZh", "a bzip2 archive", ARCHIVE),
    (b"\xfd7zXZ", "an xz archive", ARCHIVE),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE),
    (b"\xd0\xcf\x11\xe0", "an Excel book", SHEET),
    (b"PAR1", "a parquet file", CONVERT),
    (b"ARROW1", "a feather file", CONVERT),
    (b"FEA1", "a feather file", CONVERT),
    (b"\x89HDF", "an HDF5 file", CONVERT),
    (b"<stata_dta>", "a Stata file", CONVERT),
    (b"$FL2", "an SPSS file", CONVERT),
    (b"SQLite format 3", "an SQLite database", "export one of its tables as CSV"),
    (b"%PDF", "a PDF document", "export its table as CSV"),
    (b"\x93NUMPY", "a NumPy array", "write it with numpy.savetxt"),
)
#: how texts of other kinds begin
MARKUP = re.compile(r"\s*<(!doctype|html|table|head|body|meta|div|\?xml)\b", re.I)
JSON = re.compile(r'\s*(\{\s*"|\[\s*[\[{])')
BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_bytes(path: Path) -> bytes:
    """Content of a file or a pipe, which can be read only once.

    Raises KerhrmError if it cannot be read, or is of another kind.
    """
    hint = "give the path of a CSV file, or /dev/stdin for a pipe"
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            what = "a folder" if stat.S_ISDIR(mode) else "a device"
            raise FileError(f"{path} is {what}", hint)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, KerhrmError):
            raise
        problem = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{path}: {problem}", hint) from error
    for magic, what, cure in MAGIC:
        if data.startswith(magic):
            raise KerhrmError(f"{path} is {what}, not a CSV file", cure)
    if data.startswith(b"PK\x03\x04"):
        book = _is_book(data, path)
        what, cure = ("an Excel book", SHEET) if book else ("a zip archive", ARCHIVE)
        raise KerhrmError(f"{path} is {what}, not a CSV file", cure)
    return data


def _is_book(data: bytes, path: Path) -> bool:
    """Whether a zip archive is a spreadsheet, by its content or its name."""
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except zipfile.BadZipFile:
        return path.suffix.lower() in (".xlsx", ".xlsm", ".xlsb", ".ods")
    return any(name.startswith("xl/") or name == "content.xml" for name in names)


def decode(data: bytes, path: Path, encoding: str | None = None) -> str:
    """Text of a file, in the encoding that it shows, or in UTF-8.

    Raises KerhrmError if it is not in this encoding, or is no table.
    """
    shown = _shown_encoding(data)
    try:
        named = codecs.lookup("utf-8" if encoding is None else encoding).name
    except (LookupError, ValueError) as error:
        problem = f"--encoding must be one that Python knows; got {encoding!r}"
        raise KerhrmError(problem, "leave --encoding out") from error
    wide = named.startswith(("utf-16", "utf-32"))
    # the bytes overrule general names; without zeros they are no UTF-16
    used = shown if shown and (wide or named == "utf-8") else named
    text = None if wide and b"\0" not in data else _decoded(data, used)
    if text is None or "\0" in text:
        western = re.search(rb"[\x80-\x9f]", data) and _decoded(data, "cp1252")
        hint = f"try --encoding {'cp1252' if western else 'latin-1'}"
        if encoding and _decoded(data, shown or "utf-8") is not None:
            hint = "leave --encoding out"
        elif b"\0" in data:
            hint = "save it as CSV again: it is cut, or holds other things than text"
        problem = "cannot be read" if text is None else "has NUL bytes, read"
        raise KerhrmError(f"{path} {problem} as {used}", hint)
    for pattern, what in ((MARKUP, "a web page or XML"), (JSON, "JSON")):
        if pattern.match(text):
            problem = f"{path} is {what}, not a CSV file"
            raise KerhrmError(problem, "save its table as CSV")
    if not text.strip():
        raise KerhrmError(f"{path} is empty", "give a CSV file with a header and rows")
    return text


def _decoded(data: bytes, encoding: str) -> str | None:
    """Text without the mark of the byte order; None: it is not in this encoding."""
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except (UnicodeError, LookupError, ValueError):
        return None


def _shown_encoding(data: bytes) -> str | None:
    """Encoding by a file's first bytes, or by the zeros of UTF-16."""
    for mark, name in BOMS.items():
        if data.startswith(mark):
            return name
    start = data[: 2**12]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) > len(start) / 4 and min(even, odd) < len(start) / 20:
        return "utf-16-be" if even > odd else "utf-16-le"
    return None
