"""How many replicates have data, and learners on them, and which seeds?"""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.invalid import invalid
from kerhrm_paper.config.layers import Layers
from kerhrm_paper.config.schema import FIRST_SEARCHED, SeedNumbers
from kerhrm_paper.config.schemas import RESERVED, Schemas
from kerhrm_paper.config.spelling import unselected
from kerhrm_paper.config.strict_yaml import merge
from kerhrm_paper.runs.replication import Seeds

#: a number of seeds, or numbers by DATA and DATA/LEARNER
Given = int | Mapping[str, int]
_GIVEN: TypeAdapter[Given] = TypeAdapter(SeedNumbers)


def seeds_of(schemas: Schemas, name: str) -> Seeds:
    """Seeds of the data of a name: as many as any learner on them has.

    Raises KerhrmError if the name gives their number twice, no file gives any, or they
    meet those that have chosen options.
    """
    whole = schemas.whole
    base, _ = schemas.parse_data(name)
    tuning = whole.data[base].tuning
    if whole.search and tuning:
        return Seeds.alike(tuning.seeds, FIRST_SEARCHED)
    seeds = _evaluated(schemas, name)
    if not whole.search:
        _check_apart(schemas, name, seeds)
    return seeds


def _evaluated(schemas: Schemas, name: str) -> Seeds:
    """Seeds of data in tables."""
    whole = schemas.whole
    base, named = schemas.parse_data(name)
    first = whole.seed_offset
    if "crossed" in named:
        if "seeds" in named:
            problem = f"{name}: crossed says how many seeds there are"
            raise KerhrmError(problem, "leave seeds out")
        return Seeds.crossed(named["crossed"], first)
    if "seeds" in named:
        return Seeds.alike(named["seeds"], first)
    seeds = whole.data[base].seeds
    number = _most(schemas, seeds, base, name)
    return Seeds.alike(number, first)


def _check_apart(schemas: Schemas, name: str, seeds: Seeds) -> None:
    """Refuse seeds of tables that a search trains on: they have chosen options.

    The search is that of the data set, or of the one that its options come from.
    """
    data_sets = schemas.whole.data
    base, _ = schemas.parse_data(name)
    n_searched = 0
    for source in (base, data_sets[base].select_on):
        data_set = data_sets.get(source) if source else None
        if data_set and data_set.tuning:
            n_searched = max(n_searched, data_set.tuning.seeds)
    behind = FIRST_SEARCHED + n_searched
    searched = range(FIRST_SEARCHED, behind)
    if not set(searched) & set(seeds.data):
        return
    hint = f"set seed_offset to {behind} or more"
    first, *_ = seeds.data
    if first < FIRST_SEARCHED:
        hint = f"have {FIRST_SEARCHED - first} seeds at most, or {hint}"
    last = searched[-1]
    problem = f"{name}: the seeds {FIRST_SEARCHED} to {last} select options"
    raise KerhrmError(problem, hint)


def most_seeds(schemas: Schemas, layers: Layers, name: str) -> int:
    """Replicates of data with the preset, or more that they have without it.

    Raises KerhrmError as :func:`seeds_of` does.
    """
    number = len(seeds_of(schemas, name))
    base, named = schemas.parse_data(name)
    files, _, user = layers.entries("data", base)
    given = merge(files, user).get("seeds")
    if given is None or _names_seeds(named):
        return number
    seeds = _read(schemas.sources, base, given)
    return max(number, _most(schemas, seeds, base, name))


def _names_seeds(named: Mapping[str, Any]) -> bool:
    """Whether options of data say which seeds these have."""
    return any(option in named for option in RESERVED)


def _read(sources: Sources, base: str, given: Any) -> Given:
    """Seeds as the files without the preset give them, which nothing has validated."""
    try:
        return _GIVEN.validate_python(given)
    except ValidationError as error:
        others = list(sources.layers)
        if sources.preset_at is not None:
            del others[sources.preset_at]
        raise invalid(Sources(others), ("data", base, "seeds"), error) from error


def n_seeds_of(schemas: Schemas, data: DataCell, learner: str) -> int:
    """Replicates of a learner: all of the data's, unless the map has fewer.

    A learner with another criterion has those of the learner itself, unless the map has
    a number of its own for it: criteria are compared on the same seeds.
    """
    _, named = schemas.parse_data(data.name)
    if schemas.whole.search or _names_seeds(named):
        return len(data.seeds)
    by_criterion = f"{data.name}/{learner}"
    cell = f"{data.name}/{unselected(learner)}"
    seeds = schemas.whole.data[data.base].seeds
    return _number(schemas, seeds, data.base, by_criterion, cell, data.name)


def _most(schemas: Schemas, seeds: Given, base: str, name: str) -> int:
    """Replicates of data, or of that learner on them which has the most."""
    most = _number(schemas, seeds, base, name)
    if not isinstance(seeds, int):
        for place, number in seeds.items():
            data, _, _ = place.partition("/")
            if data == name:
                most = max(most, number)
    return most


def _number(schemas: Schemas, seeds: Given, base: str, *places: str) -> int:
    """Replicates by the first of some places that has a number, else of the base.

    A place is ``DATA/LEARNER`` or ``DATA``, as the map of seeds writes it.
    """
    if isinstance(seeds, int):
        return seeds
    for place in (*places, base):
        if place in seeds:
            return seeds[place]
    raise schemas.sources.error(
        ("data", base, "seeds"),
        f"no number is for {places[-1]}",
        f"add {base}: NUMBER",
    )
