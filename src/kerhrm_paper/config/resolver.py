"""From names to cells: every option, validated, with the place that an error names.

:class:`Resolver` is built in layers, each of which knows those before it:

- :class:`~kerhrm_paper.config.schemas.Schemas` reads names,
- :class:`~kerhrm_paper.config.data_cells.DataCells` resolves data,
- :class:`~kerhrm_paper.config.selection.Selection` knows what is tried and selected,
- :class:`~kerhrm_paper.config.learner_cells.LearnerCells` resolves learners.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.checks import check_content
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.learner_cells import LearnerCells
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.spelling import spell


class Resolver(LearnerCells):
    """The validated files, and what they say of one cell after the other.

    Parameters
    ----------
    sources : Sources
        The files.
    whole : Whole
        What they say, validated.

    Raises
    ------
    KerhrmError
        If something in the files fits nothing, with its file and key.
    """

    def __init__(self, sources: Sources, whole: Whole) -> None:
        super().__init__(sources, whole)
        check_content(self)

    def trained_as(self, data: str, name: str) -> str:
        """The shortest name of a learner with the same options on some data.

        ``kerhrm+n_environments=2`` is ``kerhrm`` where that has two, and
        ``erm+select=oracle`` is ``erm`` where the oracle has selected the same.
        """
        base, values = self.parse_learner(name)
        if self.whole.search:
            return name
        whole = self.learner(data, name)
        if whole.missing is not None:
            return name
        schema = self.learner_schema(base)

        def same(options: Mapping[str, Any]) -> bool:
            """Whether the learner with these options is the same."""
            try:
                found = self.learner(data, spell(base, options, schema))
            except KerhrmError:
                return False
            alike = found.missing is None and found.options == whole.options
            return alike and found.n_seeds >= whole.n_seeds

        values = _fewest(values, same)
        for criterion in self.criteria(base) if "select" in values else ():
            if criterion == values["select"]:
                break
            if same(values | {"select": criterion}):
                return spell(base, values | {"select": criterion}, schema)
        return spell(base, values, schema)

    def with_select(self, name: str, select: str) -> str | None:
        """A learner's name with a criterion; None: it cannot have it.

        A name that has options says itself by which criterion others are selected.
        """
        base, values = self.parse_learner(name)
        if select in ("own", self.own_criterion(base)):
            return name
        if values or select not in self.criteria(base):
            return None
        return spell(base, values | {"select": select}, self.learner_schema(base))


def _fewest(
    values: Mapping[str, Any], same: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any]:
    """Options of which none can be left out, where ``same`` says which can.

    One may be left out only after another one.
    """
    kept = dict(values)
    for key in values:
        fewer = {k: v for k, v in kept.items() if k != key}
        if key in kept and same(fewer):
            kept = fewer
    return kept if kept == values else _fewest(kept, same)
