"""Which cells does one job train together?"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.files import Layer, Sources
from kerhrm_paper.config.invalid import invalid
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Table
from kerhrm_paper.config.spelling import base_of, unselected
from kerhrm_paper.config.tables import TableCells
from kerhrm_paper.config.views import Cell, Group, TableView

#: learners by their data and by what they have in common
Together = dict[Cell, list[str]]


def groups_of_tables(
    tables: Mapping[str, TableView], resolver: Resolver
) -> list[Group]:
    """A learner on some data by all its criteria, where a table shows them all.

    Which cells a group has is a function of data and learner alone, and only tables of
    ``config/tables`` make groups, as the files and the preset have them.  So no table
    that the user adds, changes or leaves out gives a cell another job than it had.
    """
    groups: dict[Group, None] = {}
    known = _shipped_names(resolver, "learners")
    for name, table in _shipped_tables(resolver).items():
        shown = tables.get(name)
        cells = _cells(TableCells(resolver, name, table), shown, known)
        for (data, learner), members in _by_options(cells).items():
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


def _shipped_tables(resolver: Resolver) -> dict[str, Table]:
    """Tables as the folders of ``config/`` and the preset have them."""
    sources = resolver.sources
    if "tables" not in sources.changes:
        return resolver.whole.tables
    shipped = _shipped(sources)
    entries = shipped.tree()["tables"]
    tables = {}
    for name in _shipped_names(resolver, "tables"):
        if entries[name] is None:
            continue
        try:
            tables[name] = Table.model_validate(entries[name])
        except ValidationError as error:
            raise invalid(shipped, ("tables", name), error) from error
    return tables


def _shipped_names(resolver: Resolver, kind: str) -> list[str]:
    """Names that the files without the user's have.

    What a preset says of a name of the user's alone is not all of it.
    """
    sources = resolver.sources
    if "tables" not in sources.changes:
        return [*getattr(resolver.whole, kind)]
    in_folders = Sources(_folders(sources)).names(kind)
    changed = sources.changes.get(kind) or {}
    names = []
    for name in _shipped(sources).names(kind):
        if name in in_folders or name not in changed:
            names.append(name)
    return names


def _shipped(sources: Sources) -> Sources:
    """The files of the folders of ``config/`` and the preset, without the user's."""
    end = sources.preset_at
    if end is None:
        return sources
    return Sources([*_folders(sources), sources.layers[end]])


def _folders(sources: Sources) -> list[Layer]:
    """The files of ``config/`` that the user does not write."""
    return [layer for layer in sources.layers[: sources.preset_at] if layer[1]]


def _cells(
    shipped: TableCells, shown: TableView | None, known: Collection[str]
) -> list[Cell]:
    """Cells of a shipped table, whatever the user changes of it.

    A learner of the user's, none of the ``known``, has the criteria of the shipped
    table that shows it.
    """
    table = shipped.table
    if shown is not None and table == shipped.resolver.whole.tables[shipped.name]:
        return shown.cells
    cells: list[Cell] = []
    for data, of_data in table.data.items():
        learners = of_data.learners
        for learner in table.learners if learners is None else learners:
            cells += _trained(shipped, data, learner)
    with suppress(KerhrmError):  # the user has left some of them out
        cells += shipped.cells()  # alternatives, too
    if shown is not None:
        rows = [(row.data, row.learner) for row in shown.rows]
        for data, learner in _by_options(rows):
            if base_of(learner) not in known:
                cells += _trained(shipped, data, learner)
    return list(dict.fromkeys(cells))


def _trained(shipped: TableCells, data: str, learner: str) -> list[Cell]:
    """Cells of a learner on some data, if the user has left neither of them out."""
    try:
        return [(data, name) for name in shipped.trained(data, learner)]
    except KerhrmError:
        return []


def groups_of_search(cells: Iterable[Cell]) -> list[Group]:
    """All candidates of a learner on some data."""
    return _groups(by_base(cells))


def by_base(cells: Iterable[Cell]) -> Together:
    """Learners by their data and base."""
    return _together(cells, base_of)


def _by_options(cells: Iterable[Cell]) -> Together:
    """Learners by their data and name, but for the criterion that selected them."""
    return _together(cells, unselected)


def _together(cells: Iterable[Cell], common: Callable[[str], str]) -> Together:
    """Learners by their data and what they have in common."""
    together: Together = defaultdict(list)
    for data, learner in cells:
        key = (data, common(learner))
        together[key].append(learner)
    return together


def _groups(together: Together) -> list[Group]:
    groups = []
    for key, learners in together.items():
        data, _ = key
        group = Group(data, tuple(learners))
        groups.append(group)
    return groups
