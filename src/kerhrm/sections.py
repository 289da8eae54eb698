"""Building blocks of the configuration's models."""

import difflib
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from kerhrm.entries import check

Item = TypeVar("Item")


def _no_truth_value(value: Any) -> Any:
    """YAML reads ``yes`` and ``on`` as true, which pydantic would take for 1."""
    if isinstance(value, bool):
        raise ValueError("write a number, not a truth value")
    return value


Number = BeforeValidator(_no_truth_value)
Count = Annotated[int, Field(gt=0), Number]
Natural = Annotated[int, Field(ge=0), Number]
Finite = Annotated[float, Field(allow_inf_nan=False), Number]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), Number]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False), Number]
Probability = Annotated[float, Field(ge=0, le=1), Number]
Entry = Annotated[str, AfterValidator(check)]
NonEmpty = Field(min_length=1)
Some = Annotated[list[Item], NonEmpty]


def option(default: Any, meaning: str) -> Any:
    """A key that may be left out, and what it means."""
    return Field(default, description=meaning)


class Section(BaseModel):
    """A block of the configuration; refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    also: ClassVar[tuple[str, ...]] = ()  #: keys that files may have beside the fields
    #: options that a method takes as a Tensor (B,), too, one value for each network
    per_network: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _only_fields(cls, said: Any) -> Any:
        return only([*cls.model_fields, *cls.also], said)


def only(known: Collection[str], said: Any) -> Any:
    """Refuse a mapping with a key that is not known."""
    for key in said if isinstance(said, Mapping) else ():
        if key not in known:
            raise misfit(f"no such key; {suggest(key, known)}", key)
    return said


def suggest(word: str, known: Collection[str]) -> str:
    """Cure for a name that is not among the known ones: the nearest of them, or all."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known are: {', '.join(known)}"


def misfit(why: str, *key: str) -> ValidationError:
    """Error of a model's validator at one of the keys below it."""
    kind = PydanticCustomError("misfit", "{why}", {"why": why})
    detail = InitErrorDetails(type=kind, loc=key, input=None)
    return ValidationError.from_exception_data("Section", [detail])
