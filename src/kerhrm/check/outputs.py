"""Files that ``kerhrm check`` writes: a page, and the memberships of the rows.

A file of another program, or the table itself, is never replaced.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kerhrm.check.fitting import Checked
from kerhrm.description.result import Description
from kerhrm.description.rows import environment_names
from kerhrm.errors import FileError
from kerhrm.files import unwritable

#: how pages of ``kerhrm check`` begin, which tells them from other files
HEAD = (
    "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>"
    "<meta name='generator' content='kerhrm check'>"
)
#: first columns of memberships
ROW, PART, LIKELIEST = "row", "part", "likeliest"
LINE = 2**16  #: bytes of a first line that are read


@dataclass(frozen=True)
class Output:
    """A kind of file.

    Attributes
    ----------
    option : str
        Of the command.
    what : str
        The file, with its article.
    suffixes : tuple of str
        Endings of its name, the usual one first.
    is_ours : callable
        Whether the command writes files with this first line.
    """

    option: str
    what: str
    suffixes: tuple[str, ...]
    is_ours: Callable[[str], bool]


def _begins_page(line: str) -> bool:
    return line.startswith(HEAD)


def _names_memberships(line: str) -> bool:
    """Whether a line is the whole header of memberships: a column that was added makes
    them the user's."""
    first = [ROW, PART, LIKELIEST]
    names = line.rstrip("\r\n").split(",")
    n_environments = len(names) - len(first)
    return n_environments > 0 and names == first + environment_names(n_environments)


PAGE = Output("--html", "a page", (".html", ".htm"), _begins_page)
MEMBERSHIPS = Output("--memberships", "a table", (".csv",), _names_memberships)


def check_output(output: Output, path: Path, data: Path) -> None:
    """Refuse a file that would take the place of another one.

    Raises KerhrmError if a file is there that is the data or not of this kind, or its
    folder is missing or cannot be written.
    """
    hint = "name a new file, or delete this one"
    try:
        there = path.lstat() is not None
    except FileNotFoundError:
        there = False
    except OSError as error:
        raise unwritable(path, error) from error
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder", "name a file in it")
    both_exist = there and path.exists() and data.exists()
    if both_exist and path.samefile(data):
        hint = f"name another file for {output.option}"
        raise FileError(f"{path} is the table itself", hint)
    if path.suffix.casefold() not in output.suffixes:
        usual, *_ = output.suffixes
        named = f"{output.option} must name {output.what}, which ends in {usual}"
        stem = path.stem
        ending_alone = stem.casefold() in output.suffixes
        if ending_alone or not stem.strip("-. "):
            stem = "report"
        right = path.with_name(f"{stem[:100]}{usual}")
        raise FileError(f"{named}; got {str(path)!r}", f"write {right}")
    if there and not _is_ours(output, path):
        raise FileError(f"{path} exists, and kerhrm check has not written it", hint)
    if not path.parent.is_dir():
        problem = f"cannot write {path}: the folder {path.parent} does not exist"
        raise FileError(problem, "make it first, or name another one")
    if not os.access(path.parent, os.W_OK):
        problem = f"cannot write {path}: the folder {path.parent} is read-only"
        raise FileError(problem, "name a file in another folder")


def _is_ours(output: Output, path: Path) -> bool:
    """Whether the command has made a file."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            line = file.readline(LINE)
    except OSError:
        return False
    return output.is_ours(line.decode(errors="replace"))


def memberships(checked: Checked, description: Description) -> pd.DataFrame | None:
    """Environments of the rows, by their index in the table.

    Columns ``part`` (train or test), ``likeliest``, a number, and the memberships
    ``environment 0``, ``environment 1``, ...  Test rows are there if the described
    split is the fit's; a mixture is one of the rows that train.  None: there is no
    split.
    """
    of_train = description.memberships
    if of_train is None:
        return None
    parts = [of_train.assign(**{PART: "train"})]
    if description.split == "fit":
        values = checked.model.predict_environment_proba(
            checked.X_test, checked.y_test, auxiliary=checked.auxiliary_test
        )
        of_test = pd.DataFrame(values, checked.X_test.index, of_train.columns)
        parts.append(of_test.assign(**{PART: "test"}))
    table = pd.concat(parts).sort_index()
    names = list(of_train.columns)
    likeliest = table[names].to_numpy().argmax(axis=1)
    table[LIKELIEST] = likeliest
    return table[[PART, LIKELIEST, *names]].rename_axis(ROW)
