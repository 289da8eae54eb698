"""What is tried of a learner, and what a criterion has selected of that."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.data_cells import DataCells, values_of
from kerhrm_paper.config.files import Tree
from kerhrm_paper.config.layers import changes_at
from kerhrm_paper.config.options import Places, dump
from kerhrm_paper.config.spelling import spell

CANDIDATES = 1000  #: of a learner


class Selection(DataCells):
    """Grids and candidates of the learners, and the selected options."""

    def select_on(self, data: DataCell, named: Mapping[str, Any]) -> str:
        """Data set on which a learner's options were selected."""
        of_data = self.whole.data[data.base].select_on
        return str(named.get("select_on") or of_data or data.base)

    def selected(
        self, data: DataCell, base: str, select: str | None, source: str
    ) -> tuple[Tree, KerhrmError | None]:
        """What a criterion has selected, and why there is nothing, if there should.

        ``select`` is the criterion, the learner's own if it is None; ``source`` is the
        data set on which it selected.
        """
        base = self.whole.learners[base].tuned_as or base
        if self.whole.search or select == "none" or not self.tried(data, base):
            return {}, None
        criterion = select or self.own_criterion(base)
        every: Mapping[str, Tree] = self._selected_of(source, base)
        if criterion in every:
            return every[criterion], None
        if self._is_single(data, base):
            return {}, None
        return {}, self._nothing_selected(source, base, criterion)

    def _nothing_selected(self, source: str, base: str, criterion: str) -> KerhrmError:
        """Why a learner has no options, with what gives it some."""
        where = f"config/selected/{source}.yaml"
        problem = f"{where}: it has no options of {base} by {criterion}"
        cures = [f"{base}+select=none"]
        for other, learners in self.whole.selected.items():
            if criterion in (learners.get(base) or {}):
                cures.append(f"{base}+select_on={other}")
        hint = f"write {' or '.join(cures)}"
        if (data := self.whole.data.get(source)) and data.tuning:
            hint += ", or search: snakemake select --config preset=tuning"
        return KerhrmError(problem, hint)

    def _selected_of(self, source: str, base: str) -> dict[str, Tree]:
        """Selected options of a learner, by criterion."""
        criteria = self.whole.selected.get(source, {}).get(base, {})
        return {str(name): values for name, values in criteria.items()}

    def tried(self, data: DataCell, base: str) -> bool:
        """Whether a learner has candidates on some data."""
        return bool(self.grid(data, base) or self.whole.learners[base].candidates)

    def grid(self, data: DataCell, base: str) -> dict[str, list[Any]]:
        """Values that are tried of every option of the grid."""
        learner, values = self.whole.learners[base], values_of(data)
        grid: dict[str, list[Any]] = {}
        for layer in (self.base, self.changes):
            one = layer.get("learners", {}).get(base) or {}
            grid = _over(one.get("grid") or {}, grid)
            for place, change in changes_at(one, learner.at):
                if self.fits(place, data.base, values):
                    grid = _over(change.get("grid") or {}, grid)
        return {name: tried for name, tried in grid.items() if tried is not None}

    def single(self, data: DataCell, base: str) -> Tree:
        """Options of which the grid has one value, so that no criterion selects it."""
        grid = self.grid(data, base)
        return {name: values[0] for name, values in grid.items() if len(values) == 1}

    def _is_single(self, data: DataCell, base: str) -> bool:
        """Whether a grid has one value of every option."""
        grid = self.grid(data, base)
        return bool(grid) and all(len(values) == 1 for values in grid.values())

    def candidates(self, data: str, base: str) -> Iterator[str]:
        """Names of a learner with the options that are tried.

        They are the given ones, or all combinations of the grid.  Raises KerhrmError if
        they are too many, or an option cannot be spelled.
        """
        cell, learner = self.data(data), self.whole.learners[base]
        grid = self.grid(cell, base)
        key = ("learners", base, "grid" if grid else "candidates")
        if math.prod(map(len, grid.values())) > CANDIDATES:
            problem = f"it has more than {CANDIDATES} combinations"
            raise self.sources.error(key, problem, "shorten its lists")
        products = itertools.product(*grid.values())
        tried = learner.candidates or (
            dict(zip(grid, values, strict=True)) for values in products
        )
        schema = self.learner_schema(base)
        for values in tried:
            places: Places = [(key, values)]
            typed = dump(self.sources, self.methods[base].options, places)
            flat = {name: typed[name] for name in values}
            try:
                yield spell(base, flat, schema)
            except KerhrmError as error:
                raise self.sources.error(key, error.problem, error.hint) from error


def _over(grid: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A grid, and then the options of another one that it has not."""
    return {
        **grid,
        **{name: tried for name, tried in other.items() if name not in grid},
    }
