"""Building blocks of the configuration's models."""

import functools
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from kerhrm.entries import check
from kerhrm.errors import KerhrmError


def _no_truth_value(value: Any) -> Any:
    """YAML reads ``yes`` and ``on`` as true, which pydantic would take for 1."""
    if isinstance(value, bool):
        raise ValueError("write a number, not a truth value")
    return value


@functools.cache
def exists(entry: str) -> str:
    """Give ``"module:name"`` back if it names something.

    Raises
    ------
    ValueError
        If not, as :func:`kerhrm.entries.check` says; in a model it is a key's error.
    """
    try:
        check(entry)
    except KerhrmError as error:
        raise ValueError(str(error)) from error
    return entry


_Number = BeforeValidator(_no_truth_value)
Count = Annotated[int, _Number, Field(gt=0)]
Natural = Annotated[int, _Number, Field(ge=0)]
Finite = Annotated[float, _Number, Field(allow_inf_nan=False)]
NonNegative = Annotated[float, _Number, Field(ge=0, allow_inf_nan=False)]
PositiveFloat = Annotated[float, _Number, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, _Number, Field(ge=0, le=1)]
Entry = Annotated[str, AfterValidator(exists)]
NonEmpty = Field(min_length=1)


class Section(BaseModel):
    """A block of the configuration; refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def misfit(key: Sequence[str], value: Any, why: str) -> ValidationError:
    """Error of a model's validator at one of the keys below it."""
    kind = PydanticCustomError("misfit", "{why}", {"why": why})
    detail = InitErrorDetails(type=kind, loc=tuple(key), input=value)
    return ValidationError.from_exception_data("Section", [detail])
