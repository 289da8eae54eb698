"""Keys of the target ``own_table``: KerHRM on a table of your own."""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kerhrm.errors import FileError, KerhrmError, shown
from kerhrm.options import Number, Options, misfit, option
from kerhrm_paper.config.config import page_name
from kerhrm_paper.config.fields import MANY, matching, nearest
from kerhrm_paper.config.resolve import HARMLESS
from kerhrm_paper.runs import provenance

if TYPE_CHECKING:
    import pandas as pd

MAX_SEED = 2**32 - 1
TEST_SHARE = 0.3
VALIDATION_SHARE = 0.2  #: of the training rows; the estimators' default


def _text(value: Any) -> Any:
    """A number as its text: a column may be called 2020."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


def _texts(value: Any) -> Any:
    """A single name as a list of one."""
    return value if isinstance(value, list) else [value]


Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]
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
    test_share: Annotated[float, Field(gt=0, lt=1), Number] = option(
        TEST_SHARE, "of the rows of all other groups"
    )
    n_environments: Annotated[int, Field(ge=2, le=100), Number] = option(
        2, "number of environments"
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SEED), Number] = option(0, "of all draws")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.held_out and self.group is None:
            raise misfit("needs group=COLUMN, whose groups these are", "held_out")
        used = [self.target, *([self.group] if self.group else [])]
        if len(set(used)) < len(used):
            raise misfit("is the target; name another column", "group")
        for key in ("drop", "categorical"):
            for name in getattr(self, key):
                if name in used:
                    raise misfit(
                        f"'{name}' is the target or the group; leave it out", key
                    )
        return self

    @classmethod
    def read(cls, values: Mapping[str, Any], run: Path) -> Self:
        """The keys with their values, of a file that can be read.

        Raises KerhrmError, in one line with the key, also if the folder of the ``run``
        has the page of another file of this name.
        """
        given = {key: value for key, value in values.items() if value is not None}
        for key in ("csv", "target"):
            if key not in given:
                problem = f"own_table needs {key}= beside {', '.join(given)}"
                raise KerhrmError(problem, "add it behind --config")
        table = cls.parse(given, "--config: ")
        path = Path(table.csv)
        try:
            problem = "" if path.is_file() else "does not exist"
            problem = "is a folder" if path.is_dir() else problem
            if path.is_file() and not os.access(path, os.R_OK):
                problem = "cannot be read"
        except OSError as error:
            problem = str(error.strerror)
        if problem:
            hint = "give the path of a CSV file"
            raise FileError(f"csv={table.csv}: it {problem}", hint)
        page = f"own_table/{page_name(table.csv)}.html"
        made = provenance.read(run, page)
        if made and provenance.name_in(run, path) not in made["inputs"]:
            problem = f"csv={table.csv}: {run / page} is the page of another file"
            raise KerhrmError(problem, "delete it, or let results= name another folder")
        return table

    def check_file(self) -> None:
        """Refuse a file that is no table, and keys that its rows do not fit."""
        # imports PyTorch, which a plan without a table does not need
        from kerhrm.check import read_names, read_table

        self._check_columns(read_names(Path(self.csv)))
        self.check(read_table(Path(self.csv)))

    def _check_columns(self, names: list[str]) -> None:
        """Refuse columns that are not there."""
        for key in ("target", "group", "categorical", "drop"):
            value = getattr(self, key) or []
            for name in [value] if isinstance(value, str) else value:
                if name not in names:
                    problem = f"{key}={name}: {self.csv} has no such column"
                    raise KerhrmError(problem, nearest(name, names))

    def check(self, table: "pd.DataFrame") -> None:
        """Refuse keys that the table's columns and rows do not fit."""
        self._check_columns([str(name) for name in table.columns])
        rows = table[table[self.target].notna()]
        if rows.empty:
            problem = f"target={self.target}: no row has a value"
            raise KerhrmError(problem, "choose another column")
        if self.held_out:
            self._check_groups(rows)
        if {*table.columns} <= {self.target, self.group, *self.drop}:
            dropped = f"drop={', '.join(self.drop)}: " if self.drop else ""
            problem = f"{dropped}no column of {self.csv} is left to predict from"
            raise KerhrmError(problem, "drop fewer" if dropped else "add columns")
        values = learned = rows[self.target]
        if self.held_out:
            learned = values[~rows[self.group].astype(str).isin(self.held_out)]
        self._check_target(values, learned)
        self._check_size(len(learned))

    def _check_groups(self, rows: "pd.DataFrame") -> None:
        """Refuse groups to hold out that no row has, or that are all there are."""
        groups = sorted(rows[self.group].dropna().astype(str).unique())
        for name in self.held_out:
            if name not in groups:
                problem = f"held_out={name}: no row has this {self.group}"
                every = f"known are: {', '.join(groups)}"
                few = len(groups) <= MANY
                raise KerhrmError(problem, every if few else nearest(name, groups))
        if set(groups) <= set(self.held_out):
            problem = f"held_out={', '.join(self.held_out)}: no other group is left"
            raise KerhrmError(problem, "hold fewer out")

    def _check_target(
        self, values: "pd.Series[Any]", learned: "pd.Series[Any]"
    ) -> None:
        """Refuse a target that does not fit the task, or is constant where it is
        learned: outside of the groups held out."""
        import pandas as pd

        n, numbers = values.nunique(), pd.to_numeric(values, errors="coerce")
        numeric = pd.api.types.is_numeric_dtype(values)
        task = self.task or ("regression" if numeric and n > 2 else "classification")
        where = f"task={task}: " if self.task else ""
        where += f"target={self.target} must hold"
        if learned.nunique() < 2:
            others = " outside of the groups held out" if self.held_out else ""
            problem = f"target={self.target}: all rows{others} have one value"
            problem += f", {shown(learned.iloc[0])}"
            hint = ", or hold fewer out" if self.held_out else ""
            raise KerhrmError(problem, f"choose another column{hint}")
        text = values[numbers.isna()]
        if task == "regression" and len(text):
            problem = f"{where} numbers; got {shown(text.iloc[0])}"
            hint = "set task=classification" if n == 2 else "choose another target="
            raise KerhrmError(problem, hint)
        if task == "classification" and n > 2:
            problem = f"{where} two labels; got {n}"
            hint = "recode it, or choose a target= of two labels or of numbers"
            if numeric:
                hint = "set task=regression"
            elif 0 < len(text) < len(values) / 2:
                hint = f"correct cells that are no numbers, as {shown(text.iloc[0])}"
            raise KerhrmError(problem, hint)

    def _check_size(self, n: int) -> None:
        """Refuse a share for the test, or environments, for which n rows are too few.

        An environment needs two of the rows that are left for training and of which
        some validate.
        """

        def left(share: float) -> tuple[int, int]:
            trains = n - math.ceil(share * n)
            validates = min(max(1, round(VALIDATION_SHARE * trains)), trains - 2)
            return trains, max(0, trains - validates) // 2

        trains, most = left(self.test_share)
        if self.n_environments <= most:
            return
        problem = f"{trains} of {n} rows are left to train on, too few for"
        problem += f" n_environments={self.n_environments}"
        if self.test_share > TEST_SHARE and left(TEST_SHARE)[1] >= self.n_environments:
            problem = f"test_share={self.test_share:g}: {problem}"
            raise KerhrmError(problem, f"set test_share={TEST_SHARE}")
        if most >= 2:
            raise KerhrmError(problem, f"set n_environments={most}")
        hint = "hold fewer out, or " if self.held_out else ""
        raise KerhrmError(
            f"csv={self.csv}: {problem}", f"{hint}give a file of more rows"
        )
