"""Which candidates does the preset ``tuning`` train, on which data?"""

from collections.abc import Iterator
from dataclasses import dataclass

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
    data_sets = resolver.whole.data
    for name, data in data_sets.items():
        if data.tuning:
            tuned = TunedData(resolver, name, data.tuning)
            searches[name] = tuned.search(tables)
    if not searches:
        problem = "no data set says on what it is tuned"
        hint = "give one tuning: {data: [DATA], seeds: 5}"
        key = ("search",)
        error = resolver.sources.error(key, problem, hint)
        raise error
    return searches


class TunedData:
    """The data on which a data set is tuned.

    Parameters
    ----------
    resolver : Resolver
        What names stand for.
    name : str
        Of the data set.
    tuning : Tuning
        What is run.
    """

    def __init__(self, resolver: Resolver, name: str, tuning: Tuning) -> None:
        self.resolver = resolver
        self.sources = resolver.sources
        self.name = name
        self.names = tuning.data

    def search(self, tables: Tables) -> Search:
        """Candidates of every learner that has some and that a table shows on the data.

        Those of ``all``, if it is there.  Raises KerhrmError if nothing is tried on
        some of the data.
        """
        for number, data in enumerate(self.names):
            self._check_name(number, data)
        bases = tables.learners_on(self.names)
        cells = []
        for data in self.names:
            for learner in self._candidates(data, bases):
                cells.append((data, learner))
        for data, learner in cells:
            self.resolver.learner(data, learner)  # refuses a wrong grid early
        self._check_searched(cells)
        self._check_alike(cells)
        distinct = dict.fromkeys(cells)
        return Search(
            data=tuple(self.names),
            cells=tuple(distinct),
        )

    def _candidates(self, name: str, bases: list[str]) -> Iterator[str]:
        """Candidates of some learners, as far as they have any."""
        grids = self.resolver.grids
        data = self.resolver.data(name)
        for base in bases:
            if grids.is_tried(data, base):
                yield from grids.candidates(data, base)

    def _key(self, number: int) -> Key:
        """Where data of the search stand."""
        return ("data", self.name, "tuning", "data", number)

    def _check_name(self, number: int, data: str) -> None:
        """Refuse a search on data of another data set."""
        key = self._key(number)
        with self.sources.placing(key):
            base, _ = self.resolver.schemas.parse_data(data)
        if base != self.name:
            problem = f"{data} are other data"
            hint = f"write {self.name}"
            raise self.sources.error(key, problem, hint)

    def _check_searched(self, cells: list[Cell]) -> None:
        """Refuse data without any candidates."""
        searched = {data for data, _ in cells}
        for number, data in enumerate(self.names):
            if data not in searched:
                raise self.sources.error(
                    self._key(number),
                    f"no learner that a table shows on {data} has a grid",
                    "show one that has a grid or candidates, or set tuning: null",
                )

    def _check_alike(self, cells: list[Cell]) -> None:
        """Refuse learners of which other candidates are tried on other data.

        A candidate's score is a mean over all data of the search.
        """
        candidates = by_base(cells)
        for key, learners in candidates.items():
            data, base = key
            for other in self.names:
                of_other = candidates.get((other, base))
                if of_other != learners:
                    raise self.sources.error(
                        ("learners", base),
                        f"its candidates on {data} and on {other} differ",
                        "let `at` give all data of a search the same grid",
                    )
