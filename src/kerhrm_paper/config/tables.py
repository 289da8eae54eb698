"""Which cells does each table show, and in which rows?"""

from collections.abc import Iterator, Mapping

from kerhrm_paper.config.alternatives import Alternatives
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.labels import Labels
from kerhrm_paper.config.options import known
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import KINDS, Table
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.data.registry import DATA_SETS


class Tables:
    """The tables of the validated files.

    Parameters
    ----------
    resolver : Resolver
        What names stand for.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.sources = resolver.sources
        self.whole = resolver.whole
        self.alternatives = Alternatives(resolver)

    def views(self) -> dict[str, TableView]:
        """Every table, by name."""
        return {
            name: self.view(name, table) for name, table in self.whole.tables.items()
        }

    def view(self, name: str, table: Table) -> TableView:
        """A table of the run."""
        learners_of = dict(self._learners(name, table))
        self._check_seeds(name, table, [*learners_of])
        kind = self._kind(name, table, [*learners_of])
        labels = Labels(self.resolver, table)
        rows: list[Row] = []
        for data, learners in learners_of.items():
            for learner in learners:
                rows += self._rows(name, table, data, learner)
        if not rows:
            key = ("tables", name, "learners")
            raise self.sources.error(key, "it has no learners", "add some")
        self._check_outputs(name, table, rows)
        if kind == "iterations":
            self._check_iterations(name, rows)
        return TableView(
            name=name,
            title=table.title,
            kind=kind,
            in_all=table.in_all,
            n_seeds=table.seeds,
            labels={data: labels.of_data(data) for data in learners_of},
            rows=tuple(rows),
        )

    def learners_on(self, names: list[str]) -> list[str]:
        """Bases of the learners that tables of ``all`` show on some data.

        Those of other tables, where none of them does.
        """
        for in_all in (True, False):
            bases: dict[str, None] = {}
            for name, table in self.whole.tables.items():
                if table.in_all == in_all:
                    bases |= dict.fromkeys(self._bases_on(names, name, table))
            if bases:
                return [*bases]
        return []

    def _bases_on(self, names: list[str], name: str, table: Table) -> Iterator[str]:
        """Bases of the learners by their own criterion that a table shows on data."""
        for data, learners in self._learners(name, table):
            if data not in names:
                continue
            for learner in learners:
                base, named = self.resolver.parse_learner(learner)
                if "select" not in named:
                    yield base

    # --- data and learners -----------------------------------------------------------

    def _learners(self, name: str, table: Table) -> Iterator[tuple[str, list[str]]]:
        """Data of a table, each with its learners, alternatives included."""
        first = next(iter(table.data))
        for data in table.data:
            learners = self._own_learners(name, table, data)
            if table.choices and data == first:
                learners += self.alternatives.added_learners(data, learners)
            yield data, learners
        if table.choices:
            self.alternatives.check_choices(name, table)
            self._check_learners(("tables", name, "choices"), table.choices)
            for data in self.alternatives.added_data(first):
                yield data, [*table.choices]

    def _own_learners(self, name: str, table: Table, data: str) -> list[str]:
        """Learners that a table gives its data, else those that it gives all."""
        key: Key = ("tables", name, "data", data)
        with self.sources.naming(key, data):
            self.resolver.data(data)
        of_data = table.data[data].learners
        learners = table.learners if of_data is None else of_data
        if not learners:
            raise self.sources.error(key, "it has no learners", "add some")
        above = key if of_data else ("tables", name)
        self._check_learners((*above, "learners"), learners)
        return [*learners]

    def _check_learners(self, key: Key, learners: list[str]) -> None:
        """Refuse what is no name of a learner."""
        for learner in learners:
            with self.sources.naming(key, learner):
                self.resolver.parse_learner(learner)

    def _kind(self, name: str, table: Table, names: list[str]) -> str:
        """Kind of a table's scores, which fits the task of all of its data."""
        tasks = set()
        for data in names:
            generator = self.whole.data[base_of(data)].generator
            tasks.add(DATA_SETS[generator].task)
        if len(tasks) != 1:
            raise self.sources.error(
                ("tables", name, "data"),
                "it mixes classification and regression",
                "split it",
            )
        kinds = KINDS[tasks.pop()]
        kind = table.kind or kinds[0]
        return known(self.sources, ("tables", name, "kind"), kind, kinds)

    # --- rows ------------------------------------------------------------------------

    def _rows(self, name: str, table: Table, data: str, learner: str) -> Iterator[Row]:
        """Rows of a learner on data, one for each criterion that it can have."""
        key: Key = ("tables", name, "learners")
        labels = Labels(self.resolver, table)
        setting = labels.of_setting(labels.of_data(data), learner)
        for chosen in self._by_criteria(key, table, data, learner):
            with self.sources.naming(key, chosen):
                cell = self.resolver.learner(data, chosen)
            if cell.missing is not None:
                problem = f"{data}/{chosen}: {cell.missing.problem}"
                raise self.sources.error(key, problem, cell.missing.hint)
            yield Row(
                data=data,
                learner=chosen,
                trained=self.resolver.trained_as(data, chosen),
                setting=setting,
                titles=self._titles(name, table, chosen, cell.titles),
                selection=cell.selection,
            )

    def _by_criteria(
        self, key: Key, table: Table, data: str, learner: str
    ) -> list[str]:
        """Names of a learner with the criteria of a table that it can have."""
        of_data = table.data[data].select if data in table.data else None
        criteria = of_data or table.select
        names: dict[str, None] = {}
        for criterion in criteria:
            name = self.resolver.with_select(learner, criterion)
            if name is not None:
                names[name] = None
        if not names:
            problem = f"{learner} cannot be selected by {' or '.join(criteria)}"
            raise self.sources.error(key, problem, "add own to select")
        return [*names]

    def _titles(
        self, name: str, table: Table, learner: str, titles: Mapping[str, str]
    ) -> dict[str, str]:
        """Methods that a table names for a learner, by output."""
        begins = [text for text in table.outputs if _begins(learner, text)]
        if not begins:
            return dict(titles)
        longest = max(begins, key=len)
        outputs = table.outputs[longest]
        for output in outputs:
            key = ("tables", name, "outputs", longest)
            known(self.sources, key, output, titles)
        return {output: title for output, title in titles.items() if output in outputs}

    # --- checks ----------------------------------------------------------------------

    def _check_seeds(self, name: str, table: Table, names: list[str]) -> None:
        """Refuse more seeds than the data have, unless a shipped table shows them.

        A preset may have fewer than the table of the paper.
        """
        changes = self.resolver.layers.changes("tables", name)
        if table.seeds is None or changes.get("seeds") is None:
            return
        for data in names:
            n_seeds = len(self.resolver.data(data).seeds)
            if table.seeds > n_seeds:
                raise self.sources.error(
                    ("tables", name, "seeds"),
                    f"{data} has {n_seeds}",
                    f"lower it, or name data with seeds={table.seeds}",
                )

    def _check_outputs(self, name: str, table: Table, rows: list[Row]) -> None:
        """Refuse outputs of learners that the table does not have in any file."""
        names = {row.learner for row in rows}
        names.update(self.sources.names("tables", name, "learners"))
        for data in self.sources.names("tables", name, "data"):
            names.update(self.sources.names("tables", name, "data", data, "learners"))
        changes = self.resolver.layers.changes("tables", name)
        for text in table.outputs:
            # outputs of a shipped table go with a learner that the user leaves out
            if changes and text not in (changes.get("outputs") or {}):
                continue
            if any(_begins(learner, text) for learner in names):
                continue
            hint = nearest(text, sorted(names))
            if "*" in text:
                hint = "write LEARNER for all names that begin with it"
            raise self.sources.error(
                ("tables", name, "outputs", text),
                f"'{text}' is not a learner of the table",
                hint,
            )

    def _check_iterations(self, name: str, rows: list[Row]) -> None:
        """Refuse learners without iterations in a table of these."""
        for row in rows:
            if not self.resolver.learner(row.data, row.learner).iterates:
                raise self.sources.error(
                    ("tables", name, "learners"),
                    f"{row.learner} has no iterations, which this kind shows",
                    "leave it out",
                )


def _begins(name: str, text: str) -> bool:
    """Whether a name is a text, or this with more options."""
    return name == text or name.startswith(f"{text}+")
