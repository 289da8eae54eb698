"""What can be asked about a name of data or of a learner?

:class:`Resolver` answers with its parts, of which each needs those before it:

- :class:`~kerhrm_paper.config.schemas.Schemas` reads names,
- :class:`~kerhrm_paper.config.data_cells.DataCells` resolves data,
- :class:`~kerhrm_paper.config.grids.Grids` knows what is tried,
- :class:`~kerhrm_paper.config.selection.Selection` knows what was selected,
- :class:`~kerhrm_paper.config.learner_cells.LearnerCells` resolves learners.
"""

from collections.abc import Callable

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.content import check_content
from kerhrm_paper.config.data_cells import DataCells
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.grids import Grids
from kerhrm_paper.config.layers import read_layers
from kerhrm_paper.config.learner_cells import LearnerCells
from kerhrm_paper.config.options import Origins
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.schemas import Schemas
from kerhrm_paper.config.selection import Selection
from kerhrm_paper.config.spelling import Named, spell
from kerhrm_paper.config.strict_yaml import Tree

#: whether a learner with other options in its name trains the same
IsSame = Callable[[Named], bool]


class Resolver:
    """From names to cells: every option, validated, with the place that an error names.

    Parameters
    ----------
    sources : Sources
        The files.
    whole : Whole
        Their content, validated.

    Raises
    ------
    KerhrmError
        If something in the files fits nothing, with its file and key.
    """

    def __init__(self, sources: Sources, whole: Whole) -> None:
        self.sources = sources
        self.whole = whole
        self.schemas = Schemas(sources, whole)
        self.layers = read_layers(sources)
        self.data_cells = DataCells(self.schemas, self.layers)
        self.grids = Grids(self.schemas, self.layers, self.data_cells)
        self.selection = Selection(self.schemas, self.grids)
        self.learner_cells = LearnerCells(
            schemas=self.schemas,
            layers=self.layers,
            data_cells=self.data_cells,
            grids=self.grids,
            selection=self.selection,
        )
        check_content(self.schemas)

    # --- cells -----------------------------------------------------------------------

    def data(self, name: str) -> DataCell:
        """Data of a name; KerhrmError if it is none, or its options do not fit."""
        return self.data_cells.cell(name)

    def learner(self, data: str, name: str) -> LearnerCell:
        """Learner of a name, on data of a name; KerhrmError if one of them is none."""
        return self.learner_cells.cell(data, name)

    def data_origins(self, name: str) -> dict[str, Origins]:
        """Where each option of data stands that is no default, by part."""
        return self.data_cells.origins(name)

    def learner_origins(self, data: str, name: str) -> Origins:
        """Where each option of a learner stands that is no default of its method."""
        return self.learner_cells.origins(data, name)

    # --- other names of the same cell ------------------------------------------------

    def trained_as(self, data: str, name: str) -> str:
        """The shortest name of a learner with the same options on some data.

        ``kerhrm+n_environments=2`` is ``kerhrm`` where that has two, and
        ``erm+select=oracle`` is ``erm`` where the oracle has selected the same.
        """
        if self.whole.search:
            return name
        cell = self.learner(data, name)
        if cell.missing is not None:
            return name
        base, named = self.schemas.parse_learner(name)

        def is_same(options: Named) -> bool:
            return self._trains_same(data, cell, options)

        options = _fewest(dict(named), is_same)
        if "select" in options:
            criteria = self.schemas.criteria(base)
            options = _first_selected(options, criteria, is_same)
        schema = self.schemas.learner_schema(base)
        return spell(base, options, schema)

    def _trains_same(self, data: str, cell: LearnerCell, options: Named) -> bool:
        """Whether a learner trains the same with other options in its name."""
        schema = self.schemas.learner_schema(cell.base)
        try:
            name = spell(cell.base, options, schema)
            other = self.learner(data, name)
        except KerhrmError:
            return False
        if other.missing is not None:
            return False
        has_seeds = other.n_seeds >= cell.n_seeds
        return has_seeds and other.options == cell.options

    def with_select(self, name: str, select: str) -> str | None:
        """A learner's name with a criterion; None: it cannot have it.

        A name that has options gives the criterion itself.
        """
        base, named = self.schemas.parse_learner(name)
        own = self.schemas.own_criterion(base)
        if select in ("own", own):
            return name
        criteria = self.schemas.criteria(base)
        if named or select not in criteria:
            return None
        schema = self.schemas.learner_schema(base)
        options = {"select": select}
        return spell(base, options, schema)

    def by_all_criteria(self, data: str, name: str) -> list[str]:
        """What is trained on some data for a learner by each of its criteria.

        Criteria that selected the same options have one name, see :meth:`trained_as`;
        those that have selected none have no name.
        """
        base, _ = self.schemas.parse_learner(name)
        trained = []
        for criterion in ("own", *self.schemas.criteria(base)):
            selected = self.with_select(name, criterion)
            if selected is None or self.learner(data, selected).missing:
                continue
            trained.append(self.trained_as(data, selected))
        return list(dict.fromkeys(trained))


def _first_selected(options: Tree, criteria: list[str], is_same: IsSame) -> Tree:
    """Options with the first criterion that selects the same."""
    for criterion in criteria:
        if criterion == options["select"]:
            break
        other = options | {"select": criterion}
        if is_same(other):
            return other
    return options


def _fewest(named: Tree, is_same: IsSame) -> Tree:
    """Options of which none can be left out, where ``is_same`` judges the others.

    An option may become superfluous only without another one, so we try all again
    until none goes.
    """
    kept = dict(named)
    for option in named:
        fewer = dict(kept)
        del fewer[option]
        if is_same(fewer):
            kept = fewer
    if len(kept) == len(named):
        return kept
    return _fewest(kept, is_same)
