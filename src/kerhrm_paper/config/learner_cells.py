"""Which options does the learner of a name have, on the data of a name?

``config/README.md`` has the order in which places win (Precedence).
"""

from collections.abc import Iterator, Mapping

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm.methods.base import Method
from kerhrm.options import Options
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.criteria import WORDS
from kerhrm_paper.config.data_cells import DataCells
from kerhrm_paper.config.grids import Grids
from kerhrm_paper.config.layers import Layers, changes_at
from kerhrm_paper.config.learner_checks import LearnerChecks, check_effect
from kerhrm_paper.config.options import (
    Origins,
    Place,
    Placed,
    Places,
    dump,
    entry_of,
    origins,
)
from kerhrm_paper.config.schemas import LEARNER_OPTIONS, Schemas
from kerhrm_paper.config.seeds import n_seeds_of
from kerhrm_paper.config.selection import SelectedOptions, Selection
from kerhrm_paper.config.spelling import Named, tree
from kerhrm_paper.config.strict_yaml import Tree


class LearnerCells:
    """The learners of every name that is asked for, on their data.

    Parameters
    ----------
    schemas : Schemas
        Which names there are.
    layers : Layers
        What gives options.
    data_cells : DataCells
        The data that they are trained on.
    grids : Grids
        What is tried of each.
    selection : Selection
        What was selected for each.
    """

    def __init__(
        self,
        schemas: Schemas,
        layers: Layers,
        data_cells: DataCells,
        grids: Grids,
        selection: Selection,
    ) -> None:
        self.schemas = schemas
        self.sources = schemas.sources
        self.whole = schemas.whole
        self.layers = layers
        self.data_cells = data_cells
        self.grids = grids
        self.selection = selection
        self._cells: dict[tuple[str, str], LearnerCell] = {}

    def cell(self, data: str, name: str) -> LearnerCell:
        """The learner of a name, on the data of a name.

        Raises KerhrmError if one of them is none, or their options do not fit.
        """
        key = (data, name)
        if key not in self._cells:
            data_cell = self.data_cells.cell(data)
            cell = self._resolved(data_cell, name)
            self._cells[key] = cell
        return self._cells[key]

    def _resolved(self, data: DataCell, name: str) -> LearnerCell:
        base, named = self.schemas.parse_learner(name)
        method = self.schemas.methods[base]
        check_effect(data, name, named, method.options)
        selected = self.selection.selected(data, base, named)
        places = self._places(data, name, selected)
        values = dump(self.sources, method.options, places)
        options = method.options(**values)
        checks = LearnerChecks(
            sources=self.sources,
            data=data,
            name=name,
            schema=self.schemas.learner_schema(base),
            method=method,
            places=places,
            values=values,
        )
        checks.check(options)
        checkpointed = self._is_checkpointed(base, named)
        if checkpointed:
            checks.check_iterations()
        return LearnerCell(
            name=name,
            base=base,
            method=method.name,
            options=options,
            n_seeds=n_seeds_of(self.schemas, data, name),
            titles=self._titles(base, name, options),
            selection=_selection_in_words(method, named),
            selected=_in_force(places, values, selected),
            selected_on=selected.source,
            needs_features=method.needs_features,
            needs_environments=method.needs_environments,
            infers=method.infers,
            iterates=method.iterates,
            checkpointed=checkpointed,
            entries=_entries(method, values),
            timeout=self.whole.learners[base].timeout,
            missing=selected.missing,
        )

    def _titles(self, base: str, name: str, options: Options) -> Mapping[str, str]:
        """Titles of the outputs that the method has with these options."""
        titles = self.whole.learners[base].titles
        outputs = self.schemas.methods[base].outputs_with(options)
        shown = {output: titles[output] for output in titles if output in outputs}
        if not shown:
            all_outputs = " and ".join(titles)
            problem = f"{name} has no output {all_outputs} with these options"
            key = ("learners", base, "titles")
            raise self.sources.error(key, problem, f"name one of {outputs}")
        return shown

    def _is_checkpointed(self, base: str, named: Named) -> bool:
        """Whether each iteration is a job: of no candidate, and by one criterion."""
        if self.whole.search or "select" in named:
            return False
        return self.whole.learners[base].checkpoint_iterations

    # --- options ---------------------------------------------------------------------

    def origins(self, data: str, name: str) -> Origins:
        """Where each option of a learner stands that is no default of its method."""
        data_cell = self.data_cells.cell(data)
        base, named = self.schemas.parse_learner(name)
        selected = self.selection.selected(data_cell, base, named)
        places = self._places(data_cell, name, selected)
        return origins(places)

    def _places(self, data: DataCell, name: str, selected: SelectedOptions) -> Places:
        """Options of a learner on data, each with where it stands; later ones win."""
        base, named = self.schemas.parse_learner(name)
        files, *changes = self.layers.entries("learners", base)
        places = [
            _options(base, files),
            self._single(data, base, named),
            (selected.key, selected.options),
            *self._changes_at(data, base, files),
        ]
        for entry in changes:  # of the preset, and of the user
            places.append(_options(base, entry))
            places += self._changes_at(data, base, entry)
        if self.whole.learners[base].at_only:
            self._check_known(data, base)
        options = dict(named)
        for option in LEARNER_OPTIONS:
            options.pop(option, None)
        cell = f"{data.name}/{name}"
        options_of_name = tree(options)
        places.append((cell, options_of_name))
        return places

    def _changes_at(self, data: DataCell, base: str, entry: Tree) -> Iterator[Placed]:
        """Options that ``at`` of a layer's entry gives a learner on data."""
        conditions = self.whole.learners[base].at
        for condition, change in changes_at(entry, conditions):
            if self.data_cells.meets(data, condition):
                key = ("learners", base, "at", condition, "options")
                options = change.get("options") or {}
                yield key, options

    def _single(self, data: DataCell, base: str, named: Named) -> Placed:
        """Options of which the grid has one value; none, if nothing is selected."""
        key = ("learners", base, "grid")
        if named.get("select") == "none":
            return key, {}
        options = self.grids.single(data, base)
        return key, options

    def _check_known(self, data: DataCell, base: str) -> None:
        """Refuse data that a learner has no values for."""
        conditions = self.whole.learners[base].at
        for condition in conditions:
            if self.data_cells.meets(data, condition):
                return
        raise KerhrmError(
            f"{base} has values of its own by data, and none for {data.name}",
            f"it knows {', '.join(conditions)}",
        )


def _options(base: str, entry: Tree) -> Placed:
    """Options that a layer's entry gives a learner on all data."""
    key = ("learners", base, "options")
    options = entry.get("options") or {}
    return key, options


def _selection_in_words(method: Method, named: Named) -> str:
    """Criterion that has selected options: that of the name, else the method's."""
    if "select" in named:
        return WORDS[named["select"]]
    return method.criterion


def _entries(method: Method, values: Tree) -> dict[str, str]:
    """``module:name`` of the functions and classes that train a learner."""
    entries = {
        "train": entry_of(method.train),
        "options": entry_of(method.options),
    }
    penalty = values.get("penalty")
    if penalty in PENALTIES.load():  # that of a package, which its name does not tell
        function = PENALTIES[str(penalty)]
        entries["penalty"] = entry_of(function)
    return entries


def _in_force(places: Places, values: Tree, selected: SelectedOptions) -> Tree:
    """Selected options that nothing later replaces."""
    last_places: dict[str, Place] = {}
    for place, given in places:
        for option in given:
            last_places[option] = place
    in_force = {}
    for option in selected.options:
        if last_places[option] == selected.key:
            in_force[option] = values[option]
    return in_force
