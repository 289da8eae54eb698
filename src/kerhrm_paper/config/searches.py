"""Which candidates does the preset ``tuning`` train, on which data?"""

from collections.abc import Iterable
from dataclasses import dataclass

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.groups import by_base
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Tuning
from kerhrm_paper.config.tables import Tables
from kerhrm_paper.config.views import Cell


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
    cells: tuple[Cell, ...]


def all_searches(resolver: Resolver, tables: Tables) -> dict[str, Search]:
    """The searches of all data sets that are tuned, by data set.

    Raises KerhrmError if there are none.
    """
    searches = {}
    for name, data in resolver.whole.data.items():
        if data.tuning:
            searches[name] = search(name, data.tuning, resolver, tables)
    if not searches:
        problem = "no data set says on what it is tuned"
        hint = "give one tuning: {data: [DATA], seeds: 5}"
        raise resolver.sources.error(("search",), problem, hint)
    return searches


def search(name: str, tuning: Tuning, resolver: Resolver, tables: Tables) -> Search:
    """Candidates of every learner that has some and that a table shows on the data.

    Those of ``all``, if it is there.  Raises KerhrmError if nothing is tried on some of
    the data.
    """
    for number, data in enumerate(tuning.data):
        _check_data(resolver, name, data, _key(name, number))
    cells = list(_candidates(resolver, tuning.data, tables))
    for cell in cells:
        resolver.learner(*cell)  # refuses a wrong grid early
    searched = {data for data, _ in cells}
    for number, data in enumerate(tuning.data):
        if data not in searched:
            raise resolver.sources.error(
                _key(name, number),
                f"no learner that a table shows on {data} has a grid",
                "show one that has a grid or candidates, or set tuning: null",
            )
    _check_alike(resolver, tuning.data, cells)
    return Search(tuple(tuning.data), tuple(dict.fromkeys(cells)))


def _candidates(resolver: Resolver, names: list[str], tables: Tables) -> Iterable[Cell]:
    """Data and learner of every candidate that tables show."""
    bases = tables.learners_on(names)
    grids = resolver.grids
    for name in names:
        data = resolver.data(name)
        for base in bases:
            if grids.is_tried(data, base):
                for learner in grids.candidates(data, base):
                    yield name, learner


def _key(name: str, number: int) -> Key:
    """Where the data of a search stand."""
    return ("data", name, "tuning", "data", number)


def _check_data(resolver: Resolver, name: str, data: str, key: Key) -> None:
    """Refuse a search of a data set on other data."""
    try:
        base, _ = resolver.parse_data(data)
    except KerhrmError as error:
        raise resolver.sources.error(key, error.problem, error.hint) from error
    if base != name:
        problem = f"{data} are other data"
        raise resolver.sources.error(key, problem, f"write {name}")


def _check_alike(resolver: Resolver, names: list[str], cells: list[Cell]) -> None:
    """Refuse learners of which other candidates are tried on other data.

    A candidate's score is a mean over all data of the search.
    """
    candidates = by_base(cells)
    for (data, base), learners in candidates.items():
        for other in names:
            if candidates.get((other, base), []) != learners:
                raise resolver.sources.error(
                    ("learners", base),
                    f"its candidates on {data} and on {other} differ",
                    "let `at` give all data of a search the same grid",
                )
