"""What a name can say: the options of a learner or of data, for a reader."""

import typing
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import Config
from kerhrm_paper.config.data_cells import dotted, values_by_key
from kerhrm_paper.config.fields import closest
from kerhrm_paper.config.nameable import Nameable
from kerhrm_paper.config.options import check_named
from kerhrm_paper.config.schemas import LEARNER_OPTIONS, Schemas
from kerhrm_paper.config.spelling import base_of, tree
from kerhrm_paper.config.values import spell_value
from kerhrm_paper.config.views import TableView

#: signs of a range, by the attribute of what declares it
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
WIDEST = 44  #: characters of a column
VALUE = "VALUE"  #: in the place of a default that a name cannot give


def names(config: Config) -> str:
    """All data sets, learners and tables with their titles."""
    whole = config.resolved.whole
    learners = {}
    for name, learner in whole.learners.items():
        rows = learner.titles.values()
        learners[name] = ", ".join(rows)
    data = {name: data.title for name, data in whole.data.items()}
    tables = {name: view.title for name, view in config.tables.items()}
    groups = {"data": data, "learners": learners, "tables": tables}
    lines = []
    for kind, titles in groups.items():
        lines.append(f"{kind}:")
        for name, title in titles.items():
            lines.append(f"  {name:<{WIDEST}}  {title}")
    return "\n".join(lines)


def table(config: Config, name: str) -> str:
    """Options that can be added to a name: value, type and range, and meaning.

    Of data, and of a learner in a cell ``DATA/LEARNER``, the values are those in force;
    of a learner alone the method's defaults, which files, data and the preset change.

    Raises KerhrmError if there is no learner and no data set of that name, or its
    options are none of theirs.
    """
    base = base_of(name)
    resolver = config.resolved.resolver
    known = [*config.learners, *config.data_sets]
    values: Mapping[str, Any] | None = None
    if "/" in name:
        data, learner = _cell_of(name, config, known)
        base = base_of(learner)
        kind = "a learner"
        values = dict(dotted(config.learner(data, learner).options.model_dump()))
        schema = resolver.schemas.learner_schema(base)
    elif base in config.learners:
        kind = "a learner"
        _check_learner(resolver.schemas, name)
        schema = resolver.schemas.learner_schema(base)
    elif base in known:
        kind = "data"
        values = values_by_key(resolver.data(name))
        schema = resolver.schemas.data_schema(base)
    elif base in config.tables:
        problem = f"'{base}' is a table, and has no options"
        raise KerhrmError(problem, _of_table(config.tables[base]))
    else:
        problem = f"no learner and no data set is called '{base}'"
        hint = "add --configfile FILE for your own; without a name all are listed"
        hint = closest(base, known) or hint
        if not base:
            hint = "write LEARNER+option=value, or DATA+option=value"
        raise KerhrmError(problem, hint)
    head = f"{base}+option=value+... names {kind} with other options; "
    if values is None:
        head += f"defaults, those in force by kerhrm options DATA/{name}:"
    else:
        head += f"values in force of {name}:"
    lines = _lines(schema, values)
    with_head = [head, *lines]
    return "\n".join(with_head)


def _cell_of(path: str, config: Config, known: Collection[str]) -> tuple[str, str]:
    """Data and learner of a cell's path; KerhrmError if it is another one."""
    data, _, learner = path.partition("/")
    if base_of(data) in config.data_sets and base_of(learner) in config.learners:
        return data, learner
    names = [part for part in path.split("/") if base_of(part) in known]
    if not names:
        problem = f"no learner and no data set is called '{path}'"
        raise KerhrmError(problem, "without a name all are listed")
    if len(names) == 1:
        raise KerhrmError(f"'{path}' is a path", f"ask for {names[0]}")
    first, second, *_ = names
    if base_of(first) in config.learners:
        first, second = second, first
    raise KerhrmError(f"'{path}' is not a cell", f"ask for {first}/{second}")


def _check_learner(schemas: Schemas, name: str) -> None:
    """Refuse a learner's name with an option that is none, or out of its range."""
    base, named = schemas.parse_learner(name)
    options = {key: named[key] for key in named if key not in LEARNER_OPTIONS}
    check_named(schemas.methods[base].options, name, tree(options))


def _of_table(table: TableView) -> str:
    """Hint of the names in a table that have options."""
    data = dict.fromkeys(base_of(name) for name in table.data)
    learners = dict.fromkeys(base_of(learner) for _, learner in table.cells)
    hint = f"ask for its data, {', '.join(data)}, or its learners, "
    return hint + ", ".join(learners)


def _lines(
    schema: Mapping[str, Nameable], values: Mapping[str, Any] | None
) -> list[str]:
    """A line for each option, its columns below each other; with defaults in the place
    of values that are not given."""
    defaults = []
    for key, option in schema.items():
        value = option.default
        if values is not None:
            value = values.get(key, value)
        text = _spelled(option, value)
        defaults.append(f"+{key}={text}")
    ranges = []
    for option in schema.values():
        limits = _limits(option.annotation)
        words = [_values(option), *limits]
        text = ", ".join(words)
        ranges.append(text)
    lengths_of_defaults = map(len, defaults)
    lengths_of_values = map(len, ranges)
    widest_default = max(lengths_of_defaults)
    widest_value = max(lengths_of_values)
    default_width = min(WIDEST, widest_default)
    value_width = min(WIDEST, widest_value)
    lines = []
    for number, option in enumerate(schema.values()):
        default = defaults[number].ljust(default_width)
        limits_of_option = ranges[number].ljust(value_width)
        line = f"  {default}  {limits_of_option}  {option.meaning}"
        lines.append(line.rstrip())
    return lines


def _values(option: Nameable) -> str:
    """What an option takes, in words; of a penalty the names that there are."""
    *_, name = option.key.split(".")
    if name == "penalty":
        return "one of " + ", ".join(PENALTIES)
    if option.group:
        return "none, or the options below"
    return option.values


def _spelled(option: Nameable, value: Any) -> str:
    """A value as a name would spell it; VALUE where a name cannot give it."""
    try:
        text = spell_value(value)
        value_read = option.read(text)
        has_same_text = spell_value(value_read) == text
    except ValueError:
        return VALUE
    is_none_alike = (value_read is None) == (value is None)
    return text if has_same_text and is_none_alike else VALUE


def _limits(annotation: Any) -> list[str]:
    """Limits that a type declares, each once."""
    ranges = _range(annotation)
    return list(dict.fromkeys(ranges))


def _range(annotation: Any) -> Iterator[str]:
    """Limits that a type declares, as ``>= 0``, wherever in it they stand."""
    for part in typing.get_args(annotation):
        metadata = getattr(part, "metadata", ())
        constraints = (part, *metadata)
        for constraint in constraints:
            for name, sign in SIGNS.items():
                limit = getattr(constraint, name, None)
                if isinstance(limit, int | float):
                    yield f"{sign} {limit:g}"
        yield from _range(part)
