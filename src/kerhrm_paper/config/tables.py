"""Which cells does each table show, and in which rows?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from kerhrm_paper.config.alternatives import Alternatives
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.labels import TableLabels
from kerhrm_paper.config.options import known
from kerhrm_paper.config.own_criterion import own_first
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import KINDS, Table
from kerhrm_paper.config.seeds import most_seeds
from kerhrm_paper.config.views import Cell, Row, TableView

Titles = Mapping[str, str]  #: methods that a table names, by output


class Tables:
    """The tables of the validated files.

    Parameters
    ----------
    resolver : Resolver
        What names stand for.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.tables: list[TableCells] = []
        tables = resolver.whole.tables
        for name, table in tables.items():
            cells = TableCells(resolver, name, table)
            self.tables.append(cells)

    def views(self) -> dict[str, TableView]:
        """Every table, by name."""
        views = {}
        for cells in self.tables:
            views[cells.name] = cells.view()
        return views

    def learners_on(self, names: list[str]) -> list[str]:
        """Bases of the learners that tables of ``all`` show on some data.

        Those of other tables, where none of them does.
        """
        bases = self._bases_on(names, in_all=True)
        if bases:
            return bases
        return self._bases_on(names, in_all=False)

    def _bases_on(self, names: list[str], in_all: bool) -> list[str]:
        """Bases of the learners that some tables show on some data, each once."""
        bases: list[str] = []
        for cells in self.tables:
            if cells.table.in_all == in_all:
                bases += cells.bases_on(names)
        return list(dict.fromkeys(bases))


