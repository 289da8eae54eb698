"""Exceptions for everything that a user can correct, one line each, with hints, and
warnings."""

import difflib
import sys
import traceback
import warnings
from collections.abc import Collection

#: packages whose lines no user has written: this one, and those that call it
INSIDE = frozenset({"kerhrm", "sklearn", "joblib", "torch"})
MANY = 12  #: names that a hint lists


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
    try:
        text = repr(value)
    except KeyboardInterrupt:  # of the user, or a job's stop
        raise
    except BaseException:  # of foreign code, as SystemExit
        text = f"a {type(value).__name__}"
    return shortened(text, length)


def shortened(text: str, length: int = 60) -> str:
    """Text on one line, and not longer than that."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    start = text[: length - 3]
    return f"{start}..."


def escaped(text: str) -> str:
    """Text with signs that are not seen written out, as \\u200b, so that it is on one
    line.

    Examples
    --------
    >>> print(escaped("two\\nlines"))
    two\\nlines
    """
    signs = []
    for sign in text:
        if sign.isprintable():
            signs.append(sign)
        else:
            signs.append(sign.encode("unicode_escape").decode())
    return "".join(signs)


def described(error: BaseException, length: int = 200) -> str:
    """Type and text of an error that foreign code raises, on one line.

    The type alone where there is no text, or ``__str__`` fails.  Signs that are not
    seen, as those that control a terminal, are written out.
    """
    name = type(error).__name__
    try:
        words = str(error).split()
    except KeyboardInterrupt:  # of the user, or a job's stop
        raise
    except BaseException:  # as SystemExit: what an error says ends nothing
        words = []
    text = " ".join([f"{name}:", *words]) if words else name
    return shortened(escaped(text), length)


def line_in(file: str, error: BaseException) -> str:
    """The line of a file that an error comes from, as ``line 3: `` in front of what it
    says; empty if nothing of the file was at work, as with an error of its syntax,
    which names the line itself."""
    frames = traceback.extract_tb(error.__traceback__)
    numbers = [frame.lineno for frame in frames if frame.filename == file]
    return f"line {numbers[-1]}: " if numbers else ""


def suggest(word: str, known: Collection[str]) -> str:
    """Hint for an unknown name: the nearest known one, or all if they are few."""
    close = similar(str(word), known)
    return f"did you mean '{close}'?" if close else known_are(known)


def known_are(names: Collection[str]) -> str:
    """Hint of the names that are known, or the first ones."""
    text = f"known are: {', '.join(list(names)[:MANY])}"
    n_more = len(names) - MANY
    return f"{text} and {n_more} more" if n_more > 0 else text


def similar(word: str, known: Collection[str]) -> str | None:
    """The known name that is nearest, whatever its case; None if none is near."""
    spelled = {name.casefold(): name for name in map(str, known)}
    close = difflib.get_close_matches(word.casefold(), spelled, n=1, cutoff=0.6)
    return spelled[close[0]] if close else None


class FileError(KerhrmError, OSError):
    """A file or folder that is missing, cannot be read, or cannot be written."""


class InputTypeError(KerhrmError, TypeError):
    """Something of a type that is no table, or no column."""


class ParameterError(KerhrmError, TypeError):
    """A parameter that an estimator does not have, a TypeError as Python's own."""


class DeviceError(KerhrmError, RuntimeError):
    """A device that this machine does not have."""


class SingularError(KerhrmError, ArithmeticError):
    """Equations that rounding makes singular.

    Parameters
    ----------
    equations : str
        Which ones.
    option : str
        Helps where it is larger.
    """

    def __init__(self, equations: str, option: str) -> None:
        self.option = option
        super().__init__(f"{equations} are singular", f"raise {option}")


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
