"""Keys of the target ``own_table``.

Whether the rows of the file fit them: :mod:`kerhrm_paper.config.own_table_rows`.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    model_validator,
)

from kerhrm.errors import FileError, KerhrmError
from kerhrm.options import (
    NotBool,
    Options,
    misfit,
    option,
)
from kerhrm.tables.shares import TEST_SHARE
from kerhrm_paper.config.config import page_name
from kerhrm_paper.config.fields import PLAIN_PATH, matching
from kerhrm_paper.config.mark import HARMLESS
from kerhrm_paper.config.own_table_names import written
from kerhrm_paper.runs import provenance

MAX_SEED = 2**32 - 1


def _number_as_text(value: Any) -> Any:
    """A number as its text: a column may be called 2020."""
    if isinstance(value, list):
        in_quotes = json.dumps(_in_brackets(value), ensure_ascii=False)
        raise ValueError(f"must be one name; in brackets it is {in_quotes}")
    is_truth = isinstance(value, bool)
    is_number = isinstance(value, int | float) and not is_truth
    return str(value) if is_number else value


def _in_brackets(words: list[Any]) -> str:
    """The name that was read as a list of these."""
    return f"[{', '.join(map(str, words))}]"


def _names(value: Any, info: ValidationInfo) -> list[Any]:
    """A single name as a list of one; a list in a list is a name in brackets."""
    names = value if isinstance(value, list) else [value]
    if not any(isinstance(name, list) for name in names):
        return names
    texts = []
    for name in names:
        texts.append(_in_brackets(name) if isinstance(name, list) else str(name))
    write = written(str(info.field_name), texts)
    raise ValueError(f"must be names; those in brackets in quotes: {write}")


Text = Annotated[
    str,
    BeforeValidator(_number_as_text),
    Field(min_length=1),
]
Texts = Annotated[list[Text], BeforeValidator(_names)]
FileName = Annotated[
    Text,
    AfterValidator(os.path.expanduser),
    PLAIN_PATH,
    matching(r"[^{}<>]+", "must be a file without { } < > in its name; rename it"),
]


def check_changes(changes: Mapping[str, Any]) -> None:
    """Refuse keys of the configuration that a table of one's own does not use.

    Raises KerhrmError, in one line with the key.
    """
    for key in changes:
        if key not in HARMLESS:
            problem = f"own_table does not use the key {key}"
            hint = "leave it out, and give the table's own keys behind --config"
            raise KerhrmError(problem, hint)


class OwnTable(Options):
    """What ``notebooks/own_table.ipynb`` is run with."""

    csv: FileName = Field(description="a CSV file")
    target: Text = Field(description="column to predict")
    task: Literal["regression", "classification"] | None = option(
        None, "null: as the target looks"
    )
    categorical: Texts = option([], "columns of categories, besides those of text")
    drop: Texts = option([], "columns that are not used")
    group: Text | None = option(
        None, "column whose groups are compared on test rows; it does not predict"
    )
    held_out: Texts = option([], "groups that are for the test alone")
    test_share: Annotated[float, Field(gt=0, lt=1), NotBool] = option(
        TEST_SHARE, "of the rows of all other groups"
    )
    n_environments: Annotated[int, Field(ge=2, le=100), NotBool] = option(
        2, "number of environments"
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SEED), NotBool] = option(0, "of all draws")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.held_out and self.group is None:
            raise misfit("needs group=COLUMN, whose groups these are", "held_out")
        if self.group == self.target:
            raise misfit("is the target; name another column", "group")
        for key in ("drop", "categorical"):
            for name in getattr(self, key):
                if name in (self.target, self.group):
                    problem = f"'{name}' is the target or the group; leave it out"
                    raise misfit(problem, key)
        for name in self.categorical:
            if name in self.drop:
                raise misfit(f"'{name}' is also in drop; name it once", "categorical")
        return self

    @classmethod
    def read(cls, values: Mapping[str, Any], run: Path) -> Self:
        """The keys with their values, of a file that can be read.

        Raises KerhrmError, in one line with the key, also if the folder of the ``run``
        has the page of another file of this name.
        """
        given = {}
        for key, value in values.items():
            if value is not None:
                given[key] = value
        for key in ("csv", "target"):
            if key not in given:
                problem = f"own_table needs {key}= beside {', '.join(given)}"
                raise KerhrmError(problem, "add it behind --config")
        table = cls.parse(given, "--config: ")
        path = Path(table.csv)
        if problem := _unreadable(path):
            hint = "give the path of a CSV file"
            raise FileError(f"csv={table.csv}: it {problem}", hint)
        page = f"own_table/{page_name(table.csv)}.html"
        record = provenance.read(run, page)
        file = provenance.name_in(run, path)
        if record and file not in record["inputs"]:
            problem = f"csv={table.csv}: {run / page} is the page of another file"
            raise KerhrmError(problem, "delete it, or let results= name another folder")
        return table


def _unreadable(path: Path) -> str:
    """Why a file cannot be read; empty, if it can."""
    try:
        if path.is_dir():
            return "is a folder"
        if not path.is_file():
            return "is a pipe or a device" if path.exists() else "does not exist"
    except OSError as error:
        return str(error.strerror)
    is_readable = os.access(path, os.R_OK)
    return "" if is_readable else "cannot be read"
