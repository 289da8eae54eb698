"""What in the files of data and learners could no cell make right?

It is refused also where no table uses it.
"""

from collections.abc import Iterator
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.base import Method
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm.plugins import Registry, origin
from kerhrm_paper.config.causes import leaves
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key, Sources, Tree
from kerhrm_paper.config.options import check_fields, entry_of, known, one_by_one
from kerhrm_paper.config.schema import Learner
from kerhrm_paper.config.schemas import RESERVED, Schemas
from kerhrm_paper.data.registry import DATA_SETS

#: names of options of data, and of learners, that have a meaning of their own
OF_DATA = (*RESERVED, "network", "features")
OF_LEARNERS = ("select", "select_on")
DECLARED: tuple[tuple[Registry[Any], tuple[str, ...]], ...] = (
    (METHODS, OF_LEARNERS),
    (DATA_SETS, OF_DATA),
)
#: where keys are names, so that null leaves one out; * is any name
NAMED: tuple[Key, ...] = (
    ("data",),
    ("data", "*", "at"),
    ("learners",),
    ("learners", "*", "at"),
    ("learners", "*", "grid"),
    ("learners", "*", "titles"),
    ("tables",),
    ("tables", "*", "data"),
    ("tables", "*", "outputs"),
    ("tables", "*", "labels"),
    ("labels",),
    ("choices",),
)


# --- options that packages declare ---------------------------------------------------


def check_declared_names() -> None:
    """Refuse options of methods and data sets that names cannot give as they are.

    Raises KerhrmError with the package that declares the first one.
    """
    for registry, reserved in DECLARED:
        for name, declared in registry.items():
            for option in declared.options.model_fields:
                try:
                    _check_declared_name(option, reserved)
                except KerhrmError as error:
                    package = origin(registry.group, name)
                    problem = f"{package}: {error.problem}"
                    raise KerhrmError(problem, error.hint) from error


def _check_declared_name(option: str, reserved: tuple[str, ...]) -> None:
    """Refuse an option that is reserved, or no text of a path."""
    if option in reserved:
        problem = f"the option name '{option}' is reserved"
        raise KerhrmError(problem, f"rename it; reserved are {', '.join(reserved)}")
    if not option.isascii():
        problem = f"the option name '{option}' must be ASCII"
        raise KerhrmError(problem, "rename it; names of cells have it")


# --- null ----------------------------------------------------------------------------


def check_nulls(sources: Sources) -> None:
    """Refuse null for a name that no earlier file has: it would leave nothing out.

    Raises KerhrmError, in one line with the nearest name.
    """
    first = sources.preset_at or 0  # of the files that change others
    for number in range(first, len(sources.layers)):
        layer = sources.layers[number]
        earlier = Sources(sources.layers[:number])
        for key in _nulls(layer):
            *above, name = key
            names = earlier.names(*above)
            if _holds_names(tuple(above)) and name not in names:
                hint = nearest(str(name), names) if names else "leave it out"
                raise sources.error(key, "there is none to leave out", hint)


def _nulls(layer: tuple[str, Key, Tree]) -> Iterator[Key]:
    """Keys that a file sets to null."""
    _, place, content = layer
    file = Sources([layer])
    for leaf in leaves(content):
        key = (*place, *leaf)
        _, _, value = file.find(key)
        if value is None:
            yield key


def _holds_names(key: Key) -> bool:
    """Whether the keys below a key are names."""
    return any(_matches(key, pattern) for pattern in NAMED)


def _matches(key: Key, pattern: Key) -> bool:
    """Whether a key is one of those that a pattern stands for."""
    if len(key) != len(pattern):
        return False
    pairs = zip(key, pattern, strict=True)
    return all(wanted in ("*", part) for part, wanted in pairs)


# --- content -------------------------------------------------------------------------


def check_content(schemas: Schemas) -> None:
    """Refuse options, conditions and names that fit nothing.

    Raises KerhrmError for the first one, with its file and key.
    """
    for name, learner in schemas.whole.learners.items():
        _check_learner(schemas, name, learner)
    for name in schemas.whole.data:
        _check_data(schemas, name)
    _check_selected(schemas)


def _check_selected(schemas: Schemas) -> None:
    """Refuse selected options of data or learners that are in no file.

    Of those that a later file sets to null they may stay.
    """
    sources = schemas.sources
    data_sets = sources.names("data")
    learners = sources.names("learners")
    for data, selected in schemas.whole.selected.items():
        known(sources, ("selected", data), data, data_sets)
        for learner in selected:
            known(sources, ("selected", data, learner), learner, learners)


