"""Names of the columns of X: later rows have those of the fit, in its order."""

from collections.abc import Sequence
from typing import Any

from kerhrm.errors import InputTypeError, KerhrmError, shortened, shown
from kerhrm.tables.cells import CONTAINERS, text_of


def check_names(estimator: Any, names: Sequence[Any], *, reset: bool) -> Any:
    """Learn names that are not all text, or refuse others than those of the fit.

    scikit-learn compares names of text alone: years, and names of several levels, would
    be read by position.  2020, 2020.0 and "2020" are one name, as files have only text.
    An array has no names, and is read by position; so is a table whose columns are
    counted from 0, or were in the fit, unless both share a name.

    Returns
    -------
    sequence or None
        What scikit-learn shall read as names where they are those of the fit in another
        type, of which it would warn; None: the names as they are.

    Raises
    ------
    KerhrmError
        If names are not those of the fit, or in another order.
    """
    are_text = [isinstance(name, str) for name in names]
    if reset:
        estimator._other_names = [] if all(are_text) else _spelled(names)
        return None
    texts = getattr(estimator, "feature_names_in_", None)
    if any(are_text) and (texts is not None or not all(are_text)):
        return None  # scikit-learn compares them, or refuses
    if texts is None:
        known = getattr(estimator, "_other_names", [])
        shown_names = known
    else:
        known = _spelled(texts)
        shown_names = [shown(name) for name in texts]
    given = _spelled(names)
    if not given or not known:
        return None
    if given == known:
        if texts is not None:
            return texts
        return range(len(known)) if all(are_text) else None
    if (_counted(given) or _counted(known)) and set(given).isdisjoint(known):
        return None
    named = dict(zip(known, shown_names, strict=True))
    of_given = dict(zip(given, [shown(name) for name in names], strict=True))
    in_order = ", ".join(of_given.get(name, "") for name in known)
    hint = shortened(f"give X[[{in_order}]]", 300)
    problem, hint = _difference(named, of_given, hint)
    if len(given) == len(known):
        hint += ", or give X.to_numpy() if the order is right"
    raise KerhrmError(problem, hint)


def other_columns(
    estimator: Any, names: list[Any], error: Exception
) -> KerhrmError | None:
    """Error of columns by name, if scikit-learn's is one; its own lines follow, which
    its checks of estimators look for."""
    text = str(error)
    if "feature names" not in text.casefold():
        return None
    if isinstance(error, TypeError):
        kinds = {type(name).__name__: name for name in names}
        examples = " and ".join(shown(name, 30) for name in kinds.values())
        problem = f"names of columns must be all text or all numbers; got {examples}"
        return InputTypeError(problem, "rename them, X.columns = [...]")
    known = {name: shown(name) for name in estimator.feature_names_in_}
    given = {name: shown(name) for name in names}
    hint = "give X[list(model.feature_names_in_)]"
    problem, hint = _difference(known, given, hint)
    lines = text.rstrip()
    return KerhrmError(problem, f"{hint}\n{lines}\n")


def _difference(
    known: dict[Any, str], given: dict[Any, str], choose: str
) -> tuple[str, str]:
    """How columns that are given differ from those of the fit, and what to do about it:
    ``choose`` some of them, or to rename or add one; each by its name, with the text
    that shows it."""
    missing = [known[name] for name in known if name not in given]
    others = [given[name] for name in given if name not in known]
    if missing:
        problem = f"X has no column {_first(missing)} of the fit"
        if others:
            hint = f"it has {_first(others)}, which the fit had not"
            return problem, f"{hint}; rename the columns as in the fit"
        return problem, "add the column, or fit without it"
    if others:
        return f"X has column {_first(others)}, which was not in the fit", choose
    return "the columns of X are in another order than in the fit", choose


def _first(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    first = names[0]
    n_more = len(names) - 1
    return f"{first} and {n_more} more" if n_more else first


def _counted(names: list[str]) -> bool:
    """Whether names are those of columns that have none: their numbers, from 0."""
    return names == [str(j) for j in range(len(names))]


def _spelled(names: Sequence[Any]) -> list[str]:
    """Names as text, of equal numbers the same one."""
    return [_text(name) for name in names]


def _text(name: Any) -> str:
    if isinstance(name, tuple):
        levels = ", ".join(_spelled(name))
        return f"({levels})"
    if isinstance(name, (*CONTAINERS, complex)):
        return repr(name)
    return text_of(name)
