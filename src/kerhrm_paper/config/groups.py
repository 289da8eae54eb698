"""Which cells does one job train together?"""

from collections.abc import Iterable, Mapping

from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.views import Cell, Group, TableView


def groups_of_tables(
    tables: Mapping[str, TableView], resolver: Resolver
) -> list[Group]:
    """A learner on some data by all criteria of a table.

    Their number depends on the table's criteria alone: other options, which a table
    shows beside them, are jobs of their own, so that adding one trains no other again.

    A cell is of the first table that has it: tables of the files of ``config/``, those
    of ``all`` before others, and then the user's, so that a table that the user adds
    changes no job of another one.
    """
    shipped = resolver.layers.files.get("tables") or {}

    def order(table: TableView) -> tuple[bool, bool]:
        is_user = table.name not in shipped
        return is_user, not table.in_all

    groups = []
    taken: set[Cell] = set()
    for table in sorted(tables.values(), key=order):
        cells = [cell for cell in table.cells if cell not in taken]
        cells = [cell for cell in cells if not resolver.learner(*cell).checkpointed]
        taken.update(cells)
        groups += _several(cells)
    return groups


def groups_of_search(cells: Iterable[Cell]) -> list[Group]:
    """All candidates of a learner on some data."""
    return [
        Group(data, tuple(learners)) for (data, _), learners in by_base(cells).items()
    ]


def by_base(cells: Iterable[Cell]) -> dict[Cell, list[str]]:
    """Learners by their data and base."""
    learners: dict[Cell, list[str]] = {}
    for data, learner in cells:
        learners.setdefault((data, base_of(learner)), []).append(learner)
    return learners


def _several(cells: Iterable[Cell]) -> list[Group]:
    """Cells that differ in the criterion alone, where there are several."""
    learners_of: dict[Cell, list[str]] = {}
    for data, learner in cells:
        key = (data, _unselected(learner))
        learners_of.setdefault(key, []).append(learner)
    return [
        Group(data, tuple(learners))
        for (data, _), learners in learners_of.items()
        if len(learners) > 1
    ]


def _unselected(learner: str) -> str:
    """A learner's name without the criterion that has selected its options."""
    base, *options = learner.split("+")
    kept = [option for option in options if not option.startswith("select=")]
    return "+".join([base, *kept])
