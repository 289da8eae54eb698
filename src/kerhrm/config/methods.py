"""What ``methods`` may say: a section for every method of the registry."""

from itertools import product
from typing import Annotated, Any, Self, cast

from pydantic import BeforeValidator, ConfigDict, Field, create_model, model_validator
from typing_extensions import TypedDict

from kerhrm.entries import load
from kerhrm.methods.registry import METHODS
from kerhrm.sections import Section, Some, only


class Baseline(Section):
    """A method whose hyper-parameters `tune` searches.

    ``grid`` has the values on trial, in all combinations; the rest is as ``selected``, the options
    that its own rule has chosen.  ``oracle``: chosen on test data, a bound in rows of its own.
    """

    grid: dict[str, list[Any]] = {}
    selected: Section = Section()
    oracle: Section | None = None

    def candidates(self) -> list[Section]:
        """All combinations of the grid; what it leaves out is as selected."""
        kind, base = type(self.selected), self.selected.model_dump()
        pairs = [[(name, value) for value in values] for name, values in self.grid.items()]
        return [kind(**base | dict(chosen)) for chosen in product(*pairs)]

    @model_validator(mode="after")
    def _grid_fits(self) -> Self:
        self.candidates()
        return self


def baseline(options: type[Section], grid: Any) -> type[Baseline]:
    """Model of a method whose options have values on trial; a file's lie over those of ``grid``."""
    fields = options.model_fields
    lists = {n: Some[Annotated[f.annotation, *f.metadata, Field()]] for n, f in fields.items()}  # type: ignore
    values = cast(Any, TypedDict)(f"{options.__name__}Grid", lists, total=False)
    values.__pydantic_config__ = ConfigDict(extra="forbid")

    def whole(said: Any) -> Any:
        return grid | only(fields, said) if isinstance(said, dict) else said

    return create_model(
        f"Tuned{options.__name__}",
        __base__=Baseline,
        __doc__=options.__doc__,
        grid=(Annotated[values, BeforeValidator(whole)], Field(dict(grid), validate_default=True)),
        selected=(options, options()),
        oracle=(cast(Any, options) | None, None),
    )


_KINDS = {
    m.name: baseline(load(m.options), m.grid) if m.grid else load(m.options)
    for m in METHODS.values()
    if m.section == m.name
}
_FIELDS: Any = {name: (kind, kind()) for name, kind in _KINDS.items()}
#: a :class:`~kerhrm.sections.Section` with every method's options, by the name of its section
Methods: Any = create_model(
    "Methods", __base__=Section, __doc__="Every method's options.", **_FIELDS
)
