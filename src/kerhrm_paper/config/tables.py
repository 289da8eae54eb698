"""Tables: which cells they show, and what they call them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key, PlacedError, Sources
from kerhrm_paper.config.options import known
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import KINDS, Alternative, Table, Whole
from kerhrm_paper.config.spelling import (
    Nameable,
    Schema,
    base_of,
    spell,
    spell_value,
)
from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.data.registry import DATA_SETS

Found = TypeVar("Found")


class Tables:
    """The tables of the validated files."""

    def __init__(self, sources: Sources, whole: Whole, resolver: Resolver) -> None:
        self.sources, self.whole, self.resolver = sources, whole, resolver

    def views(self) -> dict[str, TableView]:
        """Every table, by name."""
        return {name: self.view(name, one) for name, one in self.whole.tables.items()}

    def view(self, name: str, table: Table) -> TableView:
        """A table of the run."""
        at: Key = ("tables", name)
        places = dict(self._places(name, table))
        self._check_seeds(name, table, list(places))
        tasks = {
            DATA_SETS[self.whole.data[base_of(place)].generator].task
            for place in places
        }
        if len(tasks) != 1:
            problem = "it mixes classification and regression"
            raise self.sources.error((*at, "data"), problem, "split it")
        kinds = KINDS[tasks.pop()]
        kind = known(self.sources, (*at, "kind"), table.kind or kinds[0], kinds)
        labels = {
            data: (table.data[data].label if data in table.data else None)
            or self.data_label(table, data)
            for data in places
        }
        rows = tuple(
            row
            for data, learners in places.items()
            for learner in learners
            for row in self._rows(name, table, data, labels[data], learner)
        )
        if not rows:
            raise self.sources.error(
                (*at, "learners"), "it has no learners", "add some"
            )
        self._check_outputs(name, table, rows)
        if kind == "iterations":
            self._check_iterations(name, rows)
        return TableView(
            name=name,
            title=table.title,
            kind=kind,
            in_all=table.in_all,
            n_seeds=table.seeds,
            labels=labels,
            rows=rows,
        )

    def _check_seeds(self, name: str, table: Table, places: list[str]) -> None:
        """Refuse more seeds than the data have, unless a shipped table shows them.

        A preset may have fewer than the table of the paper.
        """
        changes = self.resolver.changes.get("tables", {}).get(name) or {}
        if table.seeds is None or changes.get("seeds") is None:
            return
        for place in places:
            n_seeds = len(self.resolver.data(place).seeds)
            if table.seeds > n_seeds:
                problem = f"{place} has {n_seeds}"
                hint = f"lower it, or name data with seeds={table.seeds}"
                raise self.sources.error(("tables", name, "seeds"), problem, hint)

    def _places(self, name: str, table: Table) -> Iterator[tuple[str, list[str]]]:
        """Data of a table, each with its learners, alternatives included."""
        at: Key = ("tables", name)
        for place, one in table.data.items():
            key = (*at, "data", place)
            self._checked(key, self.resolver.data, place)
            learners = [*(one.learners if one.learners is not None else table.learners)]
            if not learners:
                raise self.sources.error(key, "it has no learners", "add some")
            for learner in learners:
                given = (*key, "learners") if one.learners else (*at, "learners")
                self._checked(given, self.resolver.parse_learner, learner)
            if table.choices and place == next(iter(table.data)):
                learners += self._alternatives(place, learners)
            yield place, learners
        if table.choices:
            self._check_choices(name, table)
            yield from self._other_data(name, table)

    def _check_choices(self, name: str, table: Table) -> None:
        """Refuse choices of a table on whose data no alternative is measured.

        What a run notes of its configuration has no alternatives at all.
        """
        base = base_of(next(iter(table.data)))
        if not self.whole.choices or any(self.alternatives(base)):
            return
        key = ("tables", name, "choices")
        problem = f"no alternative of choices.yaml is measured on {base}"
        raise self.sources.error(key, problem, "delete choices, or set it to []")

    def learners_on(self, data: list[str]) -> list[str]:
        """Bases of the learners that tables of ``all`` show on some data; those of
        other tables, where none of them does."""
        for in_all in (True, False):
            found = [
                base_of(learner)
                for name, table in self.whole.tables.items()
                if table.in_all == in_all
                for place, learners in self._places(name, table)
                if place in data
                for learner in learners
                if "select" not in self.resolver.parse_learner(learner)[1]
            ]
            if found:
                return list(dict.fromkeys(found))
        return []

    def _checked(self, key: Key, function: Callable[[str], Found], name: str) -> Found:
        """Call something that may refuse a name that a file has at a key."""
        try:
            return function(name)
        except PlacedError:
            raise
        except KerhrmError as error:
            named = name in error.problem
            problem = error.problem if named else f"{name}: {error.problem}"
            raise self.sources.error(key, problem, error.hint) from error

    # --- alternatives -----------------------------------------------------------------

    def alternatives(self, base: str) -> Iterator[tuple[Key, Alternative]]:
        """Measured alternatives on a data set, each with its key."""
        for name, choice in self.whole.choices.items():
            for number, one in enumerate(choice.alternatives):
                if base in one.places:
                    yield ("choices", name, "alternatives", number), one

    def _alternatives(self, place: str, learners: list[str]) -> list[str]:
        """Learners that alternatives put in the place of those of a table."""
        found: list[str] = []
        for key, one in self.alternatives(base_of(place)):
            if one.learner is not None:
                changed = self.changed_learner(key, one.learner, learners)
                if changed not in [*learners, *found]:
                    found.append(changed)
        return found

    def changed_learner(self, key: Key, name: str, learners: list[str]) -> str:
        """A table's learner of the same base, with the options of an alternative."""
        resolver = self.resolver
        base, values = self._checked((*key, "learner"), resolver.parse_learner, name)
        for learner in learners:
            own_base, own = resolver.parse_learner(learner)
            if own_base == base:
                return spell(base, own | values, resolver.learner_schema(base))
        return name

    def changed_data(self, key: Key, name: str, place: str) -> str:
        """Data of a table with the options of an alternative."""
        resolver = self.resolver
        base, values = self._checked((*key, "data"), resolver.parse_data, name)
        _, own = resolver.parse_data(place)
        return spell(base, own | values, resolver.data_schema(base))

    def _other_data(self, name: str, table: Table) -> Iterator[tuple[str, list[str]]]:
        """Data of alternatives, with the table's learners for them."""
        place = next(iter(table.data))
        for learner in table.choices:
            key = ("tables", name, "choices")
            self._checked(key, self.resolver.parse_learner, learner)
        for key, one in self.alternatives(base_of(place)):
            if one.data is not None:
                changed = self.changed_data(key, one.data, place)
                self._checked((*key, "data"), self.resolver.data, changed)
                yield changed, [*table.choices]

    # --- labels -----------------------------------------------------------------------

    def data_label(self, table: Table, name: str) -> str:
        """What a table calls data."""
        base, values = self.resolver.parse_data(name)
        labels = self.whole.labels | table.labels
        words = [labels.get(base, ""), *_labelled(values, labels)]
        return ",".join(filter(None, words)) or base

    def _setting(self, table: Table, label: str, learner: str) -> str:
        """What a table calls data with a learner's options."""
        _, values = self.resolver.parse_learner(learner)
        shown = {k: v for k, v in values.items() if k not in ("select", "select_on")}
        return ",".join([label, *_labelled(shown, self.whole.labels | table.labels)])

    # --- rows -------------------------------------------------------------------------

    def _rows(
        self, name: str, table: Table, data: str, label: str, learner: str
    ) -> Iterator[Row]:
        """Rows of a learner on data, one for each criterion that it can have."""
        one, key = table.data.get(data), ("tables", name, "learners")
        criteria = (one and one.select) or table.select
        names = [self.resolver.with_select(learner, select) for select in criteria]
        shown = [chosen for chosen in dict.fromkeys(names) if chosen is not None]
        if not shown:
            problem = f"{learner} cannot be selected by {' or '.join(criteria)}"
            raise self.sources.error(key, problem, "add own to select")
        for chosen in shown:
            cell = self._checked(key, lambda n: self.resolver.learner(data, n), chosen)
            if cell.missing is not None:
                problem = f"{data}/{chosen}: {cell.missing.problem}"
                raise self.sources.error(key, problem, cell.missing.hint)
            yield Row(
                data,
                chosen,
                self.resolver.trained_as(data, chosen),
                self._setting(table, label, learner),
                self._titles(name, table, chosen, cell.titles),
                cell.selection,
            )

    def _titles(
        self, name: str, table: Table, learner: str, titles: Mapping[str, str]
    ) -> dict[str, str]:
        """Methods that a table names for a learner, by output."""
        begins = [text for text in table.outputs if _begins(learner, text)]
        if not begins:
            return dict(titles)
        wanted = table.outputs[max(begins, key=len)]
        key = ("tables", name, "outputs", max(begins, key=len))
        for output in wanted:
            known(self.sources, key, output, titles)
        return {output: title for output, title in titles.items() if output in wanted}

    def _check_outputs(self, name: str, table: Table, rows: tuple[Row, ...]) -> None:
        """Refuse outputs of learners that the table does not have in any file."""
        names = {row.learner for row in rows}
        names |= set(self.sources.names("tables", name, "learners"))
        for place in self.sources.names("tables", name, "data"):
            names |= set(self.sources.names("tables", name, "data", place, "learners"))
        changes = self.resolver.changes.get("tables", {}).get(name) or {}
        for text in table.outputs:
            # outputs of a shipped table go with a learner that the user leaves out
            shipped = changes and text not in (changes.get("outputs") or {})
            if not shipped and not any(_begins(learner, text) for learner in names):
                key = ("tables", name, "outputs", text)
                problem = f"'{text}' is not a learner of the table"
                hint = nearest(text, sorted(names))
                if "*" in text:
                    hint = "write LEARNER for all names that begin with it"
                raise self.sources.error(key, problem, hint)

    def _check_iterations(self, name: str, rows: tuple[Row, ...]) -> None:
        """Refuse learners without iterations in a table of these."""
        for row in rows:
            if not self.resolver.learner(row.data, row.learner).iterates:
                key = ("tables", name, "learners")
                problem = f"{row.learner} has no iterations, which this kind shows"
                raise self.sources.error(key, problem, "leave it out")


