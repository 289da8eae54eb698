"""Alternatives of ``choices.yaml`` become learners, settings and cells of the tables
choices_*."""

from kerhrm.paper.config.files import Key, Sources, Tree
from kerhrm.paper.config.models import Whole


def add_choices(sources: Sources, whole: Whole) -> None:
    """Add what each alternative stands for, as if a file of its own said it.

    Raises KerhrmError if there is a learner or a setting of that name already.
    """
    tables = {
        p.split("/")[0]: n
        for n, t in whole.tables.items()
        if t.choices
        for p in t.settings
    }
    taken: set[Key] = {("learners", name) for name in whole.learners}
    taken |= {
        ("data", n, "settings", s)
        for n, one in whole.data.items()
        for s in one.settings
    }
    rows: dict[str, dict[str, Tree]] = {}

    def add(key: Key, place: Key, content: Tree) -> None:
        if place in taken:
            raise sources.error(
                key, f"{'.'.join(place)} exists already", "choose another mark"
            )
        taken.add(place)
        source = f"{sources.find(key)[0]}: {key[1]}.alternatives.{key[3]}"
        sources.layers.append((source, place, content))

    every = [
        (("choices", name, "alternatives", number), one)
        for name, choice in whole.choices.items()
        for number, one in enumerate(choice.alternatives)
    ]
    for key, one in every:
        if one.set:
            learner = {"like": one.learner, "mark": one.name, "options": one.set}
            add(key, ("learners", one.learner_name), {**learner, "criteria": "own"})
        for data in () if one.title else one.where:
            if data not in tables:
                continue
            table = whole.tables[tables[data]]
            base, cells = next(iter(table.settings.items()))
            old = whole.data[data].settings[base.split("/")[1]]
            first = {base: {"learners": [*(cells.learners or table.learners)]}}
            shown = rows.setdefault(tables[data], first)
            if one.set:
                shown[base]["learners"].append(one.learner_name)
                continue
            place = f"{base}+{one.name.replace(',', '+')}"
            setting = {
                **old.model_dump(exclude_unset=True),
                "options": old.options | one.data,
            }
            setting |= {"network": one.network} if one.network else {}
            add(key, ("data", data, "settings", place.split("/")[1]), setting)
            shown[place] = {
                "label": f"{table.labels[base]},{one.name}",
                "learners": table.choices,
            }
    for name, settings in rows.items():
        sources.layers.append(("choices.yaml", ("tables", name, "settings"), settings))
