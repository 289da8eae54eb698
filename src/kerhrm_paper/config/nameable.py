"""Options that a name can give a value, and how the value is spelled.

A value is spelled in one way: numbers as Python prints them, without ``+`` (``0.7``,
``1e-05``, ``1e16``), ``true`` and ``false``, ``none``, lists of numbers joined by
``_``, ``empty`` for a list without any, and an entry point ``module:name`` with a full
stop for its colon.  It is read by the option's type, never by YAML, where ``1e-05``
would be text.
"""

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import AfterValidator
from pydantic.fields import FieldInfo

from kerhrm.options import Options
from kerhrm.plugins import check_entry

NONE = "none"  #: spelling of None
EMPTY = "empty"  #: spelling of a list without items
_TRUTH = {"true": True, "false": False}
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
#: numbers as they are spelled, and others that Python reads
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_OTHER_NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?")
UNSPELLED = "it has no spelling in a name"


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
        kinds = [_worded(kind) for kind in _kinds(self.annotation)]
        return " or ".join(dict.fromkeys(kinds))


Schema = Mapping[str, Nameable]  #: by key, in declared order


# --- which options can be named ------------------------------------------------------


def nameable(options: type[Options], prefix: str = "") -> dict[str, Nameable]:
    """Options of a class that a name can give, nested ones behind a full stop."""
    found: dict[str, Nameable] = {}
    for name, field in options.model_fields.items():
        key = f"{prefix}{name}"
        if nested := _nested(field.annotation):
            if type(None) in _kinds(field.annotation):
                found[key] = _declared(key, field, group=True)
            found |= nameable(nested, f"{key}.")
        elif all(map(_is_spelled, _kinds(_whole(field)))):
            found[key] = _declared(key, field)
    return found


def _declared(key: str, field: FieldInfo, group: bool = False) -> Nameable:
    default = field.get_default(call_default_factory=True)
    return Nameable(key, _whole(field), default, field.description or "", group)


def _whole(field: FieldInfo) -> Any:
    """Annotation with its metadata, which pydantic keeps apart."""
    if not field.metadata:
        return field.annotation
    return typing.Annotated[(field.annotation, *field.metadata)]


def _kinds(annotation: Any) -> Iterator[Any]:
    """Types that an annotation is a union of; an entry point is ``check_entry``."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        checks = [m.func for m in metadata if isinstance(m, AfterValidator)]
        if check_entry in checks:
            yield check_entry
        else:
            yield from _kinds(inner)
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from _kinds(part)
    else:
        yield annotation


def _nested(annotation: Any) -> type[Options] | None:
    """The class of nested options, if it is one."""
    kinds = [k for k in _kinds(annotation) if isinstance(k, type)]
    return next((k for k in kinds if issubclass(k, Options)), None)


def _items(kind: Any) -> list[Any] | None:
    """Types of the items of a list or a tuple; None: it is neither."""
    if typing.get_origin(kind) not in (list, tuple):
        return None
    return [k for part in typing.get_args(kind) for k in _kinds(part)]


def _is_spelled(kind: Any) -> bool:
    """Whether values of a type can be spelled; lists of words cannot."""
    if (items := _items(kind)) is not None:
        return all(item in (int, float, Ellipsis) for item in items)
    scalar = kind in (int, float, bool, str, type(None), check_entry)
    return scalar or typing.get_origin(kind) is Literal


def _worded(kind: Any) -> str:
    """A type as a reader knows it."""
    if (items := _items(kind)) is not None:
        whole = "whole " if set(items) == {int} else ""
        return f"{whole}numbers, joined by _"
    if typing.get_origin(kind) is Literal:
        return ", ".join(map(str, typing.get_args(kind)))
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a name",
        type(None): NONE,
        check_entry: "module.name",
    }
    return words[kind]


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
        if any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
            raise ValueError(UNSPELLED)
        return "_".join(map(_number, value)) or EMPTY
    text = str(value).replace(":", ".")
    if not _WORD.fullmatch(text):
        raise ValueError(UNSPELLED)
    return text


def _number(value: int | float) -> str:
    text = repr(value).replace("e+", "e")
    if not _NUMBER.fullmatch(text):
        raise ValueError("it must be a finite number")
    return text


# --- text to values ------------------------------------------------------------------


def _read(option: Nameable, text: str) -> Any:
    if option.group:
        if text == NONE:
            return None
        key = option.key
        raise ValueError(f"{key} is a group; write {key}={NONE}, or one of it")
    kinds = list(_kinds(option.annotation))
    readers: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Any]], ...] = (
        (lambda kind: kind is type(None), _read_none),
        (lambda kind: typing.get_origin(kind) is Literal, _read_choice),
        (lambda kind: kind is bool, lambda _, text: _TRUTH[text]),
        (lambda kind: kind in (int, float), _read_number),
        (lambda kind: _items(kind) is not None, _read_list),
        (lambda kind: kind is check_entry, _read_entry),
        (lambda kind: kind is str, lambda _, text: text),
    )
    for fits, read in readers:
        for kind in filter(fits, kinds):
            try:
                return read(kind, text)
            except (ValueError, KeyError):
                continue
    raise ValueError(f"{option.key}={text}: it must be {option.values}")


def _read_none(_: Any, text: str) -> None:
    if text != NONE:
        raise ValueError


def _read_choice(kind: Any, text: str) -> Any:
    return {spell_value(value): value for value in typing.get_args(kind)}[text]


def _read_number(kind: Any, text: str) -> Any:
    if not _OTHER_NUMBER.fullmatch(text):
        raise ValueError
    return kind(text)


def _read_list(kind: Any, text: str) -> list[Any]:
    items = _items(kind) or []
    number = int if set(items) - {Ellipsis} == {int} else float
    if text == EMPTY:
        return []
    return [_read_number(number, part) for part in text.split("_")]


def _read_entry(_: Any, text: str) -> str:
    module, _, name = text.rpartition(".")
    if not module:
        raise ValueError
    return f"{module}:{name}"
