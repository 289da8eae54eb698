"""Which options can a name give a value?

How the value is spelled: :mod:`kerhrm_paper.config.values`.
"""

import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from kerhrm.options import Options
from kerhrm_paper.config.values import (
    NONE,
    is_spelled,
    kind_in_words,
    kinds_of,
    read_value,
    spell_value,
)


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
        if self.group:
            if text == NONE:
                return None
            key = self.key
            raise ValueError(f"{key} is a group; write {key}={NONE}, or one of it")
        try:
            value = read_value(self.annotation, text)
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
        return kind_in_words(self.annotation)


Schema = Mapping[str, Nameable]  #: by key, in declared order


def nameable(options: type[Options], prefix: str = "") -> dict[str, Nameable]:
    """Options of a class that a name can give, nested ones behind a full stop."""
    schema: dict[str, Nameable] = {}
    for name, field in options.model_fields.items():
        key = f"{prefix}{name}"
        nested = _nested(field.annotation)
        if nested is not None:
            if type(None) in kinds_of(field.annotation):
                schema[key] = _declared(key, field, group=True)
            schema |= nameable(nested, f"{key}.")
        elif _has_spellings(field):
            schema[key] = _declared(key, field)
    return schema


def _has_spellings(field: FieldInfo) -> bool:
    """Whether all values of an option can be spelled."""
    kinds = kinds_of(_whole(field))
    return all(map(is_spelled, kinds))


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


def _nested(annotation: Any) -> type[Options] | None:
    """The class of nested options, if it is one."""
    for kind in kinds_of(annotation):
        is_class = isinstance(kind, type)
        if is_class and issubclass(kind, Options):
            return kind
    return None