class TableCells:
    """The cells of one table.

    Parameters
    ----------
    resolver : Resolver
        What names stand for.
    name : str
        Of the table.
    table : Table
        Its content.
    """

    def __init__(self, resolver: Resolver, name: str, table: Table) -> None:
        self.resolver = resolver
        self.sources = resolver.sources
        self.name = name
        self.table = table
        self.key: Key = ("tables", name)
        self.labels = TableLabels(resolver, table)
        self.alternatives = Alternatives(resolver)

    def view(self) -> TableView:
        """The table, its rows and what they show."""
        learners_of: dict[str, list[str]] = defaultdict(list)
        for data, learners in self._learners():  # data of an alternative may be twice
            listed = learners_of[data]
            listed += [learner for learner in learners if learner not in listed]
        names = [*learners_of]
        self._check_seeds(names)
        kind = self._kind(names)
        rows: list[Row] = []
        for data, learners in learners_of.items():
            for learner in learners:
                rows += self._rows(data, learner)
        rows = own_first(self.resolver, rows)
        if not rows:
            key = (*self.key, "learners")
            problem = "it has no learners"
            raise self.sources.error(key, problem, "add some")
        self._check_outputs(rows)
        if kind == "iterations":
            self._check_iterations(rows)
        labels = {}
        for data in names:
            labels[data] = self.labels.of_data(data)
        return TableView(
            name=self.name,
            title=self.table.title,
            kind=kind,
            in_all=self.table.in_all,
            n_seeds=self.table.seeds,
            labels=labels,
            rows=tuple(rows),
        )

    def bases_on(self, names: list[str]) -> Iterator[str]:
        """Bases of the learners of selected options that it shows on some data."""
        for data, learners in self._learners():
            if data not in names:
                continue
            for learner in learners:
                base, named = self.resolver.schemas.parse_learner(learner)
                if named.get("select") != "none":
                    yield base

    def cells(self) -> Iterator[Cell]:
        """Data and learner of everything that is trained for it."""
        for data, learners in self._learners():
            for learner in learners:
                for trained in self.trained(data, learner):
                    yield data, trained

    def trained(self, data: str, learner: str) -> Iterator[str]:
        """What is trained for a learner on some data, by the table's criteria."""
        for name in self._by_criteria(data, learner):
            if not self.resolver.learner(data, name).missing:
                yield self.resolver.trained_as(data, name)

    # --- data and learners -----------------------------------------------------------

    def _learners(self) -> Iterator[tuple[str, list[str]]]:
        """Data of the table, each with its learners, alternatives included."""
        choices = self.table.choices
        first_data, *_ = self.table.data
        for data in self.table.data:
            learners = self._own_learners(data)
            if choices and data == first_data:
                added = self.alternatives.added_learners(data, learners)
                learners = [*learners, *added]
            yield data, learners
        if choices:
            self.alternatives.check_choices(self.name, self.table)
            key = (*self.key, "choices")
            self._check_learners(key, choices)
            for data in self.alternatives.added_data(first_data):
                yield data, choices

    def _own_learners(self, data: str) -> list[str]:
        """Learners that the table gives its data, else those that it gives all."""
        key = (*self.key, "data", data)
        with self.sources.placing(key, data):
            self.resolver.data(data)
        learners = self.table.data[data].learners
        at = (*key, "learners")
        if learners is None:
            learners = self.table.learners
            at = (*self.key, "learners")
        if not learners:
            problem = "it has no learners"
            raise self.sources.error(key, problem, "add some")
        self._check_learners(at, learners)
        return learners

    def _check_learners(self, key: Key, learners: list[str]) -> None:
        """Refuse what is no name of a learner."""
        for learner in learners:
            with self.sources.placing(key, learner):
                self.resolver.schemas.parse_learner(learner)

    def _kind(self, names: list[str]) -> str:
        """Kind of the scores, which fits the task of all data."""
        tasks = set()
        for data in names:
            cell = self.resolver.data(data)
            tasks.add(cell.task)
        if len(tasks) != 1:
            raise self.sources.error(
                (*self.key, "data"),
                "it mixes classification and regression",
                "split it",
            )
        task = tasks.pop()
        kinds = KINDS[task]
        kind = self.table.kind or kinds[0]
        key = (*self.key, "kind")
        return known(self.sources, key, kind, kinds)

    # --- rows ------------------------------------------------------------------------

    def _rows(self, data: str, learner: str) -> Iterator[Row]:
        """Rows of a learner on data, one for each criterion that it can have."""
        key = (*self.key, "learners")
        setting = self.labels.of_setting(data, learner)
        for name in self._by_criteria(data, learner):
            with self.sources.placing(key, name):
                cell = self.resolver.learner(data, name)
            if cell.missing is not None:
                problem = f"{data}/{name}: {cell.missing.problem}"
                hint = cell.missing.hint
                raise self.sources.error(key, problem, hint)
            yield Row(
                data=data,
                learner=name,
                trained=self.resolver.trained_as(data, name),
                setting=setting,
                titles=self._titles(name, cell.titles),
                selection=cell.selection,
            )

    def _by_criteria(self, data: str, learner: str) -> list[str]:
        """Names of a learner with the criteria of the table that it can have."""
        criteria = self.table.select
        if data in self.table.data:
            of_data = self.table.data[data]
            criteria = of_data.select or criteria
        names: list[str] = []
        for criterion in criteria:
            name = self.resolver.with_select(learner, criterion)
            if name is not None and name not in names:
                names.append(name)
        if not names:
            raise self.sources.error(
                (*self.key, "learners"),
                f"{learner} cannot be selected by {' or '.join(criteria)}",
                "add own to select",
            )
        return names

    def _titles(self, learner: str, titles: Titles) -> Titles:
        """Methods that the table names for a learner: some outputs, or all."""
        patterns = self.table.outputs
        fitting = [text for text in patterns if _begins(learner, text)]
        if not fitting:
            return titles
        longest = max(fitting, key=len)
        outputs = patterns[longest]
        key = (*self.key, "outputs", longest)
        for output in outputs:
            known(self.sources, key, output, titles)
        shown = dict(titles)
        for output in titles:
            if output not in outputs:
                del shown[output]
        return shown

    # --- checks ----------------------------------------------------------------------

    def _check_seeds(self, names: list[str]) -> None:
        """Refuse more seeds than the data have, unless a shipped table shows them.

        A preset may have fewer than a table at the paper's sizes.
        """
        n_shown = self.table.seeds
        layers = self.resolver.layers
        changes = layers.changes("tables", self.name)
        is_changed = changes.get("seeds") is not None
        if n_shown is None or not is_changed:
            return
        for data in names:
            n_seeds = most_seeds(self.resolver.schemas, layers, data)
            if n_shown > n_seeds:
                raise self.sources.error(
                    (*self.key, "seeds"),
                    f"{data} has {n_seeds}",
                    f"lower it, or name data with seeds={n_shown}",
                )

    def _check_outputs(self, rows: list[Row]) -> None:
        """Refuse outputs of learners that the table does not have in any file."""
        learners = {row.learner for row in rows}
        learners |= self._named_learners()
        layers = self.resolver.layers
        changes = layers.changes("tables", self.name)
        changed = changes.get("outputs") or {}
        for text in self.table.outputs:
            # outputs of a shipped table go with a learner that the user leaves out
            if changes and text not in changed:
                continue
            is_shown = any(_begins(learner, text) for learner in learners)
            if is_shown:
                continue
            names = sorted(learners)
            hint = nearest(text, names)
            if "*" in text:
                hint = "write LEARNER for all names that begin with it"
            raise self.sources.error(
                (*self.key, "outputs", text),
                f"'{text}' is not a learner of the table",
                hint,
            )

    def _named_learners(self) -> set[str]:
        """Learners that any file names in the table."""
        names = self.sources.names
        learners = names(*self.key, "learners")
        at_data = (*self.key, "data")
        for data in names(*at_data):
            learners += names(*at_data, data, "learners")
        return set(learners)

    def _check_iterations(self, rows: list[Row]) -> None:
        """Refuse learners without iterations in a table of these."""
        for row in rows:
            cell = self.resolver.learner(row.data, row.learner)
            if not cell.iterates:
                raise self.sources.error(
                    (*self.key, "learners"),
                    f"{row.learner} has no iterations, which this kind shows",
                    "leave it out",
                )


def _begins(name: str, text: str) -> bool:
    """Whether a name is a text, or this with more options."""
    return name == text or name.startswith(f"{text}+")


def table_of(data: DataCell, learner: LearnerCell) -> TableView:
    """The table of a single cell: the main metrics of its task."""
    name = f"{data.name}/{learner.name}"
    row = Row(
        data=data.name,
        learner=learner.name,
        trained=learner.name,
        setting=name,
        titles=dict(learner.titles),
        selection=learner.selection,
    )
    return TableView(
        name=name,
        title=name,
        kind=KINDS[data.task][0],
        in_all=False,
        n_seeds=None,
        labels={data.name: data.name},
        rows=(row,),
    )
