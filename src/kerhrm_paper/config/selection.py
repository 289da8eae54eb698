"""Which options of a learner has a criterion selected, and on which data?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import Key, Tree
from kerhrm_paper.config.grids import Grids


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
    options: Tree
    missing: KerhrmError | None = None

    @property
    def key(self) -> Key:
        """Where they stand."""
        return ("selected", self.source, self.learner, self.criterion)


class Selection:
    """What the files of ``config/selected`` give the learners.

    Parameters
    ----------
    grids : Grids
        What is tried of each.
    """

    def __init__(self, grids: Grids) -> None:
        self.grids = grids
        self.schemas = grids.schemas
        self.whole = grids.whole

    def selected(
        self, data: DataCell, base: str, named: Mapping[str, Any]
    ) -> SelectedOptions:
        """Selected options of a learner whose name has some options.

        ``select`` among them is the criterion, else it is the learner's own;
        ``select_on`` is the data set that it was applied to, else that of the data.
        """
        select = named.get("select")
        criterion = select or self.schemas.own_criterion(base)
        source = self._source(data, named)
        learner = self.whole.learners[base].tuned_as or base
        if self.whole.search or select == "none":
            return SelectedOptions(source, learner, criterion, {})
        if not self.grids.is_tried(data, learner):
            return SelectedOptions(source, learner, criterion, {})
        # of the learner whose candidates were tried, which may have another one
        applied = select or self.schemas.own_criterion(learner)
        by_criterion: Mapping[Any, Tree]
        by_criterion = self.whole.selected.get(source, {}).get(learner, {})
        if applied in by_criterion:
            return SelectedOptions(source, learner, criterion, by_criterion[applied])
        missing = None
        if not self.grids.is_single(data, learner):
            missing = self._nothing_selected(source, learner, applied)
        return SelectedOptions(source, learner, criterion, {}, missing)

    def _source(self, data: DataCell, named: Mapping[str, Any]) -> str:
        """Data set on which a learner's options were selected."""
        of_data = self.whole.data[data.base].select_on
        return str(named.get("select_on") or of_data or data.base)

    def _nothing_selected(
        self, source: str, learner: str, criterion: str
    ) -> KerhrmError:
        """Why a learner has no options, with what gives it some."""
        file = f"config/selected/{source}.yaml"
        problem = f"{file}: it has no options of {learner} by {criterion}"
        cures = [f"{learner}+select=none"]
        for other, learners in self.whole.selected.items():
            by_criterion: Mapping[Any, Tree] = learners.get(learner) or {}
            if criterion in by_criterion:
                cures.append(f"{learner}+select_on={other}")
        hint = f"write {' or '.join(cures)}"
        data = self.whole.data.get(source)
        if data and data.tuning:
            hint += ", or search: snakemake select --config preset=tuning"
        return KerhrmError(problem, hint)
