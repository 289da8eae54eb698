"""Which means does ``endpoints.yaml`` compare with the paper's, and how?"""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kerhrm.errors import suggest
from kerhrm.methods.base import AS_RELEASED, POOLED, WORST_INFERRED, WORST_TRUE
from kerhrm.options import (
    Count,
    Finite,
    NonEmpty,
    Options,
    PositiveFloat,
    Some,
    misfit,
    option,
)
from kerhrm_paper.config.strict_yaml import read_yaml, shown_path

CRITERIA = (POOLED, WORST_INFERRED, WORST_TRUE, AS_RELEASED)


class EndpointTable(Options):
    """How a table is compared with the paper's."""

    metric: Literal["test_acc", "worst_acc", "mean_error", "worst_error", "mse"] = (
        Field(description="whose mean over the settings is compared")
    )
    margin: PositiveFloat | None = option(None, "of a difference that counts as none")
    relative_margin: PositiveFloat | None = option(
        None, "likewise, as a share of the paper's mean"
    )
    runs: Count = Field(description="that a printed number is the mean of")
    apart: list[str] = option([], "options whose settings have rows of their own")
    without: list[str] = option([], "methods that are left out")

    @model_validator(mode="after")
    def _has_one_margin(self) -> Self:
        if self.margin is None and self.relative_margin is None:
            raise misfit("is missing; add margin or relative_margin", "margin")
        if self.margin is not None and self.relative_margin is not None:
            raise misfit("margin is given, too; delete one of them", "relative_margin")
        return self

    def margin_at(self, reference: float) -> float:
        """Size of a difference that counts as none, by the paper's mean."""
        if self.margin is not None:
            return self.margin
        assert self.relative_margin is not None
        return self.relative_margin * reference


class Band(Options):
    """Constants that the paper does not print, and tables that have all of them."""

    method: str = Field(description="whose outcome follows the band")
    grid: Annotated[dict[str, Some[Finite]], NonEmpty] = Field(
        description="values by constant"
    )
    tables: dict[str, str] = Field(
        description="table with the whole grid, by table that is compared"
    )


class Endpoints(Options):
    """All of ``config/endpoints.yaml``."""

    family: list[str] = Field(
        description="methods whose tests Holm's correction is over"
    )
    others: list[str] = Field(description="further methods that are compared")
    baselines: list[str] = Field(
        description="methods of the paper that were tuned by `baselines_by`"
    )
    baselines_by: str = Field(description="criterion of the baselines, in words")
    tables: dict[str, EndpointTable] = Field(description="by name")
    band: Band = Field(description="of the algorithm as printed")

    @property
    def methods(self) -> tuple[str, ...]:
        """All that are compared."""
        return (*self.family, *self.others, *self.baselines)

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        _check_known(self.baselines_by, CRITERIA, "baselines_by")
        _check_known(self.band.method, self.methods, "band", "method")
        for name in self.band.tables:
            _check_known(name, self.tables, "band", "tables", name)
        for name, table in self.tables.items():
            for method in table.without:
                _check_known(method, self.methods, "tables", name, "without")
        return self


def _check_known(name: str, known: Collection[str], *key: str) -> None:
    """Refuse a name that stands nowhere else."""
    if name not in known:
        raise misfit(f"{name!r} is unknown; {suggest(name, known)}", *key)


def load_endpoints(path: str | Path) -> Endpoints:
    """Read the file.

    Raises KerhrmError, in one line with file, key and value, if it does not fit.
    """
    file = Path(path)
    return Endpoints.parse(read_yaml(file), f"{shown_path(file)}: ")
