"""The text of a file: what kind of file it is, and its encoding."""

import codecs
import io
import os
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

from kerhrm.errors import FileError, KerhrmError, shown

GIVE_PATH = "give the path of a CSV file, or /dev/stdin for a pipe"
ARCHIVE = "unpack it"
SHEET = "open it there and save the sheet as CSV"
EXPORT = "export its table as CSV"
WITH_R = "write it there with write.csv(..., row.names = FALSE)"
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
    *(
        (bytes([version, order, 1]), "a Stata file", CONVERT)
        for version in b"ilnopqrs"
        for order in (1, 2)
    ),
    (b"$FL2", "an SPSS file", CONVERT),
    (b"$FL3", "an SPSS file", CONVERT),
    (b"ASCII SPSS PORT FILE", "an SPSS file", EXPORT),
    (bytes(12) + b"\xc2\xea\x81\x60", "a SAS file", CONVERT),
    (b"HEADER RECORD*******", "a SAS transport file", CONVERT),
    (b"\x80\x04", "a pickle", CONVERT),
    (b"\x80\x05", "a pickle", CONVERT),
    *(
        (b"RD%c%d\n" % (kind, n), "an R data file", WITH_R)
        for kind in b"AX"
        for n in (2, 3)
    ),
    (b"X\n\0\0\0", "an R data file", WITH_R),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file", "write it there with writetable"),
    (b"SQLite format 3", "an SQLite database", "export one of its tables as CSV"),
    (b"%PDF", "a PDF document", EXPORT),
    (b"{\\rtf", "an RTF document", EXPORT),
    (b"\x93NUMPY", "a NumPy array", "write it with numpy.savetxt"),
)
SAVE = "save its table as CSV"
MARKUP = re.compile(r"\s*<(!doctype|html|table|head|body|meta|div|\?xml)\b", re.I)
JSON = re.compile(r'\s*(\{\s*"|\[\s*[\[{])')
#: how texts of other kinds begin, what they are, and what to do
TEXTS = (
    (MARKUP, "a web page or XML", SAVE),
    (JSON, "JSON", SAVE),
    (re.compile(r"\s*\\(documentclass|begin)\b"), "LaTeX", SAVE),
    (
        re.compile(r"\s*(%[^\r\n]*[\r\n]\s*)*@relation\b", re.I),
        "an ARFF file",
        "write its names in one line, in place of all lines up to @data",
    ),
    (
        re.compile(
            r"\s*(--[^\r\n]*[\r\n]\s*)*"
            r"(insert\s+into|create\s+(table|database)|drop\s+table)\s",
            re.I,
        ),
        "SQL",
        EXPORT,
    ),
)
#: archives in which R keeps its objects
OF_R = (".rds", ".rda", ".rdata")
BOOKS = dict.fromkeys((".xlsx", ".xlsm", ".xlsb"), "an Excel book")
BOOKS[".ods"] = "an OpenDocument book"
BOOKS[".numbers"] = "a Numbers book"
#: how a file begins that ``git lfs`` has not fetched
POINTER = b"version https://git-lfs"
#: letters of Japanese and Korean
KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fc]")
JAPANESE = re.compile(r"[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
HANGUL = re.compile(r"[\uac00-\ud7a3]")
#: first bytes of the frequent characters, and of signs, of two encodings
FREQUENT = {"gb2312": rb"[\xa1\xa3\xb0-\xd7]", "big5": rb"[\xa1\xa4-\xc6]"}
MIN_SIGNS = 6  #: different ones, from which Korean can be told from Chinese
SAMPLE = 2**16  #: bytes that show the encoding
BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def as_path(path: Any) -> Path:
    """Path of a file.

    Raises KerhrmError if it is neither text nor path-like.
    """
    if isinstance(path, str | os.PathLike):
        return Path(os.fsdecode(path))
    raise KerhrmError(f"the file must be a path; got {shown(path)}", GIVE_PATH)


def read_bytes(path: Path) -> bytes:
    """Content of a file or a pipe, which can be read only once.

    Raises KerhrmError if it cannot be read, or is of another kind.
    """
    try:
        mode = path.stat().st_mode
        readable = stat.S_ISREG(mode) or stat.S_ISFIFO(mode)
        if not readable:
            what = "a folder" if stat.S_ISDIR(mode) else "a device"
            raise FileError(f"{path} is {what}", GIVE_PATH)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, KerhrmError):
            raise
        problem = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{path}: {problem}", GIVE_PATH) from error
    _check_bytes(data, path)
    return data


def _check_bytes(data: bytes, path: Path) -> None:
    """Refuse the content of a file of another kind."""
    if data.startswith(POINTER):
        problem = f"{path} is a pointer of Git LFS, not the file itself"
        raise KerhrmError(problem, "fetch it: git lfs pull")
    for magic, what, cure in MAGIC:
        if not data.startswith(magic):
            continue
        if cure == ARCHIVE and path.suffix.lower() in OF_R:
            what, cure = "an R data file", WITH_R
        raise KerhrmError(f"{path} is {what}, not a CSV file", cure)
    if data[257:262] == b"ustar":
        raise KerhrmError(f"{path} is a tar archive, not a CSV file", ARCHIVE)
    if data.startswith(b"PK\x03\x04"):
        book = _book(data, path)
        if path.suffix.lower() == ".npz":
            problem = f"{path} holds NumPy arrays, and is not a CSV file"
            raise KerhrmError(problem, "write one of them with numpy.savetxt")
        if book is None:
            raise KerhrmError(f"{path} is a zip archive, not a CSV file", ARCHIVE)
        raise KerhrmError(f"{path} is {book}, not a CSV file", SHEET)


