"""Do the keys of the target ``own_table`` fit your own table?"""

import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kerhrm.errors import (
    MANY,
    FileError,
    KerhrmError,
    known_are,
    shown,
)
from kerhrm.given import LARGEST
from kerhrm.options import (
    NotBool,
    Options,
    misfit,
    option,
)
from kerhrm.tables.shares import TEST_SHARE, validation_size
from kerhrm_paper.config.config import page_name
from kerhrm_paper.config.fields import matching, nearest
from kerhrm_paper.config.mark import HARMLESS
from kerhrm_paper.runs import provenance

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FLAG = re.compile(r"(?<!\S)--[a-z]")  #: an option of ``kerhrm check`` in a hint
MAX_SEED = 2**32 - 1


def _text(value: Any) -> Any:
    """A number as its text: a column may be called 2020."""
    is_truth = isinstance(value, bool)
    is_number = isinstance(value, int | float) and not is_truth
    return str(value) if is_number else value


def _texts(value: Any) -> Any:
    """A single name as a list of one."""
    return value if isinstance(value, list) else [value]


Text = Annotated[
    str,
    BeforeValidator(_text),
    Field(min_length=1),
]
Texts = Annotated[list[Text], BeforeValidator(_texts)]
FileName = Annotated[
    Text,
    AfterValidator(os.path.expanduser),
    matching(
        r"[^{}<>\x00-\x1f]+", "must be a file without { } < > in its name; rename it"
    ),
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

    def check_file(self) -> None:
        """Refuse a file that is no table, and keys that its rows do not fit."""
        # imports pandas, which a plan without a table does not need
        from kerhrm.tables.csv import read_names, read_table

        path = Path(self.csv)
        try:
            self._check_columns(read_names(path))
            self.check(read_table(path))
        except KerhrmError as error:
            raise self._without_flags(error) from error

    def _without_flags(self, error: KerhrmError) -> KerhrmError:
        """The error with a hint that own_table can follow: it has no --encoding."""
        hint = error.hint
        if not FLAG.search(hint or ""):
            return error
        command = f"kerhrm check {shlex.quote(self.csv)}"
        cure = "save it in UTF-8 with commas between cells and decimal points"
        return KerhrmError(error.problem, f"{cure}, or use {command}, there {hint}")

    def _check_columns(self, names: list[str]) -> None:
        """Refuse columns that are not there."""
        for key in ("target", "group", "categorical", "drop"):
            columns = getattr(self, key) or []
            if isinstance(columns, str):
                columns = [columns]
            for column in columns:
                if column not in names:
                    problem = f"{key}={column}: {self.csv} has no such column"
                    hint = _as_list(key, column, names) or nearest(column, names)
                    raise KerhrmError(problem, hint)

    def check(self, table: "pd.DataFrame") -> None:
        """Refuse keys that the table's columns and rows do not fit."""
        import numpy as np

        from kerhrm.tables.columns import texts

        names = map(str, table.columns)
        self._check_columns(list(names))
        has_value = table[self.target].notna()
        rows = table[has_value]
        if rows.empty:
            problem = f"target={self.target}: no row has a value"
            raise KerhrmError(problem, "choose another column")
        target = rows[self.target]
        learned = target
        if self.group is not None:
            self._check_every_group(rows[self.group])
        if self.held_out:
            groups = texts(rows[self.group])
            self._check_groups(groups)
            is_held_out = np.isin(groups, self._held_out_groups())
            learned = target[~is_held_out]
        self._check_inputs(table)
        self._check_enormous(rows)
        self._check_constant(learned)
        self._check_target(target)
        self._check_size(len(learned))

    def _check_inputs(self, table: "pd.DataFrame") -> None:
        """Refuse a table of which no column is left to predict from."""
        from kerhrm.tables.columns import columns_that_name_rows, none_left

        unused = {self.target, self.group, *self.drop}
        used = [name for name in table.columns if name not in unused]
        if used:
            texts = {name: str for name in self.categorical if name in used}
            names_rows = columns_that_name_rows(table[used].astype(texts))
            if len(names_rows) == len(used):
                error = none_left(names_rows)
                raise KerhrmError(f"csv={self.csv}: {error.problem}", error.hint)
            return
        problem = f"no column of {self.csv} is left to predict from"
        if self.drop:
            problem = f"drop={', '.join(self.drop)}: {problem}"
            raise KerhrmError(problem, "drop fewer")
        raise KerhrmError(problem, "add columns")

    def _check_enormous(self, rows: "pd.DataFrame") -> None:
        """Refuse numbers that no estimator takes, in columns that are used."""
        from kerhrm.tables.index import first_row

        unused = {self.group, *self.drop, *self.categorical}
        for name, column in rows.select_dtypes("float").items():
            enormous = column.abs() >= LARGEST
            if name in unused or not enormous.any():
                continue
            value = column[enormous].iloc[0]
            where = first_row(enormous, column)
            problem = f"column {name!r} holds {value:g} in {where}"
            hint = "correct or empty the cell"
            if name != self.target:
                hint += f", or leave the column out: drop={name}"
            raise KerhrmError(f"{self.csv}: {problem}", hint)

    def _check_every_group(self, column: "pd.Series[Any]") -> None:
        """Refuse rows without a group, whose errors would stand nowhere."""
        from kerhrm.tables.index import first_row
        from kerhrm.tables.wording import counted

        is_missing = column.isna()
        if is_missing.any():
            empty = counted(int(is_missing.sum()))
            first = first_row(is_missing, column)
            problem = f"group={self.group} is empty in {empty}, the first is {first}"
            raise KerhrmError(problem, "give each row a group, or leave group out")

    def _held_out_groups(self) -> list[str]:
        """Groups to hold out, spelled as those of a column: 2001.0 is 2001."""
        from kerhrm.tables.cells import text_of

        return [text_of(name) for name in self.held_out]

    def _check_groups(self, groups: "np.ndarray") -> None:
        """Refuse groups to hold out that no row has, or that are all there are."""
        held_out = self._held_out_groups()
        known = sorted(set(groups))
        for given, group in zip(self.held_out, held_out, strict=True):
            if group not in known:
                hint = nearest(group, known)
                spellings = {name.casefold() for name in known}
                if len(known) <= MANY and group.casefold() not in spellings:
                    hint = known_are(known)
                problem = f"held_out={given}: no row has this {self.group}"
                raise KerhrmError(problem, _as_list("held_out", given, known) or hint)
        if set(known) <= set(held_out):
            problem = f"held_out={', '.join(self.held_out)}: no other group is left"
            raise KerhrmError(problem, "hold fewer out")

    def _check_constant(self, learned: "pd.Series[Any]") -> None:
        """Refuse a target that is constant outside of the groups held out."""
        if learned.nunique() >= 2:
            return
        value = shown(learned.iloc[0])
        if self.held_out:
            problem = "all rows outside of the groups held out have one value"
            hint = "choose another column, or hold fewer out"
        else:
            problem = "all rows have one value"
            hint = "choose another column"
        raise KerhrmError(f"target={self.target}: {problem}, {value}", hint)

    def _check_target(self, target: "pd.Series[Any]") -> None:
        """Refuse a target that does not fit the task."""
        import pandas as pd

        from kerhrm.tables.oddities import is_regression

        n_values = target.nunique()
        is_numeric = pd.api.types.is_numeric_dtype(target)
        looks = "regression" if is_regression(target) else "classification"
        task = self.task or looks
        given = f"task={task}: " if self.task else ""
        must = f"{given}target={self.target} must hold"
        numbers = pd.to_numeric(target, errors="coerce")
        text = target[numbers.isna()]
        if task == "regression" and len(text):
            hint = "choose another target="
            if n_values == 2:
                hint = "set task=classification"
            first = shown(text.iloc[0])
            raise KerhrmError(f"{must} numbers; got {first}", hint)
        if task == "classification" and n_values > 2:
            hint = "recode it, or choose a target= of two labels or of numbers"
            if is_numeric:
                hint = "set task=regression"
            elif 0 < len(text) < len(target) / 2:
                first = shown(text.iloc[0])
                hint = f"correct cells that are no numbers, as {first}"
            raise KerhrmError(f"{must} two labels; got {n_values}", hint)

    def _check_size(self, n: int) -> None:
        """Refuse a share for the test, or environments, for which n rows are too few.

        An environment needs two of the rows that are left for training and of which
        some validate.
        """

        n_training, most = _left(n, self.test_share)
        if self.n_environments <= most:
            return
        problem = (
            f"{n_training} of {n} rows are left to train on, too few for "
            f"n_environments={self.n_environments}"
        )
        _, most_by_default = _left(n, TEST_SHARE)
        if self.test_share > TEST_SHARE and most_by_default >= self.n_environments:
            problem = f"test_share={self.test_share:g}: {problem}"
            raise KerhrmError(problem, f"set test_share={TEST_SHARE}")
        if most >= 2:
            raise KerhrmError(problem, f"set n_environments={most}")
        hint = "give a file of more rows"
        if self.held_out:
            hint = f"hold fewer out, or {hint}"
        raise KerhrmError(f"csv={self.csv}: {problem}", hint)


def _left(n: int, test_share: float) -> tuple[int, int]:
    """Rows of n that are left for training, and the environments that these allow."""
    from kerhrm.estimators.kerhrm import KerHRMRegressor

    n_training = n - math.ceil(test_share * n)
    estimator = KerHRMRegressor()
    n_validation = validation_size(n_training, estimator.validation_fraction)
    n_learning = max(0, n_training - n_validation)
    return n_training, n_learning // 2


def _unreadable(path: Path) -> str:
    """Why a file cannot be read; empty, if it can."""
    try:
        if path.is_dir():
            return "is a folder"
        if not path.is_file():
            return "does not exist"
    except OSError as error:
        return str(error.strerror)
    is_readable = os.access(path, os.R_OK)
    return "" if is_readable else "cannot be read"


def _as_list(key: str, word: str, names: Sequence[str]) -> str | None:
    """How to write several names that are given as one word, if they are."""
    words = [part.strip() for part in word.split(",")]
    several = len(words) > 1 and all(part in names for part in words)
    return f"write {key}=[{','.join(words)}]" if several else None
