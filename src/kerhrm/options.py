"""Validated options: the base class, common types of values, and errors in one line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PydanticUserError,
    ValidationError,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails, PydanticCustomError

from kerhrm.entries import check_by_name, check_entry
from kerhrm.errors import KerhrmError, described, shortened, shown, suggest

#: what is learned
Task = Literal["classification", "regression"]
Item = TypeVar("Item")
#: number that an option takes, on either side of zero
LARGEST = 1e30


def _no_truth_value(value: Any) -> Any:
    """Refuse True and False, which pydantic would take for 1 and 0 (YAML reads ``yes``
    as true)."""
    if isinstance(value, bool):
        raise ValueError("write a number, not a truth value")
    return value


def _for_networks(value: float) -> float:
    """Refuse a number that leaves no room in the networks' single precision, which ends
    at 3e38."""
    if abs(value) > LARGEST:
        raise ValueError(f"must not be beyond {LARGEST:g}")
    return value


NotBool = BeforeValidator(_no_truth_value)
ForNetworks = AfterValidator(_for_networks)
Count = Annotated[int, Field(gt=0, le=1_000_000), NotBool]
Natural = Annotated[int, Field(ge=0), NotBool]
Finite = Annotated[float, Field(allow_inf_nan=False), ForNetworks, NotBool]
NonNegative = Annotated[Finite, Field(ge=0)]
PositiveFloat = Annotated[Finite, Field(gt=0)]
AtLeastOne = Annotated[Finite, Field(ge=1)]
Probability = Annotated[float, Field(ge=0, le=1), NotBool]
Entry = Annotated[str, AfterValidator(check_entry)]
NonEmpty = Field(min_length=1)
Some = Annotated[list[Item], NonEmpty]


def python_value(value: Any) -> Any:
    """A number of NumPy or PyTorch as Python's own; other values as they are."""
    return value.item() if getattr(value, "shape", None) == () else value


def as_list(value: Any) -> list[Any]:
    """Values of a sequence, or a single value, of Python's own types."""
    if hasattr(value, "tolist"):  # arrays, tensors, pandas
        value = value.tolist()
    single = isinstance(value, str | bytes | Mapping | Iterator)
    if single or not isinstance(value, Iterable):
        return [value]
    return [python_value(item) for item in value]


#: one or several values to try, of any kind of sequence
Values = Annotated[list[Item], BeforeValidator(as_list), NonEmpty]


def option(default: Any, meaning: str) -> Any:
    """Field with a default and a description."""
    return Field(default, description=meaning)


class Options(BaseModel):
    """Base of all options: frozen, and refuses keys that it does not know.

    Raises KerhrmError naming the first invalid key, its value and the constraint.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: names of earlier versions, and what they are now
    renamed: ClassVar[Mapping[str, str]] = {}

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            where = f"{type(self).__name__}: "
            raise self._refused(error, where, values) from error

    # Options inside options are validated in place, as pydantic does without an
    # __init__: an error has the whole path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            problem = f"{name}: options are frozen"
            raise KerhrmError(problem, f"build others: {type(self).__name__}(...)")
        super().__setattr__(name, value)

    @model_validator(mode="wrap")
    @classmethod
    def _refused_by_value(
        cls, options: Any, validate: ModelWrapValidatorHandler[Self]
    ) -> Self:
        """Any error of a validator refuses the options, as a ValueError does."""
        try:
            return validate(options)
        except (ValueError, AssertionError, PydanticUserError):
            raise
        except Exception as error:
            problem = f"their validator raised {described(error)}"
            hint = "give another value, or correct the validator"
            raise ValueError(f"{problem}; {hint}") from error

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        for key in options:
            if key not in cls.model_fields:
                raise misfit(f"no such key; {cls.instead_of(key)}", key)
        return options

    @classmethod
    def instead_of(cls, key: Any) -> str:
        """Hint for an unknown key: its name of today, or the nearest one."""
        if key in cls.renamed:
            return f"it is {cls.renamed[key]!r} now"
        return suggest(str(key), cls.model_fields)

    @classmethod
    def parse(cls, options: Mapping[str, Any], where: str = "") -> Self:
        """Build the options from values by field.

        Raises KerhrmError naming the first invalid key, with ``where`` in front, its
        value and the constraint.
        """
        try:
            return cls.model_validate(dict(options))
        except ValidationError as error:
            raise cls._refused(error, where, options) from error

    @classmethod
    def _refused(
        cls, error: ValidationError, where: str, given: Mapping[str, Any]
    ) -> KerhrmError:
        """First error of a validation in one line, which has the option's default."""
        first = error.errors()[0]
        name, *below = first["loc"] or ("",)
        steps = _without_single_items(first["loc"], given)
        path = ".".join(shortened(str(step)) for step in steps)
        key = f"{where}{path}" if path else where.rstrip(".: ")
        problem, hint = worded(first)
        if first["type"] == "misfit":
            return KerhrmError(f"{key}: {problem}", hint)
        if first["type"] == "missing" and not hint:
            *_, last = first["loc"]
            return KerhrmError(f"{key}: it is missing", f"add {last}: ...")
        field = cls.model_fields.get(str(name))
        whole = all(isinstance(step, int) for step in below)
        if field is not None and whole and not field.is_required():
            hint = hint or f"the default is {shown(field.get_default())}"
        return KerhrmError(f"{key}={shown(first['input'])}: {problem}", hint)


