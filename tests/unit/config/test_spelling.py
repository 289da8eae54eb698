"""Names and their options: one spelling, and the way back."""

import math
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm_paper.config.nameable import Nameable, Schema, nameable
from kerhrm_paper.config.spelling import LONGEST, parse, spell, tree
from kerhrm_paper.config.values import spell_value
from kerhrm_paper.data.registry import DATA_SETS

MODULE = "kerhrm.networks.modules:small_cnn"  #: an entry point that can be loaded
SCHEMAS: dict[str, Schema] = {
    **{name: nameable(method.options) for name, method in METHODS.items()},
    **{f"data_{name}": nameable(data.options) for name, data in DATA_SETS.items()},
    "network": nameable(NetworkOptions, "network."),
}
CLASSES: dict[str, type[Options]] = {
    **{name: method.options for name, method in METHODS.items()},
    **{f"data_{name}": data.options for name, data in DATA_SETS.items()},
}


def schema_of(base: str) -> Schema:
    return SCHEMAS[base]


def values_of(option: Nameable) -> st.SearchStrategy[Any]:
    """Values of an option, drawn from its own type, with its range."""
    if option.group:
        return st.none()
    if option.values.startswith("module.name"):
        return st.sampled_from([None, MODULE])
    if option.values.startswith("a name"):
        return st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
    drawn = st.from_type(option.annotation)
    return drawn.filter(is_finite).map(as_list)


def as_list(value: Any) -> Any:
    """A tuple as a list, as options have it."""
    if isinstance(value, tuple):
        return list(value)
    return value


def is_finite(value: Any) -> bool:
    """Whether a value is of numbers that classes of options take."""
    numbers = value if isinstance(value, list | tuple) else [value]
    for number in numbers:
        if isinstance(number, float) and not math.isfinite(number):
            return False
    return True


