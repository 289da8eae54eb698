"""Which candidates of a learner are tried on some data?

They are the values of ``candidates``, or all combinations of ``grid``, both of
``learners.yaml``, of the preset and of the user, and either may be changed by ``at``.
"""

import itertools
import math
from collections.abc import Iterator

from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.data_cells import DataCells
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.layers import Layers, changes_at
from kerhrm_paper.config.options import Grid, Places, dump
from kerhrm_paper.config.schema import Learner, LearnerAt
from kerhrm_paper.config.schemas import Schemas
from kerhrm_paper.config.spelling import spell
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.config.tries import gives

CANDIDATES = 1000  #: of a learner, at most
TriedAt = tuple[Learner | LearnerAt, Tree]  #: what all layers say, and what one does


class Grids:
    """Grids and candidates of the learners.

    Parameters
    ----------
    schemas : Schemas
        Which names there are.
    layers : Layers
        What gives grids and candidates.
    data_cells : DataCells
        The data, whose values meet the conditions of ``at``.
    """

    def __init__(self, schemas: Schemas, layers: Layers, data_cells: DataCells) -> None:
        self.schemas = schemas
        self.sources = schemas.sources
        self.whole = schemas.whole
        self.layers = layers
        self.data_cells = data_cells

    def grid(self, data: DataCell, base: str) -> Grid:
        """Values that are tried of every option of the grid.

        None where candidates are given one by one.
        """
        grid, _ = self._tried(data, base)
        return grid

    def single(self, data: DataCell, base: str) -> Tree:
        """Options of the only candidate, or of which the grid has one value.

        No criterion selects them.
        """
        grid, candidates = self._tried(data, base)
        if len(candidates) == 1:
            return dict(candidates[0])
        options = {}
        for option, tried in grid.items():
            if len(tried) == 1:
                options[option] = tried[0]
        return options

    def is_single(self, data: DataCell, base: str) -> bool:
        """Whether there is one candidate: a grid may have one value of each option."""
        grid, candidates = self._tried(data, base)
        if candidates:
            return len(candidates) == 1
        return bool(grid) and all(len(tried) == 1 for tried in grid.values())

    def is_tried(self, data: DataCell, base: str) -> bool:
        """Whether a learner has candidates on some data."""
        return any(self._tried(data, base))

    def candidates(self, data: DataCell, base: str) -> Iterator[str]:
        """Names of a learner with the options that are tried.

        Raises KerhrmError if they are too many, or an option cannot be spelled.
        """
        grid, one_by_one = self._tried(data, base)
        source = "grid" if grid else "candidates"
        key = ("learners", base, source)
        lengths = [len(tried) for tried in grid.values()]
        if math.prod(lengths) > CANDIDATES:
            problem = f"it has more than {CANDIDATES} combinations"
            hint = "shorten its lists"
            error = self.sources.error(key, problem, hint)
            raise error
        candidates = one_by_one or _combinations(grid)
        for options in candidates:
            yield self._name(base, options, key)

    def _tried(self, data: DataCell, base: str) -> tuple[Grid, list[Tree]]:
        """Values of every option of the grid, and candidates that are given one by one.

        One of them is empty: of a grid and candidates the later place counts.
        """
        grid: Tree = {}
        candidates: list[Tree] = []
        for place, entry in self._places(data, base):
            if gives(entry, "candidates"):
                grid = {}
                # a later file may replace the list, also by a grid
                candidates = place.candidates and entry["candidates"]
            if gives(entry, "grid"):
                candidates = []
            grid = _over(grid, entry)
        # null leaves an option of an earlier file out
        tries = list(grid.items())
        for option, tried in tries:
            if tried is None:
                del grid[option]
        return grid, candidates

    def _places(self, data: DataCell, base: str) -> Iterator[TriedAt]:
        """What each layer says of a learner, on all data and on some; later ones win.

        Each with what all layers together say there.
        """
        learner = self.whole.learners[base]
        entries = self.layers.entries("learners", base)
        for entry in entries:
            yield learner, entry
            for condition, change in changes_at(entry, learner.at):
                if self.data_cells.meets(data, condition):
                    yield learner.at[condition], change

    def _name(self, base: str, options: Tree, key: Key) -> str:
        """Name of a learner with options that stand at a key."""
        model = self.schemas.methods[base].options
        places: Places = [(key, options)]
        values = dump(self.sources, model, places)
        named = {}
        for option in options:
            named[option] = values[option]
        schema = self.schemas.learner_schema(base)
        with self.sources.placing(key):
            return spell(base, named, schema)


def _combinations(grid: Grid) -> Iterator[Tree]:
    """All combinations of a grid's values."""
    combinations = itertools.product(*grid.values())
    for combination in combinations:
        pairs = zip(grid, combination, strict=True)
        yield dict(pairs)


def _over(grid: Tree, entry: Tree) -> Tree:
    """The grid of an entry, and then the options of an earlier one that it has not."""
    newer = entry.get("grid") or {}
    merged = dict(newer)
    for option, tried in grid.items():
        merged.setdefault(option, tried)
    return merged
