"""How does a value of a file that does not fit read as an error of one line?

The hint of an unknown key says what it probably stands for: a key of an earlier
version, an option of a method, or a key of a data set.
"""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.options import worded
from kerhrm_paper.config.fields import closest
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.spelling import RENAMED
from kerhrm_paper.config.strict_yaml import OWN_KEYS

#: parts of the place of a pydantic error that stand in no file
NO_KEYS = ("[key]", "[number]", "[map]")
#: types of pydantic's errors about something that is no mapping
NO_MAPPING = ("model_type", "dict_type", "model_attributes_type")
#: keys that may be taken for keys of the whole configuration, and where they stand in
#: a data set
KEYS_OF_DATA: dict[str, Key] = {
    "seeds": ("seeds",),
    "network": ("network",),
    "features": ("features",),
    "generator": ("generator",),
    "n_seeds": ("seeds",),
    "widths": ("network", "widths"),
    "module": ("network", "module"),
}
#: keys that may be taken for keys of the whole configuration, and are of a table
KEYS_OF_TABLE = ("title", "about", "select", "outputs", "kind", "in_all")
#: keys of the whole configuration that are lists where they are of a table
OF_TABLE_AS_LISTS: tuple[Key, ...] = (("data",), ("learners",), ("choices",))
#: keys of earlier versions, and what takes their place
ENDED = {
    "like": "name the options: LEARNER+option=value in a table or a path",
    "mark": "name the options; labels: {option: SYMBOL} changes what tables show",
    "marks": "labels: {option: SYMBOL} says what tables show",
    "steps": "write checkpoint_iterations: true",
    "criteria": "write select: [own, pooled, oracle, none] in the table",
    "selected": "name it: LEARNER+select=none, or LEARNER+select_on=DATA",
    "selected_from": "write select_on: DATA",
    "settings": "name the data: DATA+option=value",
    "more_seeds": "write seeds: {DATA: 5, DATA/LEARNER: 20}",
    "n_seeds": "write seeds: NUMBER",
    "set": "name it: learner: LEARNER+option=value",
    "candidates": "write it in learners.yaml: LEARNER: {candidates: [...]}",
}
#: keys whose keys are options, or values of some
OF_OPTIONS = ("options", "network", "features", "grid", "candidates")
#: keys of those that mean something else at the top of a file
OTHERWISE = (*KEYS_OF_DATA, "steps", "set")


def invalid(sources: Sources, above: Key, error: ValidationError) -> KerhrmError:
    """One-line error of a validation below the key ``above``."""
    return refused(sources, above, error.errors()[0])


def refused(sources: Sources, above: Key, detail: Mapping[str, Any]) -> KerhrmError:
    """One-line error of a detail of a validation below the key ``above``."""
    parts = []
    for part in detail["loc"]:
        if part not in NO_KEYS:
            parts.append(part)
    location = tuple(parts)
    key = (*above, *location)
    problem, hint = worded(detail)
    kind = detail["type"]
    value = detail.get("input")
    if kind in NO_MAPPING:
        problem = "write 'key: value' lines"
        if key in OF_TABLE_AS_LISTS and isinstance(value, list):
            problem = "must be a mapping at the top of a file"
            hint = _of_table(key[0])
    elif kind == "missing" and _ends_with_name(location):
        problem, hint = _missing(sources, key)
    elif kind == "misfit":
        hint = _elsewhere(sources, key, location, hint)
    else:
        hint = hint or _as_other(kind, key, value)
    return sources.error(key, problem, hint)


def _as_other(kind: str, key: Key, value: Any) -> str | None:
    """How a value of another type is written, by the type of pydantic's error."""
    if kind == "list_type":
        return _as_list(key, value)
    if kind == "int_type":
        return f"write {key[-1]}: NUMBER"
    if kind == "string_type":
        is_single = isinstance(value, int | float)
        return f"write '{_flow(value)}'" if is_single else f"write {key[-1]}: TEXT"
    if kind == "too_short" and key[-1] == "candidates":
        return "write [{OPTION: VALUE}], or delete the line"
    return None


def _as_list(key: Key, value: Any) -> str:
    """How a value is written that is no list, where one is meant."""
    is_mapping = isinstance(value, Mapping)
    if key[-1] == "candidates":
        tries_lists = is_mapping and all(isinstance(v, list) for v in value.values())
        if value and tries_lists:
            return f"write grid: {_flow(value)}"
        return f"write [{_flow(value)}]" if value else "write [{OPTION: VALUE}]"
    if is_mapping:
        value = ", ".join(value)
    return f"write [{'NAME' if value is None else value}]"


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return text.removesuffix("\n...\n").strip()