@st.composite
def names(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A base and some of its options, with values that the types allow."""
    base = draw(st.sampled_from(sorted(SCHEMAS)))
    schema = SCHEMAS[base]
    if not schema:
        return base, {}
    some_keys = st.lists(st.sampled_from(sorted(schema)), unique=True, max_size=4)
    keys = draw(some_keys)
    values = {}
    for key in keys:
        values[key] = draw(values_of(schema[key]))
    for key in values:
        group, _, _ = key.rpartition(".")
        assume(group not in values)
    return base, values


def spelled(base: str, values: dict[str, Any]) -> str:
    """The name, if it is short enough."""
    try:
        return spell(base, values, SCHEMAS[base])
    except KerhrmError as error:
        assume("characters" not in error.problem)
        raise


@given(names())
def test_what_is_spelled_is_parsed(name: tuple[str, dict[str, Any]]) -> None:
    base, values = name
    text = spelled(base, values)
    assert parse(text, schema_of) == (base, values)
    assert re.fullmatch(r"[A-Za-z0-9_.=+-]+", text)
    assert len(text) <= LONGEST


@given(names(), st.randoms())
def test_options_stand_in_declared_order(
    name: tuple[str, dict[str, Any]], random: Any
) -> None:
    base, values = name
    text = spelled(base, values)
    _, *words = text.split("+")
    keys = [word.partition("=")[0] for word in words]
    declared = SCHEMAS[base]
    assert keys == [key for key in declared if key in values]
    random.shuffle(words)
    other = "+".join([base, *words])
    if other != text:
        with pytest.raises(KerhrmError) as error:
            parse(other, schema_of)
        assert error.value.hint == f"write {text}"


@pytest.mark.parametrize("base", sorted(CLASSES))
def test_defaults_of_every_option_can_be_named(base: str) -> None:
    """What cannot be named is a list of words, or a group of options."""
    options = CLASSES[base]()
    schema = SCHEMAS[base]
    defaults = options.model_dump(mode="json")
    for key, value in defaults.items():
        if isinstance(value, dict):
            in_group = [name for name in schema if name.startswith(f"{key}.")]
            assert in_group
        elif key in schema:
            text = f"{base}+{key}={spell_value(value)}"
            expected = (base, {key: value})
            assert parse(text, schema_of) == expected
        else:
            assert isinstance(value, list), key


def test_values_of_a_type_that_is_no_number_are_drawn() -> None:
    """Else the property tests above would hold of nothing."""
    every: list[Nameable] = []
    for schema in SCHEMAS.values():
        every += schema.values()
    kinds = {option.values.split(",")[0] for option in every}
    assert {"a whole number", "a number", "true or false", "none"} <= kinds
    assert "whole numbers" in kinds
    assert len(every) > 150


EQUAL = {
    # another spelling, the canonical one
    "erm+steps=010": "erm+steps=10",
    "erm+steps=+5": None,
    "erm+learning_rate=1": "erm+learning_rate=1.0",
    "erm+learning_rate=.5": "erm+learning_rate=0.5",
    "erm+learning_rate=0.50": "erm+learning_rate=0.5",
    "erm+learning_rate=1e-5": "erm+learning_rate=1e-05",
    "erm+learning_rate=0.00001": "erm+learning_rate=1e-05",
    "erm+learning_rate=1E-05": "erm+learning_rate=1e-05",
    "kerhrm+alpha=-0.0": "kerhrm+alpha=0.0",
    "kerhrm+alpha=-0": "kerhrm+alpha=0.0",
    "kerhrm+alpha=1.0_-0.0": "kerhrm+alpha=1.0_0.0",
    "erm+steps=-0": "erm+steps=0",
    "kerhrm+k=05_10": "kerhrm+k=5_10",
    "kerhrm+n_init=1+k=5": "kerhrm+k=5+n_init=1",
    "erm+learning_rate=1e16": "erm+learning_rate=1e16",
    "erm+learning_rate=10000000000000000.0": "erm+learning_rate=1e16",
}


@pytest.mark.parametrize("text", EQUAL)
def test_another_spelling_is_refused_with_the_canonical_one(text: str) -> None:
    canonical = EQUAL[text]
    if canonical == text:
        assert spell(*parse(text, schema_of), schema_of("erm")) == text
        return
    with pytest.raises(KerhrmError) as error:
        parse(text, schema_of)
    assert len(str(error.value).splitlines()) == 1
    if canonical:
        assert error.value.hint == f"write {canonical}"
        parse(canonical, schema_of)


WRONG = {
    "erm+stepz=5": ("no option is called 'stepz'", "did you mean 'steps'?"),
    "erm+Steps=5": ("no option is called 'Steps'", "did you mean 'steps'?"),
    "erm+rho=0.1": ("no option is called 'rho'", "kerhrm options erm lists them"),
    "erm+steps=": ("steps has no value", "write steps=VALUE: a whole number"),
    "erm+steps": ("steps has no value", "write steps=VALUE: a whole number"),
    "erm+steps=5+steps=5": ("steps is given twice", "write it once"),
    "erm+steps=5+steps=6": ("steps is given twice", "write it once"),
    "erm+": ("an option is missing behind a +", "delete the +"),
    "erm++steps=5": ("an option is missing behind a +", "delete the +"),
    "erm+steps=x": ("steps=x: it must be a whole number", "kerhrm options erm"),
    "erm+steps=1.5": ("steps=1.5: it must be a whole number", ""),
    "erm+steps=1e3": ("steps=1e3: it must be a whole number", ""),
    "erm+learning_rate=nan": ("it must be a number", ""),
    "erm+learning_rate=inf": ("it must be a number", ""),
    "erm+learning_rate=1e400": ("it must be a finite number", ""),
    "irm+loss=Squared": ("it must be one of squared, logistic", ""),
    "kerhrm+k=10_": ("it must be whole numbers, joined by _", ""),
    "kerhrm+k=10,15": ("must be a name", "joined by _, as in kerhrm+k=10_15"),
    "kerhrm+pretest=0.1": ("pretest is a group", "write pretest=none, or one of it"),
    "kerhrm+pretest=none+pretest.level=0.1": (
        "pretest=none leaves pretest.level out",
        "delete one of them",
    ),
    "": ("must be a name", "write BASE"),
    "+steps=5": ("must be a name", "write BASE"),
    "erm+..": ("must be a name", "write BASE"),
    "erm/steps=5": ("must be a name", "write erm+steps=5"),
    "erm+st\neps=5": ("must be a name", "write BASE"),
    "erm+steps=5é": ("must be a name", "write BASE"),
    "erm+steps=" + "5" * 300: ("has 310 characters, more than 100", "give its options"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_name_is_refused_in_one_line(text: str) -> None:
    problem, hint = WRONG[text]
    with pytest.raises(KerhrmError) as error:
        parse(text, schema_of)
    assert problem in error.value.problem
    assert hint in (error.value.hint or "")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"stepz": 5}, "did you mean 'steps'"),
        ({"learning_rate": float("nan")}, "must be a finite number"),
        ({"learning_rate": ["a"]}, "it has no spelling in a name"),
        ({"learning_rate": "a b"}, "it has no spelling in a name"),
    ],
)
def test_what_has_no_spelling_is_refused(values: dict[str, Any], told: str) -> None:
    with refusal(told):
        spell("erm", values, schema_of("erm"))


def test_a_name_of_the_longest_kind_is_read_and_a_longer_one_is_not() -> None:
    longest = "erm+learning_rate=0." + "1" * (LONGEST - len("erm+learning_rate=0."))
    with refusal("is written"):  # all characters are read
        parse(longest, schema_of)
    with refusal("101 characters, more than 100"):
        parse(f"{longest}1", schema_of)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "true"),
        (False, "false"),
        (0.7, "0.7"),
        (2.0, "2.0"),
        (-3, "-3"),
        (-0.0, "0.0"),
        ([1.0, -0.0], "1.0_0.0"),
        (1e-05, "1e-05"),
        (1e16, "1e16"),
        (1e22, "1e22"),
        ([], "empty"),
        ([10, 15], "10_15"),
        ((0.0, 1.5), "0.0_1.5"),
        ("squared", "squared"),
        ("package.module:name", "package.module.name"),
    ],
)
def test_values_are_spelled_as_python_prints_them(value: Any, text: str) -> None:
    assert spell_value(value) == text


def test_nested_options_stand_behind_a_full_stop() -> None:
    _, values = parse("kerhrm+k=5+pretest.level=0.1", schema_of)
    assert tree(values) == {"k": [5], "pretest": {"level": 0.1}}
    assert tree({"pretest": None}) == {"pretest": None}


def test_annotations_have_their_ranges() -> None:
    """Values that the property tests draw are those that the classes take."""
    for base, kind in CLASSES.items():
        for key, option in SCHEMAS[base].items():
            if option.group or "." in key:
                continue
            default = getattr(kind(), key)
            TypeAdapter(option.annotation).validate_python(default)
    with pytest.raises(ValidationError):
        TypeAdapter(SCHEMAS["erm"]["steps"].annotation).validate_python(0)
