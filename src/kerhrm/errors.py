"""Exceptions for everything that a user can correct, one line each, and warnings."""

import sys
import warnings

#: packages whose lines no user has written: this one, and those that call it
INSIDE = frozenset({"kerhrm", "sklearn", "joblib", "torch"})


class KerhrmError(ValueError):
    """Bad input, in one line: what is wrong, where, and a hint.

    Parameters
    ----------
    problem : str
        What is wrong and where, for example ``"k=50 exceeds n=40 training points"``.
    hint : str, optional
        What the user can do about it.

    Examples
    --------
    >>> print(KerhrmError("k=50 exceeds n=40 training points", "lower k"))
    k=50 exceeds n=40 training points; lower k
    """

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem = problem
        self.hint = hint
        line = f"{problem}; {hint}" if hint else problem
        super().__init__(line)


def shown(value: object, length: int = 60) -> str:
    """Value as it stands in an error: its repr, on one line and not longer than that.

    Examples
    --------
    >>> shown("a" * 100, length=10)
    "'aaaaaa..."
    """
    if getattr(value, "shape", None) == ():  # of NumPy: 1.0, not np.float64(1.0)
        value = value.item()  # type: ignore[attr-defined]
    return shortened(repr(value), length)


def shortened(text: str, length: int = 60) -> str:
    """Text on one line, and not longer than that."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    start = text[: length - 3]
    return f"{start}..."


class FileError(KerhrmError, OSError):
    """A file or folder that is missing, cannot be read, or cannot be written."""


class InputTypeError(KerhrmError, TypeError):
    """Something of a type that is no table, or no column."""


class ParameterError(KerhrmError, TypeError):
    """A parameter that an estimator does not have, a TypeError as Python's own."""


class DeviceError(KerhrmError, RuntimeError):
    """A device that this machine does not have."""


class KerhrmWarning(UserWarning):
    """Base of the estimators' warnings."""


class DataWarning(KerhrmWarning):
    """The table can be used, but something in it is unusual."""


class HeterogeneityNotDetectedWarning(KerhrmWarning):
    """No environments were detected, or none that are more than the label."""


class PriceWarning(KerhrmWarning):
    """KerHRM predicts two labels, and has more of them wrong than ERM on rows like
    these: right if environments are hidden in them, which no test can tell."""


def warn(text: str, category: type[Warning]) -> None:
    """Warn from the user's line: the nearest one that is in no package of
    :data:`INSIDE`."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    """Package of a module, by its global names."""
    return str(names.get("__name__", "")).partition(".")[0]
