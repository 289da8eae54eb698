"""Alternatives of ``choices.yaml`` become learners, settings and rows of the tables
choices_*."""

from collections.abc import Iterator

from kerhrm.paper.config.alternatives import Alternative
from kerhrm.paper.config.fields import nearest
from kerhrm.paper.config.files import Key, Sources, Tree
from kerhrm.paper.config.models import Whole


def choice_tables(sources: Sources, whole: Whole) -> dict[str, str]:
    """The table that measures the alternatives on a data set, by data set.

    Raises KerhrmError if two tables do for one data set, or for an unknown learner.
    """
    tables: dict[str, str] = {}
    learners = {*whole.learners}
    learners |= {one.learner_name for _, one in _alternatives(whole) if one.set}
    for name, table in whole.tables.items():
        for learner in table.choices:
            if learner not in learners:
                problem = f"'{learner}' is unknown"
                hint = nearest(learner, sorted(learners))
                raise sources.error(("tables", name, "choices"), problem, hint)
        for place in table.settings if table.choices else ():
            data = place.split("/")[0]
            if tables.setdefault(data, name) != name:
                problem = f"{tables[data]} has the alternatives on {data} already"
                hint = "let one of the tables have no choices"
                raise sources.error(("tables", name, "choices"), problem, hint)
    return tables


def add_choices(sources: Sources, whole: Whole) -> None:
    """Add what each alternative stands for, as if a file of its own said it.

    Raises KerhrmError if there is a learner or a setting of that name already.
    """
    tables = choice_tables(sources, whole)
    taken: set[Key] = {("learners", name) for name in whole.learners}
    for name, data_set in whole.data.items():
        taken.update(("data", name, "settings", s) for s in data_set.settings)
    rows: dict[str, dict[str, Tree]] = {}

    def add(key: Key, place: Key, content: Tree) -> None:
        if place in taken:
            raise sources.error(
                key, f"{'.'.join(place)} exists already", "choose another mark"
            )
        taken.add(place)
        source = f"{sources.find(key)[0]}: {key[1]}.alternatives.{key[3]}"
        sources.layers.append((source, place, content))

    for key, alternative in _alternatives(whole):
        name = alternative.learner_name
        if alternative.set:
            add(key, ("learners", name), _learner(alternative))
        for data in () if alternative.title else alternative.where:
            if data not in tables:
                continue
            table = whole.tables[tables[data]]
            base, cells = next(iter(table.settings.items()))
            learners = [*(cells.learners or table.learners)]
            shown = rows.setdefault(tables[data], {base: {"learners": learners}})
            if alternative.set:
                shown[base]["learners"].append(name)
                continue
            setting = f"{base.split('/')[1]}+{alternative.name.replace(',', '+')}"
            changed = _setting(whole, alternative, base)
            add(key, ("data", data, "settings", setting), changed)
            label = f"{table.labels[base]},{alternative.name}"
            shown[f"{data}/{setting}"] = {"label": label, "learners": table.choices}
    for name, settings in rows.items():
        sources.layers.append(("choices.yaml", ("tables", name, "settings"), settings))


def _alternatives(whole: Whole) -> Iterator[tuple[Key, Alternative]]:
    """Every alternative with its key."""
    for name, choice in whole.choices.items():
        for number, alternative in enumerate(choice.alternatives):
            yield ("choices", name, "alternatives", number), alternative


def _learner(alternative: Alternative) -> Tree:
    """The learner whose options an alternative changes."""
    return {
        "like": alternative.learner,
        "mark": alternative.name,
        "options": alternative.set,
        "criteria": "own",
    }


def _setting(whole: Whole, alternative: Alternative, base: str) -> Tree:
    """The setting ``base`` with the data's or network's options of an alternative."""
    data, name = base.split("/")
    setting = whole.data[data].settings[name]
    content = setting.model_dump(exclude_unset=True)
    content["options"] = setting.options | alternative.data
    if alternative.network:
        content["network"] = alternative.network
    return content
