"""How is a value of an option spelled in a name, and which types have spellings?

A value is spelled in one way: numbers as Python prints them, without ``+`` (``0.7``,
``1e-05``, ``1e16``), ``true`` and ``false``, ``none``, lists of numbers joined by
``_``, ``empty`` for a list without any, and an entry point ``module:name`` with a full
stop for its colon.  It is read by the option's type, never by YAML, where ``1e-05``
would be text.
"""

import re
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from pydantic import AfterValidator

from kerhrm.entries import check_entry

Fits = Callable[[Any], bool]  #: whether a reader is for a type
Reader = Callable[[Any, str], Any]  #: value of a type, given its text
NONE = "none"  #: spelling of None
EMPTY = "empty"  #: spelling of a list without items
_TRUTH = {"true": True, "false": False}
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
#: numbers as they are spelled, and others that Python reads
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_OTHER_NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?")
UNSPELLED = "it has no spelling in a name"
#: types of single values, as a reader knows them
_SCALARS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a name",
    type(None): NONE,
    check_entry: "module.name",
}


def kinds_of(annotation: Any) -> Iterator[Any]:
    """Types that an annotation is a union of; an entry point is ``check_entry``."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        if any(map(_is_entry, metadata)):
            yield check_entry
        else:
            yield from kinds_of(inner)
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from kinds_of(part)
    else:
        yield annotation


def _is_entry(metadata: Any) -> bool:
    """Whether an annotation's metadata says that values are entry points."""
    is_validator = isinstance(metadata, AfterValidator)
    return is_validator and metadata.func is check_entry


def _items(kind: Any) -> list[Any] | None:
    """Types of the items of a list or a tuple; None: it is neither."""
    origin = typing.get_origin(kind)
    if origin not in (list, tuple):
        return None
    items: list[Any] = []
    for part in typing.get_args(kind):
        items += kinds_of(part)
    return items


def is_spelled(kind: Any) -> bool:
    """Whether values of a type can be spelled; lists of words cannot."""
    items = _items(kind)
    if items is not None:
        return all(item in (int, float, Ellipsis) for item in items)
    if _is_literal(kind):
        return True
    return kind in _SCALARS


def kind_in_words(annotation: Any) -> str:
    """What values a type takes."""
    kinds = map(_worded, kinds_of(annotation))
    distinct = dict.fromkeys(kinds)
    return " or ".join(distinct)


def _worded(kind: Any) -> str:
    """A type as a reader knows it."""
    items = _items(kind)
    if items is not None:
        are_whole = set(items) == {int}
        whole = "whole " if are_whole else ""
        return f"{whole}numbers, joined by _"
    if _is_literal(kind):
        choices = [str(choice) for choice in typing.get_args(kind)]
        several = "one of " if len(choices) > 1 else ""
        return several + ", ".join(choices)
    return _SCALARS[kind]


def spell_value(value: Any) -> str:
    """Spell a value of an option.

    Raises ValueError if it has no spelling, as a list of words.

    Examples
    --------
    >>> spell_value([10, 15]), spell_value(1e16), spell_value(None), spell_value(True)
    ('10_15', '1e16', 'none', 'true')
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, list | tuple):
        return _list(value)
    text = str(value).replace(":", ".")
    if not _WORD.fullmatch(text):
        raise ValueError(UNSPELLED)
    return text


def _list(items: Sequence[Any]) -> str:
    for item in items:
        is_number = isinstance(item, int | float)
        if isinstance(item, bool) or not is_number:
            raise ValueError(UNSPELLED)
    numbers = map(_number, items)
    return "_".join(numbers) or EMPTY


def _number(value: int | float) -> str:
    value = value + 0  # -0.0 is 0.0
    text = repr(value).replace("e+", "e")
    if not _NUMBER.fullmatch(text):
        raise ValueError("it must be a finite number")
    return text


def read_value(annotation: Any, text: str) -> Any:
    """The value of a type that a text stands for, in whatever spelling.

    Raises ValueError if it stands for none.
    """
    kinds = list(kinds_of(annotation))
    for fits, read in _READERS:
        for kind in filter(fits, kinds):
            try:
                return read(kind, text)
            except (ValueError, KeyError):
                continue  # another type of the union may take it
    raise ValueError(f"it must be {kind_in_words(annotation)}")


def _read_none(_: Any, text: str) -> None:
    if text != NONE:
        raise ValueError


def _read_choice(kind: Any, text: str) -> Any:
    for value in typing.get_args(kind):
        if spell_value(value) == text:
            return value
    raise ValueError


def _read_truth(_: Any, text: str) -> bool:
    return _TRUTH[text]


def _read_number(kind: Any, text: str) -> Any:
    if not _OTHER_NUMBER.fullmatch(text):
        raise ValueError
    return kind(text) + 0  # -0.0 is 0.0, which has one spelling


def _read_list(kind: Any, text: str) -> list[Any]:
    if text == EMPTY:
        return []
    items = set(_items(kind) or [])
    is_whole = items - {Ellipsis} == {int}
    number = int if is_whole else float
    words = text.split("_")
    return [_read_number(number, word) for word in words]


def _read_entry(_: Any, text: str) -> str:
    module, _, name = text.rpartition(".")
    if not module:
        raise ValueError
    return f"{module}:{name}"


def _read_word(_: Any, text: str) -> str:
    return text


def _is_literal(kind: Any) -> bool:
    return typing.get_origin(kind) is Literal


def _is_list(kind: Any) -> bool:
    return _items(kind) is not None


def _is(*types: Any) -> Fits:
    return lambda kind: kind in types


#: which types a reader is for; of a union, the first reader that can read wins
_READERS: tuple[tuple[Fits, Reader], ...] = (
    (_is(type(None)), _read_none),
    (_is_literal, _read_choice),
    (_is(bool), _read_truth),
    (_is(int, float), _read_number),
    (_is_list, _read_list),
    (_is(check_entry), _read_entry),
    (_is(str), _read_word),
)
