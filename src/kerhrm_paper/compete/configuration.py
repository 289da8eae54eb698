"""The files of configuration that let a method compete: its search, and its tables.

The search has the method's candidates alone, on the data on which all methods are
tuned.  The tables have the method among their learners, with what was selected; where
scores of the other learners are published, it stands there alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.options import Task
from kerhrm_paper.compete.method_file import MethodFile
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import read_sources
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.schema import Table, Whole
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.data.registry import DATA_SETS

#: kinds of scores that need what the method does not give
OTHER_KINDS = ("iterations",)


class Shipped:
    """The files of ``config/`` at a preset, without any cell resolved.

    Attributes
    ----------
    preset : str
    whole : Whole
    """

    def __init__(self, preset: str) -> None:
        folder = CHECKOUT / "config"
        base = {"preset": preset}
        sources = read_sources(base, [], folder)
        self.preset = preset
        tree = sources.tree()
        self.whole = Whole.model_validate(tree)

    @property
    def titles(self) -> list[str]:
        """Names of the methods in tables."""
        titles: list[str] = []
        for learner in self.whole.learners.values():
            titles += learner.titles.values()
        return titles

    def methods(self, name: str) -> list[str]:
        """Titles of the methods of a table."""
        table = self.whole.tables[name]
        titles: dict[str, None] = {}
        for of_data in table.data.values():
            learners = of_data.learners
            for learner in table.learners if learners is None else learners:
                base = base_of(learner)
                by_output = self.whole.learners[base].titles
                outputs = table.outputs.get(base, by_output)
                shown = [title for key, title in by_output.items() if key in outputs]
                titles |= dict.fromkeys(shown)
        return list(titles)

    def task(self, data: str) -> Task:
        """Task of some data."""
        base = base_of(data)
        data_set = self.whole.data[base]
        return DATA_SETS[data_set.generator].task

    def tables_of(self, method: MethodFile, names: Sequence[str]) -> list[str]:
        """The tables that a method enters: those that are named, else those of ``all``
        that it can.

        Raises KerhrmError for a name that is no table, or that the method cannot enter.
        """
        tables = self.whole.tables
        for name in names:
            if name not in tables:
                problem = f"--tables: no table is called '{name}'"
                raise KerhrmError(problem, nearest(name, tables))
            if problem := self._obstacle(method, tables[name]):
                barred = f"--tables: {name} {problem}"
                raise KerhrmError(barred, "leave it out")
        if names:
            return list(dict.fromkeys(names))
        entered = []
        for name, table in tables.items():
            is_barred = self._obstacle(method, table)
            if table.in_all and not is_barred:
                entered.append(name)
        return entered

    def _obstacle(self, method: MethodFile, table: Table) -> str:
        """Why a method cannot enter a table; empty if it can."""
        if table.kind in OTHER_KINDS:
            return f"is of {table.kind}, which a method that competes does not give"
        first_data, *_ = table.data
        task = self.task(first_data)
        if task not in method.method.tasks:
            return f"is a {task}, which {method.name} does not learn"
        if len(method.candidates) > 1:
            for source in self._sources(table):
                data = self.whole.data[source]
                if data.tuning is None:
                    return f"is on {source}, on which nothing is tuned"
        return ""

    def _sources(self, table: Table) -> list[str]:
        """Data sets on which a table's learners are tuned."""
        sources = []
        for data in table.data:
            base = base_of(data)
            declared = self.whole.data[base]
            sources.append(declared.select_on or base)
        return list(dict.fromkeys(sources))

    # --- layers ----------------------------------------------------------------------

    def search(self, method: MethodFile, tables: Sequence[str], minutes: float) -> Tree:
        """The search of a method for some tables: a further file of configuration."""
        searched: dict[str, None] = {}
        for name in tables:
            table = self.whole.tables[name]
            sources = self._sources(table)
            searched |= dict.fromkeys(sources)
        learner = _learner(method, minutes)
        layer: Tree = {
            "learners": {method.name: learner},
            "tables": dict.fromkeys(self.whole.tables),
            "data": {},
        }
        if self.preset == "smoke":
            layer["search"] = True
        for name, data in self.whole.data.items():
            if data.tuning is None:
                continue
            if name not in searched:
                no_search = {"tuning": None}
                layer["data"][name] = no_search
                continue
            layer["tables"][f"search-{name}"] = {
                "title": f"Candidates on {name}",
                "data": data.tuning.data,
                "learners": [method.name],
            }
        return layer

    def tables(
        self,
        method: MethodFile,
        tables: Sequence[str],
        minutes: float,
        *,
        selected: Tree,
        published: Mapping[str, Path],
        others: Collection[str] = (),
    ) -> Tree:
        """The tables that a method enters: a further file of configuration.

        Parameters
        ----------
        method : MethodFile
            That competes.
        tables : sequence of str
            That it enters.
        minutes : float
            Of a fit, at most.
        selected : dict
            Options by data set and criterion.
        published : mapping of str to Path
            Scores of the other learners, by table.
        others : collection of str
            Tables that are not made now.  They keep the jobs as they are, as one job
            trains what several tables show; the method is in them where its options
            are selected.
        """
        learner = _learner(method, minutes)
        layer: Tree = {
            "learners": {method.name: learner},
            "tables": {},
            "selected": {},
        }
        for data, by_criterion in selected.items():
            layer["selected"][data] = {method.name: by_criterion}
        for name, table in self.whole.tables.items():
            entered = None
            if name in tables or name in others:
                is_alone = name in published
                entered = _entered(table, method.name, is_alone)
            if entered and name not in tables and len(method.candidates) > 1:
                self._leave_out(entered, table, selected)
            layer["tables"][name] = entered
        if published:
            files = {name: str(path) for name, path in published.items()}
            layer["published"] = files
        return layer

    def _leave_out(self, entered: Tree, table: Table, tuned: Collection[str]) -> None:
        """Leave a method out of a table's data on whose source it is not tuned."""
        for name, data in table.data.items():
            base = base_of(name)
            source = self.whole.data[base].select_on or base
            if source not in tuned:
                learners = table.learners if data.learners is None else data.learners
                entered.setdefault("data", {})
                entered["data"][name] = {"learners": [*learners]}


