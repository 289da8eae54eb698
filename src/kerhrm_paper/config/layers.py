"""The two layers of a run: its files up to the preset, and what changes them.

Selected options win over those of the first layer, and options of the second one, of
the preset and the user, over them.
"""

from collections.abc import Mapping
from typing import Any

from kerhrm_paper.config.files import Sources, Tree
from kerhrm_paper.config.strict_yaml import merge

#: parts of data, and of learners, that hold options
PARTS = {"data": ("options", "network", "features"), "learners": ("options",)}


def layers(sources: Sources) -> tuple[Tree, Tree]:
    """The files up to the preset, merged; and what the preset and the user change.

    Options of the user win over those of the preset, also over its ``at``.  A grid of
    the user's with one value of an option has chosen it, and is like an option of the
    same file.  A preset's grid is the size of a search.
    """
    preset_at = sources.preset_at
    if preset_at is None:
        return sources.tree(), sources.tree()
    base = sources.tree(0, preset_at)
    preset = sources.tree(preset_at, preset_at + 1)
    user = sources.tree(preset_at + 1)
    learners = user.get("learners")
    if isinstance(learners, Mapping):
        chosen = {name: _with_chosen(one) for name, one in learners.items()}
        user = {**user, "learners": chosen}
    for kind in PARTS:
        if kind in preset:
            preset = {**preset, kind: _overridden(kind, preset, user)}
    return base, merge(preset, user)


def _overridden(kind: str, preset: Tree, user: Tree) -> Tree:
    """What a preset says of data or learners, without what the user's options change.

    Its ``at`` has them no more, and its conditions that the user has, too, come last.
    """
    entries = dict(preset.get(kind) or {})
    for name, own in (user.get(kind) or {}).items():
        entry = entries.get(name)
        if not isinstance(entry, Mapping) or not isinstance(own, Mapping):
            continue
        given = {part: own[part] for part in PARTS[kind] if own.get(part)}
        places = {
            place: _without(one, given)
            for place, one in (entry.get("at") or {}).items()
        }
        for place in own.get("at") or {}:
            if place in places:
                places[place] = places.pop(place)
        entries[name] = {**entry, "at": places} if places else entry
    return entries


def _without(values: Any, given: Mapping[str, Any]) -> Any:
    """A tree without the values that another one has, too."""
    if not isinstance(values, Mapping):
        return values
    kept = {}
    for key, value in values.items():
        if key not in given:
            kept[key] = value
        elif isinstance(value, Mapping) and isinstance(given[key], Mapping):
            kept[key] = _without(value, given[key])
    return kept


def _with_chosen(learner: Any) -> Any:
    """A learner with options of which its grids have one value, also in ``at``."""
    if not isinstance(learner, Mapping):
        return learner
    learner = dict(learner)
    grid = learner.get("grid") or {}
    chosen = {
        option: values[0]
        for option, values in grid.items()
        if isinstance(values, list) and len(values) == 1
    }
    if chosen:
        learner["options"] = chosen | (learner.get("options") or {})
    if at := learner.get("at"):
        learner["at"] = {place: _with_chosen(one) for place, one in at.items()}
    return learner


def changes_at(layer: Tree, kept: Mapping[str, Any]) -> list[tuple[str, Tree]]:
    """What ``at`` of a layer says by condition, without what a later one removes."""
    every = layer.get("at") or {}
    return [(place, one) for place, one in every.items() if one and place in kept]
