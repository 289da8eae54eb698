"""Exceptions for everything that a user can correct: one line each."""


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
    text = " ".join(repr(value).split())
    if len(text) <= length:
        return text
    start = text[: length - 3]
    return f"{start}..."


class FileError(KerhrmError, OSError):
    """A file or folder that is missing, cannot be read, or cannot be written."""


class InputTypeError(KerhrmError, TypeError):
    """Something of a type that is no table, or no column."""


class DeviceError(KerhrmError, RuntimeError):
    """A device that this machine does not have."""
