"""Read the files of ``config/``, merge and validate them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm_paper.config import strict_yaml
from kerhrm_paper.config.causes import cause, leaves
from kerhrm_paper.config.checks import check_declared_names, check_nulls
from kerhrm_paper.config.files import Sources, Tree, read_sources
from kerhrm_paper.config.groups import groups
from kerhrm_paper.config.names import check_cells, check_names
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.rows import check_alternatives, check_rows, check_titles
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.tables import Tables, check_labels
from kerhrm_paper.config.views import Group, TableView
from kerhrm_paper.data.registry import DATA_SETS

FULL = ("paper", "fresh")  #: presets of the published sizes and options
SHOWN = 3  #: changed options that a mark names
#: keys that say where and how a run is made, and not what
HARMLESS = ("preset", "results", "raw_dir", "on_missing", "device", "threads")


@dataclass(frozen=True)
class Search:
    """What the preset ``tuning`` trains on a data set.

    Attributes
    ----------
    data : tuple of str
        Over which a candidate's scores are averaged.
    cells : tuple of (str, str)
        Data and learner, every candidate by its name.
    """

    data: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Resolved:
    """The validated files, and what they say of every cell."""

    sources: Sources
    whole: Whole
    resolver: Resolver
    tables: dict[str, TableView] = field(default_factory=dict)
    searches: dict[str, Search] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """What every table, figure and page of a run carries that is not of the
        published options."""
        changes = dict(self.sources.changes)
        # what is added makes other cells, which their names tell apart
        for kind in ("data", "learners", "tables"):
            shipped, given = self.resolver.base.get(kind), changes.get(kind)
            given = given or {}
            changes[kind] = {n: given[n] for n in given if n in (shipped or {})}
        return mark(self.whole.preset, {k: v for k, v in changes.items() if v != {}})


def resolve(overrides: Mapping[str, Any], files: list[Path], folder: Path) -> Resolved:
    """Read, merge and validate the files of a folder, further files, and keys of the
    command line.

    Raises KerhrmError, in one line with the file, the key and its value.
    """
    for registry in (METHODS, PENALTIES, DATA_SETS):
        registry.load()  # a package that is broken is reported now, not in a job
    check_declared_names()
    sources = read_sources(overrides, files, folder)
    layers = list(sources.layers)
    try:
        return resolved(sources, folder)
    except KerhrmError as error:
        names = [*map(strict_yaml.shown, files), "--config"]

        def again(others: Sources) -> Resolved:
            return resolved(others, folder)

        raise cause(error, layers, sources.preset_at, names, again) from error


def resolved(sources: Sources, folder: Path) -> Resolved:
    """What files that are read already say, validated."""
    try:
        whole = Whole.model_validate(sources.tree())
    except ValidationError as error:
        raise sources.invalid((), error) from error
    check_nulls(sources)
    check_names(sources, whole, folder.parent)
    resolver = Resolver(sources, whole)
    check_labels(sources, whole, resolver)
    check_titles(sources, whole)
    check_alternatives(sources, whole)
    tables = Tables(sources, whole, resolver)
    if whole.search:
        searches = {
            name: search(name, whole, resolver, tables)
            for name, data in whole.data.items()
            if data.tuning
        }
        if not searches:
            problem = "no data set says on what it is tuned"
            hint = "give one tuning: {data: [DATA], seeds: 5}"
            raise sources.error(("search",), problem, hint)
        together = [
            Group(f"{data} {base}", data, tuple(names))
            for one in searches.values()
            for (data, base), names in _by_base(one.cells).items()
        ]
        return Resolved(sources, whole, resolver, {}, searches, together)
    views = tables.views()
    check_cells(sources, views)
    check_rows(sources, views, resolver)
    return Resolved(sources, whole, resolver, views, {}, groups(views, resolver))


def search(name: str, whole: Whole, resolver: Resolver, tables: Tables) -> Search:
    """Candidates of every learner that has some and that a table shows on the data.

    Those of ``all``, if it is there.  Raises KerhrmError if nothing is tried on some of
    the data.
    """
    tuning = whole.data[name].tuning
    assert tuning is not None
    for number, place in enumerate(tuning.data):
        key = ("data", name, "tuning", "data", number)
        try:
            base, _ = resolver.parse_data(place)
        except KerhrmError as error:
            raise resolver.sources.error(key, error.problem, error.hint) from error
        if base != name:
            problem, hint = f"{place} are other data", f"write {name}"
            raise resolver.sources.error(key, problem, hint)
    shown = tables.learners_on(tuning.data)
    cells = [
        (data, learner)
        for data in tuning.data
        for base in shown
        if resolver.tried(resolver.data(data), base)
        for learner in resolver.candidates(data, base)
    ]
    for cell in cells:
        resolver.learner(*cell)  # refuses a wrong grid early
    for number, place in enumerate(tuning.data):
        if place not in {data for data, _ in cells}:
            key = ("data", name, "tuning", "data", number)
            problem = f"no learner that a table shows on {place} has a grid"
            hint = "show one that has a grid or candidates, or set tuning: null"
            raise resolver.sources.error(key, problem, hint)
    _check_alike(resolver, tuning.data, cells)
    return Search(tuple(tuning.data), tuple(dict.fromkeys(cells)))


def _check_alike(
    resolver: Resolver, data: list[str], cells: list[tuple[str, str]]
) -> None:
    """Refuse learners of which other candidates are tried on other data.

    A candidate's score is a mean over all data of the search.
    """
    tried = _by_base(tuple(cells))
    for (place, base), names in tried.items():
        for other in data:
            if tried.get((other, base), []) != names:
                problem = f"its candidates on {place} and on {other} differ"
                hint = "let `at` give all data of a search the same grid"
                raise resolver.sources.error(("learners", base), problem, hint)


def _by_base(cells: tuple[tuple[str, str], ...]) -> dict[tuple[str, str], list[str]]:
    """Learners by their data and base."""
    found: dict[tuple[str, str], list[str]] = {}
    for data, learner in cells:
        found.setdefault((data, base_of(learner)), []).append(learner)
    return found


def mark(preset: str, changes: Tree) -> str:
    """How a run differs from the published options.

    ``changes`` is what the command line and further files say, of which some keys are
    harmless.
    """
    words = [] if preset in FULL else [f"{preset} sizes"]
    places = [place for place in leaves(changes) if place[0] not in HARMLESS]
    keys = [".".join(map(str, place)) for place in places]
    if keys:
        more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
        words.append(
            f"options differ from the published: {', '.join(keys[:SHOWN])}{more}"
        )
    return "; ".join(words)
