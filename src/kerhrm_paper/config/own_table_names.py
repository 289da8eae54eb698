"""How the names of columns and groups are written behind ``--config``.

There a list begins with a bracket and a text with a quote, so a name that has them
itself stands in quotes.
"""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.strict_yaml import LISTS, read_overrides

MARKS = "['\""  #: signs that a value begins with which is not read as it looks


def written(key: str, names: Sequence[str]) -> str:
    """``KEY=VALUE`` that gives a key these names, quoted for a shell."""
    value = f"[{','.join(map(_in_list, names))}]"
    if len(names) == 1:
        (name,) = names
        value = name if _read(key, name) == name else _quoted(name)
    return f"{key}={shlex.quote(value)}"


def write_otherwise(
    key: str, given: Sequence[str], name: str, known: Sequence[str]
) -> str | None:
    """Hint for a name that is not known, as it is not read as it was meant.

    Of the names ``given`` for a key it may be what is read of a known one in brackets
    or quotes, or several names in one word; None if it is neither.
    """
    marked = [other for other in known if other.startswith(tuple(MARKS))]
    readings = {other: _read(key, other) for other in marked}
    for other, read in readings.items():
        if read == list(given):
            return f"write {written(key, [other])}"
    for other, read in readings.items():
        if read in (name, [name]):
            names = [other if word == name else word for word in given]
            return f"write {written(key, names)}"
    words = [part.strip() for part in name.split(",")]
    several = len(words) > 1 and all(word in known for word in words)
    if key in LISTS and several:
        return f"write {written(key, words)}"
    return None


def _in_list(name: str) -> str:
    """A name as it stands in a list."""
    return name if _read("drop", f"[{name}]") == [name] else _quoted(name)


def _quoted(name: str) -> str:
    """A name in quotes, as YAML has them, too."""
    return json.dumps(name, ensure_ascii=False)


def _read(key: str, text: str) -> Any:
    """What is read of a text behind ``key=``; None if it is refused."""
    try:
        return read_overrides([f"{key}={text}"])[key]
    except KerhrmError:
        return None
