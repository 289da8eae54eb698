"""What a table of one's own may be told."""

import functools
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from kerhrm.data.registry import TABLES
from kerhrm.data.tabular.reading import SEPARATORS, has_two_values
from kerhrm.sections import Count, NonNegative, Section, Some, misfit, option, suggest

RAW = "raw:"  #: begins a path that names raw data, and no file
#: of rows whose number is not known before they are read
UNKNOWN = 10**6
Share = Annotated[float, Field(gt=0, lt=1)]
Value = str | int | float | bool


class Groups(Section):
    """Which rows are for the test, and how they fall into groups; one of the last three."""

    column: str | None = option(None, "whose values or order define the groups")
    keep: bool = option(False, "whether that column is a predictor, too")
    values: Some[Value] | None = option(
        None, "of the column: rows with one of them are held out, a group for each value"
    )
    quantile: Share | None = option(
        None, "of the column, numbers or dates: rows above it are held out, as one group"
    )
    random: Share | None = option(
        None, "share of the rows that each seed draws; a group for each value of the column, if any"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [n for n in ("values", "quantile", "random") if getattr(self, n) is not None]
        if len(ways) != 1:
            raise ValueError("write one of values, quantile and random")
        if self.column is None and ways != ["random"]:
            raise misfit(f"{ways[0]} of which column? add column", "column")
        return self


class Injected(Section):
    """A further column whose relation to the target is the other way round in hidden rows.

    In units of the target's deviation it is the target (of two classes -1 or +1) plus normal noise,
    and in the hidden rows minus the target plus noise.  These rows are the truth that learned
    environments are scored against; no method sees them.
    """

    column: str = option("injected", "its name")
    share: Share = option(0.2, "of the rows that are hidden")
    noise: NonNegative = option(0.1, "deviation of the noise")


class TabularData(Section):
    """A CSV or Parquet file, or raw data that the project knows."""

    generator: Literal["tabular"] = Field(description="this data set")
    path: str = Field(
        min_length=1, description="of a .csv, .tsv (also .gz) or .parquet file, or raw:NAME"
    )
    target: str = Field(description="column to predict")
    task: Literal["auto", "classification", "regression"] = option(
        "auto", "auto: classification where the target has two values, else regression"
    )
    positive: Value | None = option(
        None, "value of the target that is the class +1, all others are -1; null: the last of two"
    )
    drop: list[str] = option([], "columns that are not used")
    only: Some[str] | None = option(None, "columns that are predictors; null: all that are left")
    categorical: list[str] = option([], "columns whose values are names, numbers or not")
    encoding: Literal["auto", "one_hot", "target"] = option(
        "auto",
        "of categorical columns: a column of 0 and 1 for each value, or the value's mean target in "
        "training; auto: the latter beyond 20 values",
    )
    missing: Literal["refuse", "drop", "impute"] = option(
        "refuse",
        "cells without a value: an error, the row is dropped, or the training rows' median (of "
        "categorical columns a value of its own)",
    )
    groups: Groups = option(Groups(random=0.3), "the test rows")
    test_fraction: Annotated[float, Field(ge=0, lt=1)] = option(
        0.15, "where groups are held out: share of the other rows that is a test group, too"
    )
    validation_fraction: Share = option(0.2, "share for validation of rows that are no test rows")
    max_rows: Count | None = option(
        None, "that train and validate at most; each seed draws its own"
    )
    clip: Literal["none", "train"] = option(
        "train", "train: numbers are moved into their range in training"
    )
    inject: Injected | None = option(None, "a semi-synthetic table")

    @property
    def source(self) -> str | None:
        """Name of the raw data, if it is made from such."""
        return self.path.removeprefix(RAW) if self.path.startswith(RAW) else None

    @property
    def file(self) -> str | None:
        """The file, if it is made from one."""
        return self.path if self.source is None else None

    @property
    def kind(self) -> str:
        """The task; of ``auto`` the target's column is looked at.

        Raises
        ------
        KerhrmError
            If the file cannot be read or has no such column.
        """
        if self.task != "auto":
            return self.task
        if self.positive is not None:
            return "classification"
        return "classification" if has_two_values(self.path, self.target) else "regression"

    @property
    def n_points(self) -> int:
        """Number of training points, at most."""
        lines, _ = self._lines_and_columns
        rows = min(max(lines - 1, 1), self.max_rows or UNKNOWN)
        return max(round(rows * (1 - self.validation_fraction)), 1)

    @property
    def n_inputs(self) -> int:
        """Number of predictors, at least."""
        _, columns = self._lines_and_columns
        return len(self.only) if self.only else max(columns - 1 - len(self.drop), 1)

    @property
    def _lines_and_columns(self) -> tuple[int, int]:
        """As far as a look at the file tells."""
        if self.file and os.path.isfile(self.file) and Path(self.file).suffix in SEPARATORS:
            status = os.stat(self.file)
            return _shape(self.file, status.st_mtime_ns, status.st_size)
        return UNKNOWN + 1, 0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.source is not None and self.source not in TABLES:
            raise misfit(f"no such raw data; {suggest(self.source, TABLES)}", "path")
        if self.source and self.task == "auto":
            why = "raw data may not be there yet; write classification or regression"
            raise misfit(why, "task")
        if self.positive is not None and self.task == "regression":
            raise misfit("a regression has no classes; leave it out", "positive")
        if self.inject and (self.groups.column or self.groups.random is None):
            why = "with inject the hidden rows are the groups; write random, without a column"
            raise misfit(why, "groups")
        for name in ("drop", "categorical"):
            if self.target in getattr(self, name):
                raise misfit(f"'{self.target}' is the target; take it out", name)
        return self


@functools.lru_cache
def _shape(path: str, *_: Any) -> tuple[int, int]:
    """Lines of a file and columns of its first, which for its time and size are looked at once."""
    with open(path, "rb") as file:
        columns = 1 + file.readline().count(SEPARATORS[Path(path).suffix].encode())
        lines = 1 + sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return lines, columns
