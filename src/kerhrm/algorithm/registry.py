"""Penalties of M_p by name.

Other packages add theirs by entry points in the group ``kerhrm.penalties``.  Nothing
is imported before it is looked up.
"""

import inspect
from typing import TYPE_CHECKING, Any

from kerhrm.entries import Lazy, check_takes
from kerhrm.errors import KerhrmError
from kerhrm.plugins import Registry

if TYPE_CHECKING:
    from kerhrm.algorithm.penalties import Penalty


def _check(name: str, kind: Any) -> None:
    """Refuse what is no penalty, or lacks a function."""
    from kerhrm.algorithm.penalties import Penalty  # imports PyTorch

    if not (isinstance(kind, type) and issubclass(kind, Penalty)):
        hint = "let its package's entry point load to one"
        raise KerhrmError("it is not a subclass of Penalty", hint)
    if inspect.isabstract(kind):
        missing = sorted(kind.__abstractmethods__)
        lacks = ", ".join(missing)
        raise KerhrmError(f"{kind.__name__} lacks {lacks}", "write it")
    check_takes(kind.unit, "unit", ["self", "psi"])
    check_takes(kind.minimise, "minimise", ["self", "risks", "alpha"])
    kind()  # without arguments, as M_p makes one


#: by name
PENALTIES: "Registry[type[Penalty]]" = Registry(
    "kerhrm.penalties",
    {
        "gradient_variance": Lazy("kerhrm.algorithm.penalties:GradientVariance"),
        "whitened_gradient_variance": Lazy(
            "kerhrm.algorithm.penalties:WhitenedGradientVariance"
        ),
        "scale_gradient_variance": Lazy(
            "kerhrm.algorithm.penalties:ScaleGradientVariance"
        ),
    },
    _check,
)