def _book(data: bytes, path: Path) -> str | None:
    """What book a zip archive is, by its content or its name; None: it is no book."""
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except zipfile.BadZipFile:
        return BOOKS.get(path.suffix.lower())
    if any(name.startswith("xl/") for name in names):
        return BOOKS[".xlsx"]
    if any(name.endswith(".iwa") for name in names):
        return BOOKS[".numbers"]
    return BOOKS[".ods"] if "content.xml" in names else None


def decode(data: bytes, path: Path, encoding: str | None = None) -> str:
    """Text of a file, in the encoding that it shows, or in UTF-8.

    Raises KerhrmError if it is not in this encoding, or is no table.
    """
    by_bytes = _shown_encoding(data)
    try:
        named = codecs.lookup("utf-8" if encoding is None else encoding).name
    except (LookupError, ValueError) as error:
        problem = f"--encoding must be one that Python knows; got {shown(encoding)}"
        raise KerhrmError(problem, "leave --encoding out") from error
    wide = named.startswith(("utf-16", "utf-32"))
    # the bytes overrule general names; without zeros they are no UTF-16
    general = wide or named == "utf-8"
    used = named
    if by_bytes and general:
        used = by_bytes
    has_zeros = b"\0" in data
    text = _decoded(data, used)
    if wide and not has_zeros:
        text = None
    if text is None or "\0" in text:
        without_option = _decoded(data, by_bytes or "utf-8")
        odd_line = _odd_line(data) if used == "utf-8" else None
        hint = odd_line or f"try --encoding {_likely(data)}"
        if encoding and without_option is not None:
            hint = "leave --encoding out"
        elif has_zeros:
            hint = "save it as CSV again: it is cut, or holds other things than text"
        problem = "cannot be read" if text is None else "has NUL bytes, read"
        raise KerhrmError(f"{path} {problem} as {used}", hint)
    for pattern, what, cure in TEXTS:
        if pattern.match(text):
            raise KerhrmError(f"{path} is {what}, not a CSV file", cure)
    if not text.strip():
        raise KerhrmError(f"{path} is empty", "give a CSV file with a header and rows")
    return text


def _odd_line(data: bytes) -> str | None:
    """Say which line of a file in UTF-8 has other bytes; None: it is not in UTF-8.

    Two files were put together, or a program cut a cell in the middle of a sign.
    """
    text = data.decode("utf-8", "surrogateescape")
    beyond_ascii = [sign for sign in text if sign > "\x7f"]
    odd = [sign for sign in beyond_ascii if "\udc80" <= sign <= "\udcff"]
    if not odd or 3 * len(odd) > len(beyond_ascii):
        return None
    before = text[: text.index(odd[0])]
    line = before.count("\n") + 1
    cell = text[len(before) :].encode("utf-8", "surrogateescape")[:1].hex()
    rest = "one sign that is" if len(odd) == 1 else f"{len(odd)} signs that are"
    return f"it has {rest} not, the first in line {line} (byte {cell}): write them anew"


def _likely(data: bytes) -> str:
    """Encoding that a text may be in, which is not UTF-8."""
    end = data.find(b"\n", SAMPLE) + 1 or len(data)
    sample = data[:end]
    for encoding in ("cp932", "euc_jp", "euc_kr", "gb18030", "big5"):
        text = _decoded(sample, encoding) or ""
        beyond_ascii = [sign for sign in text if sign > "\x7f"]
        if _is_frequent("".join(beyond_ascii), encoding):
            return encoding
    runs = re.findall(rb"[\x80-\xff]+", sample)
    n_bytes = sum(map(len, runs))
    if runs and n_bytes > 2.5 * len(runs):  # words without a Latin letter
        return "cp1251 if it is Russian, or the encoding of its language"
    western = re.search(rb"[\x80-\x9f]", data) and _decoded(data, "cp1252")
    guess = "cp1252" if western else "latin-1"
    return f"{guess}, or cp1250 if it is Polish, Czech or Hungarian"


def _is_frequent(signs: str, encoding: str) -> bool:
    """Whether signs beyond ASCII are those that are frequent in an encoding."""
    n = len(signs)
    if encoding in ("cp932", "euc_jp"):
        n_kana = len(KANA.findall(signs))
        n_japanese = len(JAPANESE.findall(signs))
        return n_kana > 0.1 * n and n_japanese > 0.9 * n
    if encoding == "euc_kr":
        n_korean = len(HANGUL.findall(signs))
        # fewer could be Chinese by chance
        several = len(set(signs)) >= MIN_SIGNS
        return several and n_korean > 0.9 * n
    core = "gb2312" if encoding == "gb18030" else encoding
    n_frequent = 0
    for sign in signs:
        first = sign.encode(core, "ignore")[:1]
        if re.fullmatch(FREQUENT[core], first):
            n_frequent += 1
    return n_frequent > 0.85 * n


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
    n = len(start)
    even = start[::2].count(0)
    odd = start[1::2].count(0)
    many_on_one_side = max(even, odd) > n / 4
    few_on_the_other = min(even, odd) < n / 20
    if many_on_one_side and few_on_the_other:
        return "utf-16-be" if even > odd else "utf-16-le"
    return None
