"""What ``methods`` may say: a section for every method of the registry."""

from itertools import product
from typing import Annotated, Any, Self, cast

from pydantic import ConfigDict, Field, create_model, model_validator
from typing_extensions import TypedDict

from kerhrm.entries import load
from kerhrm.methods.registry import METHODS
from kerhrm.sections import NonEmpty, Section


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
        pairs = [[(name, v) for v in values] for name, values in self.grid.items()]
        return [kind.model_validate(base | dict(chosen)) for chosen in product(*pairs)]

    @model_validator(mode="after")
    def _grid_fits(self) -> Self:
        self.candidates()
        return self


def baseline(options: type[Section], grid: Any) -> type[Baseline]:
    """Model of a method with a grid, which has values of its options alone.

    ``selected`` and ``oracle`` come from ``config/tuned/<experiment>.yaml``, which `tune` makes;
    defaults stand in where nothing is tuned.
    """
    lists = {
        name: Annotated[list[Annotated[f.annotation, *f.metadata, Field()]], NonEmpty]  # type: ignore[name-defined]
        for name, f in options.model_fields.items()
    }
    values = cast(Any, TypedDict)(f"{options.__name__}Grid", lists, total=False)
    values.__pydantic_config__ = ConfigDict(extra="forbid")
    return create_model(
        f"Tuned{options.__name__}",
        __base__=Baseline,
        __doc__=options.__doc__,
        grid=(values, {k: list(v) for k, v in grid.items()}),
        selected=(options, options()),
        oracle=(cast(Any, options) | None, None),
    )


def _sections() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for method in METHODS.values():
        if method.section not in found:
            options = load(method.options)
            model = baseline(options, method.grid) if method.grid else options
            found[method.section] = model, model()
    return found


#: a :class:`~kerhrm.sections.Section` with every method's options, by the name of its section
Methods: Any = create_model(
    "Methods", __base__=Section, __doc__="Every method's options.", **_sections()
)
