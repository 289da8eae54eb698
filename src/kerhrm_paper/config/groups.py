"""Which cells does one job train together?"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.views import Cell, Group, TableView

#: learners by their data and by what they have in common
Together = dict[Cell, list[str]]


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
    files = resolver.layers.files
    shipped = files.get("tables") or {}

    def order(table: TableView) -> tuple[bool, bool]:
        is_user = table.name not in shipped
        return is_user, not table.in_all

    groups: list[Group] = []
    taken: set[Cell] = set()
    ordered = sorted(tables.values(), key=order)
    for table in ordered:
        cells = []
        for cell_name in table.cells:
            if cell_name in taken:
                continue
            cell = resolver.learner(*cell_name)
            if not cell.checkpointed:  # else each iteration is a job of its own
                cells.append(cell_name)
        taken.update(cells)
        by_options = _by_options(cells)
        for group in _groups(by_options):
            if len(group.learners) > 1:
                groups.append(group)
    return groups


def groups_of_search(cells: Iterable[Cell]) -> list[Group]:
    """All candidates of a learner on some data."""
    return _groups(by_base(cells))


def by_base(cells: Iterable[Cell]) -> Together:
    """Learners by their data and base."""
    together: Together = defaultdict(list)
    for data, learner in cells:
        key = (data, base_of(learner))
        together[key].append(learner)
    return together


def _by_options(cells: Iterable[Cell]) -> Together:
    """Learners by their data and name, but for the criterion that selected them."""
    together: Together = defaultdict(list)
    for data, learner in cells:
        key = (data, unselected(learner))
        together[key].append(learner)
    return together


def _groups(together: Together) -> list[Group]:
    groups = []
    for key, learners in together.items():
        data, _ = key
        group = Group(data, tuple(learners))
        groups.append(group)
    return groups


def unselected(learner: str) -> str:
    """A learner's name without the criterion that has selected its options."""
    kept = []
    for word in learner.split("+"):
        if not word.startswith("select="):
            kept.append(word)
    return "+".join(kept)