def _without_single_items(path: tuple[int | str, ...], given: Any) -> list[int | str]:
    """A path into what was given, without the 0 of a single value, which is k and not
    k.0."""
    steps: list[int | str] = []
    for step in path:
        if isinstance(given, Mapping):
            given = given.get(step)
        elif isinstance(step, int):
            values = as_list(given)
            given = values[step] if step < len(values) else None
            if len(values) == 1:
                continue
        steps.append(step)
    return steps


def worded(detail: Mapping[str, Any]) -> tuple[str, str | None]:
    """Problem and hint in a detail of a validation error."""
    last = detail["loc"][-1] if detail["loc"] else None
    if detail["type"] == "missing" and isinstance(last, int):
        return f"value number {last + 1} is missing", "give one more value"
    message = " ".join(detail["msg"].split())
    message = message.removeprefix("Value error, ")
    message = re.sub(r"^\w+ should", "must", message)
    message = message.replace(" after validation", "")
    problem, _, hint = message.partition("; ")
    return problem, hint or None


def misfit(why: str, *key: str) -> ValidationError:
    """Error of a model's validator that belongs to one of the keys below it."""
    kind = PydanticCustomError("misfit", "{why}", {"why": why})
    detail = InitErrorDetails(type=kind, loc=key, input=None)
    return ValidationError.from_exception_data("Options", [detail])


def as_json(options: Options) -> dict[str, Any]:
    """Options as JSON holds them.

    Raises ValidationError naming the first option that JSON does not hold.
    """
    try:
        return options.model_dump(mode="json")
    except ValueError:  # of pydantic, or of a text's encoding
        for key in type(options).model_fields:
            try:
                options.model_dump(mode="json", include={key})
            except ValueError as error:
                value = shown(getattr(options, key))
                problem = f"JSON cannot hold {value}"
                hint = "name it by text, and look it up in training"
                raise misfit(f"{problem}; {hint}", key) from error
        raise


def check_declared(options: Any) -> None:
    """Refuse options of a declaration that are no class of Options, or whose defaults
    they refuse or JSON, which jobs have, does not hold."""
    if not (isinstance(options, type) and issubclass(options, Options)):
        problem = f"options must be a subclass of Options; got {shown(options)}"
        raise KerhrmError(problem, "derive the class from kerhrm.options.Options")
    check_by_name(options, "options")
    for key, field in options.model_fields.items():
        if field.is_required():
            problem = f"option {key} of {options.__name__} has no default"
            raise KerhrmError(problem, "give every option one")
    where = f"default of {options.__name__}."
    try:
        defaults = options.parse(options().model_dump(), where)
    except KerhrmError as error:
        raise KerhrmError(error.problem, "correct the default, or its range") from error
    except PydanticUserError as error:  # as a type imported for type checkers alone
        first_sentence, *_ = error.message.split(";")
        problem = f"options {first_sentence.strip()}"
        hint = "import the types of its options where it is defined, not under "
        raise KerhrmError(problem, f"{hint}TYPE_CHECKING") from error
    _check_in_json(defaults, where)


def _check_in_json(defaults: Options, where: str) -> None:
    """Refuse defaults that JSON does not hold, or gives jobs as another type."""
    options = type(defaults)
    try:
        in_json = as_json(defaults)
    except ValidationError as error:
        raise options._refused(error, where, {}) from error
    in_jobs = options.parse(in_json, where)
    for key in options.model_fields:
        default, value = getattr(defaults, key), getattr(in_jobs, key)
        if not _is_alike(default, value):
            problem = f"{where}{key}={shown(default)}: jobs would have {shown(value)}"
            hint = "write that, or give the option the type of its default"
            raise KerhrmError(problem, hint)


def _is_alike(value: Any, other: Any) -> bool:
    """Whether two values are of the same types, and so are their items."""
    if type(python_value(value)) is not type(python_value(other)):
        return False
    if isinstance(value, Mapping):
        same_keys = list(value) == list(other)
        return same_keys and all(_is_alike(value[key], other[key]) for key in value)
    if isinstance(value, list | tuple):
        return all(map(_is_alike, value, other))
    return True
