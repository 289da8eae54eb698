"""Which options of a learner has a criterion selected, and on which data?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.grids import Grids
from kerhrm_paper.config.schemas import Schemas
from kerhrm_paper.config.spelling import Named
from kerhrm_paper.config.strict_yaml import Tree


@dataclass(frozen=True)
class SelectedOptions:
    """Options of a learner by a criterion.

    Attributes
    ----------
    source : str
        Data set that they were selected on.
    learner : str
        Learner whose candidates were tried there.
    criterion : str
        Its name.
    options : dict
        Empty, if nothing is selected.
    missing : KerhrmError, optional
        Why there are none, where some are needed.
    """

    source: str
    learner: str
    criterion: str
    options: Tree = field(default_factory=dict)
    missing: KerhrmError | None = None

    @property
    def key(self) -> Key:
        """Where they stand."""
        return (
            "selected",
            self.source,
            self.learner,
            self.criterion,
        )


class Selection:
    """What the files of ``config/selected`` give the learners.

    Parameters
    ----------
    schemas : Schemas
        Which names and criteria there are.
    grids : Grids
        What is tried of each.
    """

    def __init__(self, schemas: Schemas, grids: Grids) -> None:
        self.schemas = schemas
        self.whole = schemas.whole
        self.grids = grids

    def selected(self, data: DataCell, base: str, named: Named) -> SelectedOptions:
        """Selected options of a learner whose name has some options.

        ``select`` among them is the criterion, else it is the learner's own;
        ``select_on`` is the data set that it was applied to, else that of the data.
        """
        learner = self.whole.learners[base].tuned_as
        if learner is None:
            learner = base
        select = named.get("select")
        nothing = SelectedOptions(
            source=self._source(data, named),
            learner=learner,
            criterion=select or self.schemas.own_criterion(base),
        )
        if self.whole.search or select == "none":
            return nothing
        if not self.grids.is_tried(data, learner):
            return nothing
        # of the learner whose candidates were tried, which may have another one
        criterion = select or self.schemas.own_criterion(learner)
        options = self._options(nothing.source, learner)
        if criterion in options:
            return replace(nothing, options=options[criterion])
        # its only candidate is the learner's own, and no other's
        if learner == base and self.grids.is_single(data, learner):
            return nothing
        missing = self._nothing_selected(nothing, base, criterion)
        return replace(nothing, missing=missing)

    def _options(self, source: str, learner: str) -> Mapping[str, Tree]:
        """Selected options of a learner, by criterion."""
        learners = self.whole.selected.get(source)
        learners = learners or {}
        by_criterion = learners.get(learner) or {}
        selected: dict[str, Tree] = {}
        for criterion, options in by_criterion.items():
            selected[criterion] = options
        return selected

    def _source(self, data: DataCell, named: Named) -> str:
        """Data set on which a learner's options were selected."""
        if "select_on" in named:
            return str(named["select_on"])
        data_set = self.whole.data[data.base]
        return data_set.select_on or data.base

    def _nothing_selected(
        self, nothing: SelectedOptions, base: str, criterion: str
    ) -> KerhrmError:
        """Why a learner has no options, with what gives it some."""
        source, learner = nothing.source, nothing.learner
        file = f"config/selected/{source}.yaml"
        problem = f"{file}: it has no options of {learner} by {criterion}"
        cures = [f"{base}+select=none"]
        for other in self.whole.selected:
            if criterion in self._options(other, learner):
                cures.append(f"{base}+select_on={other}")
        hint = f"write {' or '.join(cures)}"
        data = self.whole.data.get(source)
        if data and data.tuning:
            hint += ", or search: snakemake select --config preset=tuning"
        return KerhrmError(problem, hint)
