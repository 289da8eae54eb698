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
    """A learner on some data by all its criteria, where a table shows them all.

    Which cells a group has is a function of data and learner alone, and only tables of
    the files of ``config/`` make groups.  So no table that is added, and none that
    shows fewer criteria, gives a cell another job than it had.
    """
    files = resolver.layers.files
    shipped = files.get("tables") or {}
    groups: dict[Group, None] = {}
    for name, table in tables.items():
        if name not in shipped:
            continue
        for (data, learner), members in _by_options(table.cells).items():
            if len(members) == 1:
                continue  # saves looking at its criteria
            learners = [
                name
                for name in resolver.by_all_criteria(data, learner)
                if not resolver.learner(data, name).checkpointed
            ]  # else each iteration is a job of its own
            if len(learners) > 1 and set(learners) <= set(members):
                group = Group(data, tuple(learners))
                groups[group] = None
    return list(groups)


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
