"""Which two cells differ by a choice that the paper leaves open?"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kerhrm_paper.config.alternatives import Alternatives
from kerhrm_paper.config.criteria import WORDS
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.resolve import Resolved
from kerhrm_paper.config.schema import Alternative, Table
from kerhrm_paper.config.spelling import base_of


@dataclass(frozen=True)
class Contrast:
    """An alternative on a data set: which rows of a table it changes, into which.

    Attributes
    ----------
    choice, alternative : str
        Key of the choice, and name of the alternative.
    table, base : str
        The table that measures it, and its data set.
    data : str
        The table's own data.
    learners : tuple of str
        The table's own learners.
    changed_data, changed_learner : str, optional
        Data, or learner, that take the place of the table's own.
    learner : str, optional
        The table's own learner whose place the changed one takes.
    only, title, instead : str, optional
        Row that changes alone; row that another one takes the place of.
    selection : str, optional
        Criterion, in words, that takes the place of the row's own.
    """

    choice: str
    alternative: str
    table: str
    base: str
    data: str
    learners: tuple[str, ...]
    changed_data: str | None = None
    changed_learner: str | None = None
    learner: str | None = None
    only: str | None = None
    title: str | None = None
    instead: str | None = None
    selection: str | None = None

    def params(self) -> dict[str, Any]:
        """All of it as plain values, for a job."""
        return asdict(self)


def contrasts(resolved: Resolved) -> list[Contrast]:
    """What the tables of the configuration measure, in the order of the choices.

    Raises KerhrmError if two tables do for one data set.
    """
    alternatives = Alternatives(resolved.resolver)
    measured: list[Contrast] = []
    for name in _measuring(resolved).values():
        table = resolved.whole.tables[name]
        measured += _contrasts(alternatives, name, table)
    order = [*resolved.whole.choices]

    def number(contrast: Contrast) -> int:
        return order.index(contrast.choice)

    return sorted(measured, key=number)


def _measuring(resolved: Resolved) -> dict[str, str]:
    """Tables that measure alternatives, by data set."""
    names: dict[str, str] = {}
    for name, table in resolved.whole.tables.items():
        is_resolved = name in resolved.tables
        if not table.choices or not is_resolved:
            continue
        base = base_of(_first_data(table))
        other = names.setdefault(base, name)
        if other != name:
            raise resolved.sources.error(
                ("tables", name, "choices"),
                f"{other} has the alternatives on {base} already",
                "let one of the tables have no choices",
            )
    return names


def _contrasts(
    alternatives: Alternatives, name: str, table: Table
) -> Iterator[Contrast]:
    """Contrasts that a table measures."""
    data = _first_data(table)
    base = base_of(data)
    learners = table.data[data].learners
    if learners is None:
        learners = table.learners
    for key, alternative in alternatives.measured_on(base):
        choice = key[1]
        changes = _changes(alternatives, key, alternative, data, learners)
        yield Contrast(
            choice=str(choice),
            alternative=alternative.name,
            table=name,
            base=base,
            data=data,
            learners=tuple(learners),
            only=alternative.only,
            title=alternative.title,
            instead=alternative.instead,
            **changes,
        )


def _changes(
    alternatives: Alternatives,
    key: Key,
    alternative: Alternative,
    data: str,
    learners: list[str],
) -> dict[str, Any]:
    """Data, learner or criterion that take the place of a table's."""
    changes: dict[str, Any] = {}
    if alternative.data is not None:
        changed_data = alternatives.changed_data(key, alternative.data, data)
        changes["changed_data"] = changed_data
    if alternative.learner is not None:
        changed = alternatives.changed_learner(key, alternative.learner, learners)
        changes["changed_learner"] = changed
        default = _of_base(base_of(changed), learners)
        changes["learner"] = default
    if alternative.select is not None:
        changes["selection"] = WORDS[alternative.select]
    return changes


def _of_base(base: str, learners: list[str]) -> str:
    """The learner of a table with a base; the base, if it has none."""
    for learner in learners:
        if base_of(learner) == base:
            return learner
    return base


def _first_data(table: Table) -> str:
    """The data on which a table measures alternatives."""
    return next(iter(table.data))
