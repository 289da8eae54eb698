"""What no cell could make right in the files of data and learners, used or not."""

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


def check_declared_names() -> None:
    """Refuse options of methods and data sets that names cannot give as they are.

    Raises KerhrmError with the package that declares the first one.
    """
    for registry, reserved in DECLARED:
        for name, declared in registry.items():
            for option in declared.options.model_fields:
                if option in reserved:
                    problem = f"the option name '{option}' is reserved"
                    hint = f"rename it; reserved are {', '.join(reserved)}"
                elif not option.isascii():
                    problem = f"the option name '{option}' must be ASCII"
                    hint = "rename it; names of cells have it"
                else:
                    continue
                where = origin(registry.group, name)
                raise KerhrmError(f"{where}: {problem}", hint)


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


def check_nulls(sources: Sources) -> None:
    """Refuse null for a name that no earlier file has: it would leave nothing out.

    Raises KerhrmError, in one line with the nearest name.
    """
    first = sources.preset_at or 0  # of the files that change others
    for number, (_, place, content) in enumerate(sources.layers):
        if number < first:
            continue
        earlier = Sources(sources.layers[:number])
        for key in leaves(content):
            key = (*place, *key)
            if Sources([sources.layers[number]]).find(key)[2] is not None:
                continue
            above, names = key[:-1], earlier.names(*key[:-1])
            if any(_is_below(above, named) for named in NAMED) and key[-1] not in names:
                problem = "there is none to leave out"
                hint = nearest(str(key[-1]), names) if names else "leave it out"
                raise sources.error(key, problem, hint)


def _is_below(key: Key, named: Key) -> bool:
    """Whether a key is one of those that a pattern stands for."""
    parts = zip(key, named, strict=False)
    return len(key) == len(named) and all(b in ("*", a) for a, b in parts)


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
    data_sets, every = sources.names("data"), sources.names("learners")
    for data, learners in schemas.whole.selected.items():
        known(sources, ("selected", data), data, data_sets)
        for name in learners:
            known(sources, ("selected", data, name), name, every)


def _check_learner(schemas: Schemas, name: str, learner: Learner) -> None:
    """Refuse options, outputs, conditions and names of a learner."""
    sources, whole, at = schemas.sources, schemas.whole, ("learners", name)
    method = schemas.methods[name]
    for output in learner.titles:
        known(sources, (*at, "titles"), output, method.outputs)
    tried: list[tuple[Key, Tree]] = [((*at, "options"), learner.options)]
    for number, values in enumerate(learner.candidates):
        tried.append(((*at, "candidates", number), values))
    tried += one_by_one((*at, "grid"), learner.grid)
    for place, layer in learner.at.items():
        _check_condition(schemas, (*at, "at", place), place)
        tried.append(((*at, "at", place, "options"), layer.options))
        tried += one_by_one((*at, "at", place, "grid"), layer.grid)
    for data, learners in whole.selected.items():
        for criterion, values in learners.get(name, {}).items():
            tried.append((("selected", data, name, criterion), values))
    for key, values in tried:
        check_fields(sources, method.options, key, values)
    if learner.tuned_as is not None:
        known(sources, (*at, "tuned_as"), learner.tuned_as, whole.learners)
        other = whole.learners[learner.tuned_as]
        for option in (*other.grid, *(key for one in other.candidates for key in one)):
            if option not in method.options.model_fields:
                problem = f"its {option} is no option of the method {method.name}"
                hint = f"name a learner of the method {method.name}"
                raise sources.error((*at, "tuned_as"), problem, hint)
    if learner.at_only and not learner.at:
        problem = "there are no data that it is for"
        raise sources.error((*at, "at_only"), problem, "add at: {DATA: {}}")
    if learner.checkpoint_iterations:
        _check_iterations(schemas, name, method)
    if learner.is_tuned and schemas.own_criterion(name) == "own":
        key = (*at, "candidates" if learner.candidates else "grid")
        problem = f"the method {method.name} has no criterion that selects"
        raise sources.error(key, problem, "give options instead")


def _check_iterations(schemas: Schemas, name: str, method: Method) -> None:
    """Refuse iterations of another method than KerHRM, whose M_c and M_p are jobs."""
    ours = METHODS["kerhrm"]
    alike = entry_of(method.train) == entry_of(ours.train)
    if alike and {*method.options.model_fields} == {*ours.options.model_fields}:
        return
    key = ("learners", name, "checkpoint_iterations")
    problem = f"checkpoint_iterations needs the method kerhrm; it has {method.name}"
    raise schemas.sources.error(key, problem, "set it to false")


def _check_data(schemas: Schemas, name: str) -> None:
    """Refuse options, conditions and names of seeds of a data set."""
    sources, whole, data = schemas.sources, schemas.whole, schemas.whole.data[name]
    parts: dict[str, type[Options]] = {
        "options": DATA_SETS[data.generator].options,
        "network": NetworkOptions,
        "features": FeatureOptions,
    }
    for part, kind in parts.items():
        check_fields(sources, kind, ("data", name, part), getattr(data, part))
        for place, layer in data.at.items():
            key: Key = ("data", name, "at", place, part)
            check_fields(sources, kind, key, getattr(layer, part))
    for place in data.at:
        key = ("data", name, "at", place)
        if _check_condition(schemas, key, place) != name:
            raise sources.error(key, "these are other data", f"write {name}+...")
    if isinstance(data.seeds, dict):
        for place in data.seeds:
            _check_seeds(schemas, name, place)
    key = ("data", name, "select_on")
    known(sources, key, data.select_on or name, whole.data)


def _check_condition(schemas: Schemas, key: Key, place: str) -> str:
    """Base of a condition; KerhrmError if it is no name of data."""
    try:
        base, values = schemas.parse_data(place)
    except KerhrmError as error:
        hint = error.hint
        if "*" in place:
            hint = "write DATA+option=value, or DATA for all of its data"
        raise schemas.sources.error(key, error.problem, hint) from error
    for name in RESERVED:
        if name in values:
            problem = f"{name} is not a condition"
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