def _check_learner(schemas: Schemas, name: str, learner: Learner) -> None:
    """Refuse options, outputs, conditions and names of a learner."""
    sources = schemas.sources
    method = schemas.methods[name]
    at: Key = ("learners", name)
    for output in learner.titles:
        known(sources, (*at, "titles"), output, method.outputs)
    for condition in learner.at:
        _check_condition(schemas, (*at, "at", condition), condition)
    for key, options in _all_options(schemas, name, learner):
        check_fields(sources, method.options, key, options)
    if learner.tuned_as is not None:
        _check_tuned_as(schemas, name, learner.tuned_as)
    if learner.at_only and not learner.at:
        problem = "there are no data that it is for"
        raise sources.error((*at, "at_only"), problem, "add at: {DATA: {}}")
    if learner.checkpoint_iterations:
        _check_iterations(schemas, name, method)
    if learner.is_tuned and schemas.own_criterion(name) == "own":
        key = (*at, "candidates" if learner.candidates else "grid")
        problem = f"the method {method.name} has no criterion that selects"
        raise sources.error(key, problem, "give options instead")


def _all_options(
    schemas: Schemas, name: str, learner: Learner
) -> Iterator[tuple[Key, Tree]]:
    """Options that any file gives a learner, each with its key."""
    at: Key = ("learners", name)
    yield (*at, "options"), learner.options
    for number, candidate in enumerate(learner.candidates):
        yield (*at, "candidates", number), candidate
    yield from one_by_one((*at, "grid"), learner.grid)
    for condition, change in learner.at.items():
        yield (*at, "at", condition, "options"), change.options
        yield from one_by_one((*at, "at", condition, "grid"), change.grid)
    for data, learners in schemas.whole.selected.items():
        for criterion, options in learners.get(name, {}).items():
            yield ("selected", data, name, criterion), options


def _check_tuned_as(schemas: Schemas, name: str, other_name: str) -> None:
    """Refuse to take the selected options of a learner of other options."""
    sources = schemas.sources
    key = ("learners", name, "tuned_as")
    known(sources, key, other_name, schemas.whole.learners)
    method = schemas.methods[name]
    other = schemas.whole.learners[other_name]
    tried = [*other.grid]
    for candidate in other.candidates:
        tried += candidate
    for option in tried:
        if option not in method.options.model_fields:
            problem = f"its {option} is no option of the method {method.name}"
            hint = f"name a learner of the method {method.name}"
            raise sources.error(key, problem, hint)


def _check_iterations(schemas: Schemas, name: str, method: Method) -> None:
    """Refuse iterations of another method than KerHRM, whose M_c and M_p are jobs."""
    kerhrm = METHODS["kerhrm"]
    trains_alike = entry_of(method.train) == entry_of(kerhrm.train)
    options, of_kerhrm = method.options.model_fields, kerhrm.options.model_fields
    if trains_alike and options.keys() == of_kerhrm.keys():
        return
    raise schemas.sources.error(
        ("learners", name, "checkpoint_iterations"),
        f"checkpoint_iterations needs the method kerhrm; it has {method.name}",
        "set it to false",
    )


def _check_data(schemas: Schemas, name: str) -> None:
    """Refuse options, conditions and names of seeds of a data set."""
    sources = schemas.sources
    data = schemas.whole.data[name]
    at: Key = ("data", name)
    kinds: dict[str, type[Options]] = {
        "options": DATA_SETS[data.generator].options,
        "network": NetworkOptions,
        "features": FeatureOptions,
    }
    for part, kind in kinds.items():
        check_fields(sources, kind, (*at, part), getattr(data, part))
        for condition, change in data.at.items():
            key = (*at, "at", condition, part)
            check_fields(sources, kind, key, getattr(change, part))
    for condition in data.at:
        key = (*at, "at", condition)
        if _check_condition(schemas, key, condition) != name:
            raise sources.error(key, "these are other data", f"write {name}+...")
    if isinstance(data.seeds, dict):
        for place in data.seeds:
            _check_seeds(schemas, name, place)
    select_on = data.select_on or name
    known(sources, (*at, "select_on"), select_on, schemas.whole.data)


def _check_condition(schemas: Schemas, key: Key, condition: str) -> str:
    """Base of a condition; KerhrmError if it is no name of data."""
    try:
        base, named = schemas.parse_data(condition)
    except KerhrmError as error:
        hint = error.hint
        if "*" in condition:
            hint = "write DATA+option=value, or DATA for all of its data"
        raise schemas.sources.error(key, error.problem, hint) from error
    for option in RESERVED:
        if option in named:
            problem = f"{option} is not a condition"
            raise schemas.sources.error(key, problem, "leave it out")
    return base


def _check_seeds(schemas: Schemas, name: str, place: str) -> None:
    """Refuse a key of seeds that is no name of these data, or of a cell of them."""
    key = ("data", name, "seeds", place)
    data, _, learner = place.partition("/")
    try:
        base, _ = schemas.parse_data(data)
        if learner:
            schemas.parse_learner(learner)
    except KerhrmError as error:
        raise schemas.sources.error(key, error.problem, error.hint) from error
    if base != name:
        raise schemas.sources.error(key, "these are other data", f"write {name}")
