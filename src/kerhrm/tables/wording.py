"""Names and cells as the eye sees them, and as messages show them."""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerhrm.errors import KerhrmError, escaped, shown

#: signs without width that change nothing else, and joiners next to no letter that they
#: shape
_UNSEEN = re.compile(
    r"[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\ufeff]"
    r"|(?<![^\x00-\u024f])[\u200c\u200d](?![^\x00-\u024f])"
)
DIGITS = 3  #: of a number
QUOTED = 3  #: words of a list
NONE = "\N{EN DASH}"  #: for a number that is not known
#: numbers from and below which are written in full
IN_FULL = 1e-3, 1e7
_BLANK = re.compile(r"[^\S\r\n\t ]")  #: of other widths


def visible(text: str) -> str:
    """Text as the eye sees it, so that words that look alike are one.

    Letters are composed (NFC), blanks are of one kind and not at the ends, and signs
    without width are left out, but for those that join the letters of other scripts.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = _UNSEEN.sub("", text)
        text = _BLANK.sub(" ", text)
    return text.strip()


def names_of(labels: Iterable[Any], what: str) -> list[str]:
    """Names of distinct labels, ``what`` in the plural.

    Raises KerhrmError if two look the same, as 1 and "1", or a word with a blank.
    """
    names = []
    seen: dict[str, Any] = {}
    for label in labels:
        text = str(label)
        name = visible(text) or "''"
        if name in seen:
            raise _same_name(what, seen[name], label, name)
        seen[name] = label
        names.append(text or "''")
    return names


def _same_name(what: str, first: Any, second: Any, name: str) -> KerhrmError:
    """Two labels that look alike; of text, the eye misses a blank or a sign."""
    hint = f"rename one, or give pd.Series({what}).astype(str) if they are one"
    if isinstance(first, str) and isinstance(second, str):
        alike = ".str.strip()"
        if unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second):
            alike = '.str.normalize("NFC")'
        hint = f"give pd.Series({what}){alike} if they are one, or rename one"
    first_text = escaped(shown(first))
    second_text = escaped(shown(second))
    problem = f"{what}: {first_text} and {second_text} have the same name, {name}"
    return KerhrmError(problem, hint)


def listed(words: Sequence[str]) -> str:
    """Quote the first words of some."""
    shown = [repr(word[:40]) for word in words[:QUOTED]]
    if len(words) > QUOTED:
        shown.append("...")
    return ", ".join(shown)


def counted(number: int, what: str = "row") -> str:
    """Say how many there are of something."""
    if number == 1:
        return f"{number} {what}"
    return f"{number} {what}s"


def number(value: float, digits: int = DIGITS) -> str:
    """Some digits of a number, in full unless it is very small or large; a dash for
    NaN."""
    if np.isnan(value):
        return NONE
    least, most = IN_FULL
    if not least <= abs(value) < most:
        return f"{value:.{digits}g}"
    return np.format_float_positional(
        value, precision=digits, unique=False, fractional=False, trim="-"
    )


def flag(option: str, name: Any) -> str:
    """An option of ``kerhrm check`` with a column's name, quoted for a shell."""
    quoted = shlex.quote(str(name))
    if quoted.startswith("-"):
        return f"{option}={quoted}"
    return f"{option} {quoted}"