def _learner(method: MethodFile, minutes: float) -> Tree:
    """The learner of a method."""
    learner: Tree = {
        "method": method.name,
        "titles": method.titles,
        "timeout": minutes,
    }
    if len(method.candidates) == 1:
        (candidate,) = method.candidates
        learner["options"] = _plain(method, candidate)
    elif method.candidates:
        tried = [_plain(method, candidate) for candidate in method.candidates]
        learner["candidates"] = tried
    return learner


def _plain(method: MethodFile, candidate: Tree) -> Tree:
    """A candidate's options as YAML has them."""
    options = method.method.options(**candidate)
    values = options.model_dump(mode="json")
    return {key: values[key] for key in candidate}


def _entered(table: Table, name: str, alone: bool) -> Tree:
    """A table with a method behind its learners, or alone."""

    def with_method(learners: Collection[str]) -> list[str]:
        if alone:
            return [name]
        return [*learners, name]

    entered: Tree = {}
    if table.learners:
        entered["learners"] = with_method(table.learners)
    for data, of_data in table.data.items():
        if of_data.learners is None:
            continue
        learners = with_method(of_data.learners)
        entered.setdefault("data", {})
        entered["data"][data] = {"learners": learners}
    return entered


def seeds(preset: str, tables: Collection[str]) -> Iterator[tuple[str, str, list[Any]]]:
    """Table, data, and the replicates that a learner has there without a say.

    ERM stands for it, as its name is in no map of seeds.
    """
    whole = Shipped(preset).whole
    layer: Tree = dict.fromkeys(whole.tables)
    for name in tables:
        table = whole.tables[name]
        layer[name] = _entered(table, "erm", alone=True)
    config = load_config({"preset": preset, "tables": layer})
    for name, view in config.tables.items():
        for row in view.rows:
            cell = config.learner(row.data, row.learner)
            cell_of_data = config.data(row.data)
            of_data = cell_of_data.seeds.names
            of_cell = list(of_data[: cell.n_seeds])
            seeds_of_row = of_cell[: view.n_seeds]
            yield name, row.data, seeds_of_row
