"""Which options can a name give a value, and how is the value spelled?

A value is spelled in one way: numbers as Python prints them, without ``+`` (``0.7``,
``1e-05``, ``1e16``), ``true`` and ``false``, ``none``, lists of numbers joined by
``_``, ``empty`` for a list without any, and an entry point ``module:name`` with a full
stop for its colon.  It is read by the option's type, never by YAML, where ``1e-05``
would be text.
"""

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import AfterValidator
from pydantic.fields import FieldInfo

from kerhrm.options import Options
from kerhrm.plugins import check_entry

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


class Misspelled(ValueError):
    """A value has another spelling than the canonical one.

    Attributes
    ----------
    word : str
        ``option=value`` in the canonical spelling.
    """

    def __init__(self, given: str, word: str) -> None:
        super().__init__(f"{given} is written {word}")
        self.word = word


@dataclass(frozen=True)
class Nameable:
    """An option that a name may give a value.

    Attributes
    ----------
    key : str
        As ``k``, or ``pretest.level`` of nested options.
    annotation : object
        Type of its values.
    default : object
    meaning : str
        Its description.
    group : bool
        Nested options, of which a name can only say that there are none.
    """

    key: str
    annotation: Any
    default: Any
    meaning: str
    group: bool = False

    def read(self, text: str) -> Any:
        """The value that a text stands for.

        Raises ValueError if it stands for none, and Misspelled if it has another
        spelling.
        """
        value = _read(self, text)
        try:
            spelled = spell_value(value)
        except ValueError as error:
            raise ValueError(f"{self.key}={text}: {error}") from error
        if spelled != text:
            raise Misspelled(f"{self.key}={text}", f"{self.key}={spelled}")
        return value

    def fits(self, text: str) -> bool:
        """Whether a name can give it this value."""
        try:
            self.read(text)
        except ValueError:
            return False
        return True

    @property
    def values(self) -> str:
        """What values it takes, in words."""
        if self.group:
            return NONE
        kinds = map(_worded, _kinds(self.annotation))
        distinct = dict.fromkeys(kinds)
        return " or ".join(distinct)


Schema = Mapping[str, Nameable]  #: by key, in declared order


# --- which options can be named ------------------------------------------------------


def nameable(options: type[Options], prefix: str = "") -> dict[str, Nameable]:
    """Options of a class that a name can give, nested ones behind a full stop."""
    schema: dict[str, Nameable] = {}
    for name, field in options.model_fields.items():
        key = f"{prefix}{name}"
        nested = _nested(field.annotation)
        if nested is not None:
            if type(None) in _kinds(field.annotation):
                schema[key] = _declared(key, field, group=True)
            schema |= nameable(nested, f"{key}.")
        elif _has_spellings(field):
            schema[key] = _declared(key, field)
    return schema


def _has_spellings(field: FieldInfo) -> bool:
    """Whether all values of an option can be spelled."""
    kinds = _kinds(_whole(field))
    return all(map(_is_spelled, kinds))


def _declared(key: str, field: FieldInfo, group: bool = False) -> Nameable:
    return Nameable(
        key=key,
        annotation=_whole(field),
        default=field.get_default(call_default_factory=True),
        meaning=field.description or "",
        group=group,
    )


def _whole(field: FieldInfo) -> Any:
    """Annotation with its metadata, which pydantic keeps apart."""
    if not field.metadata:
        return field.annotation
    items = (field.annotation, *field.metadata)
    return typing.Annotated[items]


def _kinds(annotation: Any) -> Iterator[Any]:
    """Types that an annotation is a union of; an entry point is ``check_entry``."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        if any(map(_is_entry, metadata)):
            yield check_entry
        else:
            yield from _kinds(inner)
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from _kinds(part)
    else:
        yield annotation


def _is_entry(metadata: Any) -> bool:
    """Whether an annotation's metadata says that values are entry points."""
    is_validator = isinstance(metadata, AfterValidator)
    return is_validator and metadata.func is check_entry


def _nested(annotation: Any) -> type[Options] | None:
    """The class of nested options, if it is one."""
    for kind in _kinds(annotation):
        is_class = isinstance(kind, type)
        if is_class and issubclass(kind, Options):
            return kind
    return None


def _items(kind: Any) -> list[Any] | None:
    """Types of the items of a list or a tuple; None: it is neither."""
    origin = typing.get_origin(kind)
    if origin not in (list, tuple):
        return None
    items: list[Any] = []
    for part in typing.get_args(kind):
        items += _kinds(part)
    return items


def _is_spelled(kind: Any) -> bool:
    """Whether values of a type can be spelled; lists of words cannot."""
    items = _items(kind)
    if items is not None:
        return all(item in (int, float, Ellipsis) for item in items)
    if _is_literal(kind):
        return True
    return kind in _SCALARS


def _worded(kind: Any) -> str:
    """A type as a reader knows it."""
    items = _items(kind)
    if items is not None:
        are_whole = set(items) == {int}
        whole = "whole " if are_whole else ""
        return f"{whole}numbers, joined by _"
    if _is_literal(kind):
        choices = map(str, typing.get_args(kind))
        return ", ".join(choices)
    return _SCALARS[kind]


# --- values to text ------------------------------------------------------------------


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
    text = repr(value).replace("e+", "e")
    if not _NUMBER.fullmatch(text):
        raise ValueError("it must be a finite number")
    return text


# --- text to values ------------------------------------------------------------------


def _read(option: Nameable, text: str) -> Any:
    if option.group:
        return _read_group(option, text)
    kinds = list(_kinds(option.annotation))
    for fits, read in _READERS:
        for kind in filter(fits, kinds):
            try:
                return read(kind, text)
            except (ValueError, KeyError):
                continue  # another type of the union may take it
    raise ValueError(f"{option.key}={text}: it must be {option.values}")


def _read_group(option: Nameable, text: str) -> None:
    if text != NONE:
        key = option.key
        raise ValueError(f"{key} is a group; write {key}={NONE}, or one of it")


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
    return kind(text)


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
