"""What ``methods`` may say: a section for every method of the registry."""

import math
from collections.abc import Mapping, Sequence
from itertools import count, product
from typing import Annotated, Any, Self, cast

from pydantic import BeforeValidator, ConfigDict, Field, create_model, model_validator
from typing_extensions import TypedDict

from kerhrm.entries import load
from kerhrm.methods.registry import METHODS
from kerhrm.randomness import stream
from kerhrm.sections import Section, Some, only

STEPS = "steps"  #: all values of it are combined with every draw of the other options


class Tuned(Section):
    """A method that everybody chooses an option set for: one of a given number.

    ``grid`` has the values on trial; the rest is as ``selected``, what the method's own rule has
    chosen.  ``rules``: what other rules have chosen, by their names.
    """

    grid: dict[str, list[Any]] = {}
    selected: Section = Section()
    rules: dict[str, Section] = {}

    def candidates(self, budget: int) -> list[Section]:
        """Option sets on trial: all combinations of the grid, or ``budget`` of them.

        Where there are more, values are drawn, each as often as any other, up to one; no set comes
        twice.  The draw depends on the grid alone.
        """
        kind, base = type(self.selected), self.selected.model_dump()
        return [kind(**base | chosen) for chosen in _draw(self.grid, budget)]

    @model_validator(mode="after")
    def _grid_fits(self) -> Self:
        kind, base = type(self.selected), self.selected.model_dump()
        for name, values in self.grid.items():
            for value in values:
                kind(**base | {name: value})
        return self


def _draw(grid: Mapping[str, Sequence[Any]], budget: int) -> list[dict[str, Any]]:
    """Combinations of a grid's values, at most ``budget`` (see :meth:`Tuned.candidates`)."""
    names = sorted(grid, key=lambda name: name == STEPS)  # innermost
    if math.prod(len(grid[name]) for name in names) <= budget:
        every = product(*(grid[name] for name in names))
        return [dict(zip(names, chosen, strict=True)) for chosen in every]
    steps = [{STEPS: value} for value in grid.get(STEPS, [])] or [{}]
    others = [name for name in names if name != STEPS]
    draws = max(1, budget // len(steps))
    for attempt in count():
        columns = [_spread(grid[name], draws, attempt, name) for name in others]
        sets = [dict(zip(others, chosen, strict=True)) for chosen in zip(*columns, strict=True)]
        if all(one not in sets[:i] for i, one in enumerate(sets)):
            return [one | step for one in sets for step in steps]
    raise AssertionError  # count() has no end


def _spread(values: Sequence[Any], draws: int, attempt: int, name: str) -> list[Any]:
    """Every value as often as any other, or once more, in an order by chance."""
    rng = stream(attempt, "grid", name)
    places = [i for _ in range(-(-draws // len(values))) for i in rng.permutation(len(values))]
    return [values[i] for i in rng.permutation(places[:draws])]


def tuned(options: type[Section], grid: Any) -> type[Tuned]:
    """Model of a method whose options have values on trial; a file's lie over those of ``grid``."""
    fields = options.model_fields
    lists = {n: Some[Annotated[f.annotation, *f.metadata, Field()]] for n, f in fields.items()}  # type: ignore
    values = cast(Any, TypedDict)(f"{options.__name__}Grid", lists, total=False)
    values.__pydantic_config__ = ConfigDict(extra="forbid")

    def whole(said: Any) -> Any:
        return grid | only(fields, said) if isinstance(said, dict) else said

    return create_model(
        f"Tuned{options.__name__}",
        __base__=Tuned,
        __doc__=options.__doc__,
        grid=(Annotated[values, BeforeValidator(whole)], Field(dict(grid), validate_default=True)),
        selected=(options, options()),
        rules=(cast(Any, dict)[str, options], {}),
    )


_KINDS = {
    m.name: tuned(load(m.choice or m.options), m.grid) if m.grid else load(m.options)
    for m in METHODS.values()
    if m.section == m.name
}
_FIELDS: Any = {name: (kind, kind()) for name, kind in _KINDS.items()}
#: a :class:`~kerhrm.sections.Section` with every method's options, by the name of its section
Methods: Any = create_model(
    "Methods", __base__=Section, __doc__="Every method's options.", **_FIELDS
)
