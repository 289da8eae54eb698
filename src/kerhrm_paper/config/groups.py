"""Cells of tables that one job trains."""

from collections.abc import Mapping

from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.views import Group, TableView


def groups(tables: Mapping[str, TableView], resolver: Resolver) -> list[Group]:
    """Cells that one job trains: a learner on some data by all criteria of a table.

    Their number depends on the table's criteria alone: other options, that a table
    shows beside them, are jobs of their own, so that adding one trains no other again.

    A cell is of the first table that has it: tables of the files of ``config/``, those
    of ``all`` before others, and then the user's, so that a table that the user adds
    changes no job of another one.
    """
    of_files = resolver.base.get("tables") or {}

    def order(table: TableView) -> tuple[bool, bool]:
        return table.name not in of_files, not table.in_all

    taken: set[tuple[str, str]] = set()
    found = []
    for table in sorted(tables.values(), key=order):
        together: dict[tuple[str, str], list[str]] = {}
        for data, learner in table.cells:
            if (data, learner) in taken or resolver.learner(data, learner).checkpointed:
                continue
            taken.add((data, learner))
            together.setdefault((data, _unselected(learner)), []).append(learner)
        for (data, plain), learners in together.items():
            if len(learners) > 1:
                name = f"{table.name} {data} {plain}"
                found.append(Group(name, data, tuple(learners)))
    return found


def _unselected(learner: str) -> str:
    """A learner's name without the criterion that has selected its options."""
    words = learner.split("+")
    return "+".join(word for word in words if not word.startswith("select="))
