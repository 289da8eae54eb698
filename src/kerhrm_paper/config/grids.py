"""Which candidates of a learner are tried on some data?

They are the values of ``candidates``, or all combinations of ``grid``, both of
``learners.yaml``, of the preset and of the user.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.data_cells import DataCells
from kerhrm_paper.config.files import Key, Tree
from kerhrm_paper.config.layers import changes_at
from kerhrm_paper.config.options import dump
from kerhrm_paper.config.spelling import spell

CANDIDATES = 1000  #: of a learner, at most

Grid = dict[str, list[Any]]  #: values that are tried, by option


class Grids:
    """Grids and candidates of the learners.

    Parameters
    ----------
    data_cells : DataCells
        The data, whose values meet the conditions of ``at``.
    """

    def __init__(self, data_cells: DataCells) -> None:
        self.data_cells = data_cells
        self.schemas = data_cells.schemas
        self.sources = data_cells.sources
        self.whole = data_cells.whole

    def grid(self, data: DataCell, base: str) -> Grid:
        """Values that are tried of every option of the grid."""
        conditions = self.whole.learners[base].at
        grid: dict[str, Any] = {}
        for entry in self.data_cells.layers.entries("learners", base):
            grid = _over(entry.get("grid"), grid)
            for condition, change in changes_at(entry, conditions):
                if self.data_cells.meets(data, condition):
                    grid = _over(change.get("grid"), grid)
        # null leaves an option of an earlier file out
        return {option: tried for option, tried in grid.items() if tried is not None}

    def single(self, data: DataCell, base: str) -> Tree:
        """Options of which the grid has one value, so that no criterion selects it."""
        grid = self.grid(data, base)
        return {option: tried[0] for option, tried in grid.items() if len(tried) == 1}

    def is_single(self, data: DataCell, base: str) -> bool:
        """Whether a grid has one value of every option."""
        grid = self.grid(data, base)
        return bool(grid) and all(len(tried) == 1 for tried in grid.values())

    def is_tried(self, data: DataCell, base: str) -> bool:
        """Whether a learner has candidates on some data."""
        learner = self.whole.learners[base]
        return bool(learner.candidates or self.grid(data, base))

    def candidates(self, data: DataCell, base: str) -> Iterator[str]:
        """Names of a learner with the options that are tried.

        Raises KerhrmError if they are too many, or an option cannot be spelled.
        """
        grid = self.grid(data, base)
        key: Key = ("learners", base, "grid" if grid else "candidates")
        number = math.prod(len(tried) for tried in grid.values())
        if number > CANDIDATES:
            problem = f"it has more than {CANDIDATES} combinations"
            raise self.sources.error(key, problem, "shorten its lists")
        candidates = self.whole.learners[base].candidates or _combinations(grid)
        for options in candidates:
            yield self._name(base, options, key)

    def _name(self, base: str, options: Tree, key: Key) -> str:
        """Name of a learner with options that stand at a key."""
        method = self.schemas.methods[base]
        values = dump(self.sources, method.options, [(key, options)])
        named = {option: values[option] for option in options}
        try:
            return spell(base, named, self.schemas.learner_schema(base))
        except KerhrmError as error:
            raise self.sources.error(key, error.problem, error.hint) from error


def _combinations(grid: Grid) -> Iterator[Tree]:
    """All combinations of a grid's values."""
    for combination in itertools.product(*grid.values()):
        yield dict(zip(grid, combination, strict=True))


def _over(grid: Mapping[str, Any] | None, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """A grid, and then the options of an earlier one that it does not have."""
    merged = dict(grid or {})
    for option, tried in earlier.items():
        merged.setdefault(option, tried)
    return merged
