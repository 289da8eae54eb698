"""Which cells does one job train together?"""

from collections.abc import Iterable, Iterator, Mapping

from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.views import Cell, Group, TableView

Learners = dict[Cell, list[str]]  #: by their data and what they have in common


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
    for table in sorted(tables.values(), key=order):
        cells = []
        for data, learner in table.cells:
            if (data, learner) in taken:
                continue
            cell = resolver.learner(data, learner)
            if not cell.checkpointed:  # else each iteration is a job of its own
                cells.append((data, learner))
        taken.update(cells)
        for group in _groups(_by_options(cells)):
            if len(group.learners) > 1:
                groups.append(group)
    return groups


def groups_of_search(cells: Iterable[Cell]) -> list[Group]:
    """All candidates of a learner on some data."""
    return list(_groups(by_base(cells)))


def _groups(together: Learners) -> Iterator[Group]:
    for (data, _), learners in together.items():
        yield Group(data, tuple(learners))


def by_base(cells: Iterable[Cell]) -> Learners:
    """Learners by their data and base."""
    learners: Learners = {}
    for data, learner in cells:
        key = (data, base_of(learner))
        learners.setdefault(key, []).append(learner)
    return learners


def _by_options(cells: Iterable[Cell]) -> Learners:
    """Learners by their data and name, but for the criterion that selected them."""
    learners: Learners = {}
    for data, learner in cells:
        key = (data, _unselected(learner))
        learners.setdefault(key, []).append(learner)
    return learners


def _unselected(learner: str) -> str:
    """A learner's name without the criterion that has selected its options."""
    kept = []
    for word in learner.split("+"):
        if not word.startswith("select="):
            kept.append(word)
    return "+".join(kept)