def _begins(name: str, text: str) -> bool:
    """Whether a name is a text, or this with more options."""
    return name == text or name.startswith(f"{text}+")


def _labelled(values: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Options as a table shows them."""
    words = []
    for key, value in values.items():
        text = f"{key}={spell_value(value)}"
        symbol = labels.get(key, key)
        words.append(
            labels.get(text, f"{symbol}={spell_value(value)}" if symbol else "")
        )
    return list(filter(None, words))


def check_labels(sources: Sources, whole: Whole, resolver: Resolver) -> None:
    """Refuse labels of options and data sets that are not there."""
    schemas: list[Schema] = [resolver.data_schema(name) for name in whole.data]
    schemas += [resolver.learner_schema(name) for name in whole.learners]
    options: dict[str, list[Nameable]] = {}
    for schema in schemas:
        for key, option in schema.items():
            options.setdefault(key, []).append(option)
    every = [*sources.names("data"), *sorted(options)]
    places: list[tuple[Key, Mapping[str, str]]] = [(("labels",), whole.labels)]
    places += [(("tables", n, "labels"), t.labels) for n, t in whole.tables.items()]
    for at, labels in places:
        for text in labels:
            if text.partition("=")[0] not in every:
                problem = f"no option or data set is called '{text}'"
                raise sources.error((*at, text), problem, nearest(text, every))
            key, equals, value = text.partition("=")
            if equals and not any(one.fits(value) for one in options.get(key, ())):
                problem = f"no name has '{text}'"
                hint = "write the value as names do, k=10 or r2=0.7"
                raise sources.error((*at, text), problem, hint)
