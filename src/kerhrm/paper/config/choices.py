"""Alternatives of ``choices.yaml`` become learners, settings and cells of the tables choices_*."""

from typing import Any

from kerhrm.paper.config.files import Key
from kerhrm.paper.config.models import Cells, Learner, Table, Whole

Tree = dict[str, Any]


def add_choices(whole: Whole) -> dict[str, Key]:
    """Add learners, settings and cells to the configuration, in place.

    Returns
    -------
    dict
        By name of a learner, or DATA/SETTING, the key of the options that it was made of.

    Raises
    ------
    ValueError
        If a learner or a setting of that name is there already, with its key as second argument.
    """
    origins: dict[str, Key] = {}
    tables = {p.split("/")[0]: t for t in whole.tables.values() if t.choices for p in t.settings}
    for entry, choice in whole.choices.items():
        for number, one in enumerate(choice.alternatives):
            key: Key = ("choices", entry, "alternatives", number)
            name, mark = one.learner_name, one.name
            if one.set:
                if name in whole.learners:
                    raise ValueError(f"there is a learner {name} already", key)
                learner = Learner(like=one.learner, mark=mark, options=one.set, criteria="own")
                whole.learners[name], origins[name] = learner, (*key, "set")
            for data in () if one.title else one.where:
                if data not in tables:
                    continue
                table, settings = tables[data], whole.data[data].settings
                base, cells = next(iter(table.settings.items()))
                if one.set:
                    update: Tree = {"learners": [*(cells.learners or table.learners), name]}
                    table.settings[base] = cells.model_copy(update=update)
                    continue
                place = f"{base}+{mark.replace(',', '+')}"
                old = settings[base.split("/")[1]]
                if place in table.settings:
                    raise ValueError(f"there is a setting {place} already", key)
                update = {"network": one.network} if one.network else {}
                update["options"] = old.options | one.data
                settings[place.split("/")[1]] = old.model_copy(update=update)
                origins[place] = (*key, "data" if one.data else "network")
                new = Cells(label=f"{label(base, cells)},{mark}", learners=table.choices)
                table.settings[place] = new
    return origins


def label(place: str, cells: Cells) -> str:
    """Label of a setting in a table: its name, where ``+`` stands for a comma."""
    return cells.label or place.split("/")[1].replace("+", ",")


def describe(whole: Whole) -> Tree:
    """The catalogue, JSON-able: of every alternative also the labels that differ, by table.

    ``effects`` of an alternative: ``table``, and the labels of its column ``setting`` with the
    default (``base``) and with the alternative (``changed``).
    """
    bases = [
        (name, base.split("/")[0], label(base, cells))
        for name, table in whole.tables.items()
        for base, cells in [*table.settings.items()][: bool(table.choices)]
    ]
    shown = {"to", "where", "only", "title", "instead", "selection"}
    found = {name: choice.model_dump(mode="json") for name, choice in whole.choices.items()}
    for entry, choice in whole.choices.items():
        found[entry]["alternatives"] = [
            {
                **one.model_dump(mode="json", include=shown),
                "name": one.name,
                "effects": [
                    {"table": name, "base": base, "changed": f"{base},{one.name}"}
                    for name, data, base in bases
                    if data in one.where and not one.title
                ],
            }
            for one in choice.alternatives
        ]
    return found


def table_cells(table: Table) -> list[tuple[str, str, str]]:
    """Cells of a table (data, setting, learner), in order."""
    return [
        (*place.split("/"), learner)  # type: ignore[misc]
        for place, one in table.settings.items()
        for learner in (one.learners if one.learners is not None else table.learners)
    ]
