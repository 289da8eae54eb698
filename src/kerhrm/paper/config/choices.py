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


def catalogue(whole: Whole) -> Tree:
    """The alternatives of every choice, JSON-able, as their effects are measured."""
    shown = {"where", "only", "title", "instead", "selection"}
    return {
        entry: {"alternatives": [
            {**one.model_dump(include=shown), "name": one.name} for one in choice.alternatives
        ]}
        for entry, choice in whole.choices.items()
    }  # fmt: skip


def table_cells(table: Table) -> list[tuple[str, str, str]]:
    """Cells of a table (data, setting, learner), in order."""
    return [
        (*place.split("/"), learner)  # type: ignore[misc]
        for place, one in table.settings.items()
        for learner in (one.learners if one.learners is not None else table.learners)
    ]