def _ends_with_name(location: Key) -> bool:
    """Whether a place is an entry of a mapping, and not of a list."""
    if not location:
        return False
    last = location[-1]
    return isinstance(last, str)


def _missing(sources: Sources, key: Key) -> tuple[str, str]:
    """Problem and hint of a key that is missing: to add it, or another name of the
    entry."""
    hint = f"add {key[-1]}: ..."
    entry = key[:-1]
    if entry:
        for layer in sources.layers:
            file, _, value = Sources([layer]).find(entry)
            if value is None:
                problem = f"{file} leaves '{entry[-1]}' out"
                return problem, f"delete the null there, or {hint}"
        *place, name = entry
        names = sources.names(*place)
        if name in names:
            names.remove(name)
        similar = closest(str(name), names)
        if similar:
            hint += f" to a new '{name}'; or {similar}"
    return "it is missing", hint


def _elsewhere(
    sources: Sources, key: Key, location: Key, hint: str | None
) -> str | None:
    """Hint for a key that is unknown where it stands."""
    file, _, value = sources.find(key)
    if replacement := _ended(key, value):
        return replacement
    is_typo = (hint or "").startswith("did you mean")
    if _is_of_learner(sources, location) and not is_typo:
        hint = _of_method(key, value)
    match key:
        case (name,):
            at_top = _at_top(sources, str(name), file, value)
            return at_top or hint
        case ("data", name, "label"):
            return f"it is of a table: data: {{{name}: {{label: TEXT}}}}"
        case ("data", name, "data") | ("tables", name, "tables"):
            return f"write the keys of '{name}' without {key[0]}: above them"
    return hint


def _ended(key: Key, value: Any) -> str | None:
    """What takes the place of a key of an earlier version."""
    *above, last = key
    is_truth = isinstance(value, bool)
    if last == "steps" and not is_truth:
        return None  # the number of an optimiser's steps
    if last == "more_seeds" and above[:1] == ["tables"]:
        return "write seeds: NUMBER; data have seeds: {DATA: 5, DATA/LEARNER: 20}"
    if any(name in OF_OPTIONS for name in above):
        renamed = RENAMED.get(last)
        return renamed and f"KerHRM's {last} is {renamed} now"
    if above or last not in OTHERWISE:
        return ENDED.get(last)
    return None


def _is_of_learner(sources: Sources, location: Key) -> bool:
    """Whether an unknown key seems to mean options of a learner."""
    name, *below = location
    if name == "learners" and len(below) > 1:
        name = below[0]
    tree = sources.tree()
    return name in tree.get("learners", {})


def _of_method(key: Key, value: Any) -> str:
    """How an option of a method is written."""
    *above, name = key
    options = {"options": {name: value}}
    if not above:  # a learner without the file's key above it
        options = {"learners": {name: {"options": value}}}
    text = yaml.safe_dump(options, default_flow_style=True, width=10**6)
    text = text.strip()
    lines = text[1:-1]
    return f"options of a method: write {lines}"


def _of_table(key: str) -> str:
    """How a key of a table is written."""
    return f"it is of a table: tables: {{TABLE: {{{key}: ...}}}}"


def _at_top(sources: Sources, name: str, file: str, value: Any) -> str | None:
    """How a key is written that does not belong to the top of a file.

    ``name`` may begin with the data set that is meant, as in ``data.houses.seeds``.
    """
    *above, last = name.split(".")
    of_own_table = closest(last, OWN_KEYS) if sources.own_table else None
    if of_own_table:
        return of_own_table
    if last in KEYS_OF_TABLE:
        return _of_table(last)
    if last not in KEYS_OF_DATA:
        return closest(last, [*Whole.model_fields, *OWN_KEYS])
    data_sets = sources.names("data")
    data = next(iter(data_sets), "DATA")
    is_of_data = len(above) > 1 and above[1] in data_sets
    if is_of_data:
        data = above[1]
    for part in reversed(KEYS_OF_DATA[last]):
        value = {part: value}
    text = yaml.safe_dump({data: value}, default_flow_style=True)
    line = " ".join(text.split())
    sign = "=" if file == "--config" else ": "
    return f"write 'data{sign}{line}'"
