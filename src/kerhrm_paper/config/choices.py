"""Alternatives of ``choices.yaml``: pairs of cells whose difference is an effect."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kerhrm_paper.config.resolve import Resolved
from kerhrm_paper.config.schema import Table
from kerhrm_paper.config.schemas import WORDS
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.tables import Tables


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
    tables: dict[str, tuple[str, Table]] = {}
    for name, table in resolved.whole.tables.items():
        if not table.choices or name not in resolved.tables:
            continue
        base = base_of(next(iter(table.data)))
        if base in tables:
            problem = f"{tables[base][0]} has the alternatives on {base} already"
            hint = "let one of the tables have no choices"
            raise resolved.sources.error(("tables", name, "choices"), problem, hint)
        tables[base] = name, table
    measured = [
        contrast
        for name, table in tables.values()
        for contrast in _contrasts(resolved, name, table)
    ]
    order = [*resolved.whole.choices]
    return sorted(measured, key=lambda contrast: order.index(contrast.choice))


def _contrasts(resolved: Resolved, name: str, table: Table) -> Iterator[Contrast]:
    """Contrasts that a table measures."""
    place, one = next(iter(table.data.items()))
    learners = [*(one.learners if one.learners is not None else table.learners)]
    tables = Tables(resolved.sources, resolved.whole, resolved.resolver)
    base = base_of(place)
    for key, alternative in tables.alternatives(base):
        changes: dict[str, Any] = {}
        if alternative.data is not None:
            changes["changed_data"] = tables.changed_data(key, alternative.data, place)
        if alternative.learner is not None:
            changed = tables.changed_learner(key, alternative.learner, learners)
            changes["changed_learner"] = changed
            own = base_of(alternative.learner)
            changes["learner"] = next((n for n in learners if base_of(n) == own), own)
        if alternative.select is not None:
            changes["selection"] = WORDS[alternative.select]
        yield Contrast(
            str(key[1]),
            alternative.name,
            name,
            base,
            place,
            tuple(learners),
            only=alternative.only,
            title=alternative.title,
            instead=alternative.instead,
            **changes,
        )
