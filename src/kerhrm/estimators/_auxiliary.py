"""Parameters of an estimator as options of a fit with auxiliary columns.

Environments of cells have their own clustering and selection rule.  What these do not
have is refused, and not ignored.
"""

from typing import Any

from kerhrm.algorithm.options import (
    AuxiliaryOptions,
    ClusteringOptions,
    HeterogeneityOptions,
)
from kerhrm.errors import KerhrmError, shown
from kerhrm.estimators._parameters import WITH_DEFAULTS, FitOptions

#: options of the iterations, of which there is one, and of their penalty
OF_ITERATIONS = (
    *ClusteringOptions.model_fields,
    "penalty",
    "weights",
    "total",
    "final",
)
#: options of the pre-test that the test of a column has, too
OF_BOTH_TESTS = ("level", "n_permutations")


def refuse_unused(options: FitOptions) -> None:
    """Refuse what a fit with auxiliary columns would ignore.

    Parameters
    ----------
    options : FitOptions
        Of the fit.

    Raises
    ------
    KerhrmError
        If a parameter or an option is not the default and would be ignored, but for
        ``n_iterations``, an upper bound: there is one iteration.
    """
    unused = [*OF_ITERATIONS]
    if options.margin != 1:  # which asks for ERM, whatever is compared
        unused.append("margin")
    if options.predictor == "linear":  # only of a network's steps there is a choice
        unused.append("stop_by")
    for name in unused:
        value = getattr(options, name)
        if value != FitOptions.model_fields[name].default:
            raise _together(f"options[{name!r}]={shown(value)}")
    auxiliary_options(options)  # refuses others


def auxiliary_options(options: FitOptions) -> AuxiliaryOptions:
    """Options of the test of auxiliary columns, and of learning by their cells.

    Parameters
    ----------
    options : FitOptions
        Of the fit, as :func:`refuse_unused` lets them pass.

    Raises
    ------
    KerhrmError
        If one has another range here, or the test of a column does not have it.
    """
    values: dict[str, Any] = {
        "n_environments": options.n_environments,
        "ridge": options.ridge,
    }
    for name in WITH_DEFAULTS:
        if name in options.model_fields_set:
            values[name] = getattr(options, name)
    values |= _of_test(options.pretest)
    return AuxiliaryOptions.parse(values)


def refuse_auxiliary(auxiliary: Any) -> None:
    """Refuse auxiliary columns where the fit had none."""
    if auxiliary is not None:
        problem = "the fit had no auxiliary columns, and these rows have some"
        raise KerhrmError(problem, "leave auxiliary out")


def require_auxiliary(auxiliary: Any) -> None:
    """Refuse rows without auxiliary columns where the fit had some."""
    if auxiliary is None:
        problem = "the fit had auxiliary columns, and these rows have none"
        raise KerhrmError(problem, "give auxiliary=... as well")


def _of_test(pretest: HeterogeneityOptions | None) -> dict[str, Any]:
    """Options of the test of auxiliary columns, by those of the pre-test."""
    if pretest is None:
        return {"n_permutations": None}
    values = {}
    for name in sorted(pretest.model_fields_set):
        value = getattr(pretest, name)
        if name in OF_BOTH_TESTS:
            values[name] = value
        elif value != HeterogeneityOptions.model_fields[name].default:
            raise _together(f"pretest[{name!r}]={shown(value)}")
    return values


def _together(given: str) -> KerhrmError:
    problem = f"auxiliary and {given} cannot be given together"
    return KerhrmError(problem, "leave one out")
