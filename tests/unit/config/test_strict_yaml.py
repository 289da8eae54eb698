"""YAML is read as it looks, and what cannot be walked through is refused at once."""

import re
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal

from kerhrm.errors import FileError
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.strict_yaml import (
    OWN_KEYS,
    TEXTS,
    dump,
    read_overrides,
    read_yaml,
)


def bomb(first: str, line: str) -> str:
    """Ten lines that stand for a billion values."""
    lines = [first]
    for number in range(1, 10):
        before = number - 1
        nine = ", ".join(f"k{i}: *a{before}" for i in range(9))
        aliases = ", ".join([f"*a{before}"] * 9)
        made = line.format(number=number, mapping=nine, sequence=aliases)
        lines.append(made)
    return "\n".join(lines)


BOMBS = {
    "mappings": bomb("a0: &a0 {x: 1}", "a{number}: &a{number} {{{mapping}}}"),
    "sequences": bomb("a0: &a0 [x]", "a{number}: &a{number} [{sequence}]"),
    "merged": bomb("a0: &a0 {x: 1}", "a{number}: &a{number} {{<<: [{sequence}]}}"),
    "long": "\n".join(f"k{i}: 1" for i in range(60_000)),
    "deep": "{a: " * 1000 + "1" + "}" * 1000,
    "deep by aliases": "a0: &a0 [1]\n"
    + "\n".join(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 60)),
    "itself": "a: &a {b: *a}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_in_one_line_with_their_file(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMBS[name])
    with refusal(r"bomb\.yaml: .*(stands for|nested|itself)") as error:
        read_yaml(path)
    assert len(str(error.value)) < 250
    with refusal("--config: data: "):
        read_overrides([f"data={BOMBS[name]}"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("-3", -3),
        ("010", "010"),  # 8 in YAML 1.1
        ("1:30", "1:30"),  # 90 there
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1e-05", 1e-5),  # text there
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("yes", "yes"),  # true there
        ("no", "no"),
        ("off", "off"),
        ("true", True),
        ("2020-01-01", "2020-01-01"),  # a date there
        ("~", None),
        ("null", None),
        ("", None),
        ("'010'", "010"),
        ("nan", "nan"),
    ],
)
def test_plain_values_are_what_they_look_like(
    tmp_path: Path, text: str, value: Any
) -> None:
    (tmp_path / "x.yaml").write_text(f"\ufeffa: {text}\nb: [{text or 'null'}]")
    read = read_yaml(tmp_path / "x.yaml")
    assert repr(read) == repr({"a": value, "b": [value]})


@pytest.mark.parametrize(
    "text",
    ["!!binary aGk=", "!!set {x}", "!!int 010", "!x 1", "!!python/name:os.system"],
)
def test_tags_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(f"b: 1\na: {text}")
    with refusal(r"line 2 .*the tag '.*' is not allowed"):
        read_yaml(tmp_path / "x.yaml")


def test_aliases_and_merge_keys_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}")
    a = {"x": 1}
    read = read_yaml(tmp_path / "x.yaml")
    assert read == {"a": a, "b": a, "c": {"x": 1, "y": 2}}


def test_the_command_line_is_taken_as_it_was_typed() -> None:
    entries = ["threads=2", "seed_offset=010", "results=007", "csv=1e5", "target=true"]
    entries += ["raw_dir=", "data={made: {seeds: 2}}", "drop=[1.50, no]", "group='a b'"]
    assert read_overrides(entries) == {
        "threads": 2,
        "seed_offset": "010",
        "results": "007",
        "csv": "1e5",
        "target": "true",
        "raw_dir": None,
        "data": {"made": {"seeds": 2}},
        "drop": ["1.50", "no"],
        "group": "a b",
    }


def test_a_path_that_is_no_yaml_is_a_path() -> None:
    odd = ["results=a: b: [c", "csv=[a", "x=a: b: c"]
    values = {"results": "a: b: [c", "csv": "[a", "x": "a: b: c"}
    assert read_overrides(odd) == values


def test_a_number_of_very_many_digits_is_refused_in_a_line() -> None:
    digits = "1" * 5000
    told = r"--config: seed_offset=1+\.\.\. cannot be read; write a number of fewer"
    with refusal(told) as error:
        read_overrides([f"seed_offset={digits}"])
    assert len(str(error.value)) < 200


def test_a_key_is_given_once() -> None:
    with refusal("--config: preset is given twice"):
        read_overrides(["preset=smoke", "threads=2", "preset=paper"])


def test_the_text_keys_are_those_of_the_models() -> None:
    assert tuple(OwnTable.model_fields) == OWN_KEYS
    texts = [
        name
        for name, field in Whole.model_fields.items()
        if isinstance(field.default, str)
    ]
    assert set(TEXTS) == {*texts, "raw_dir", *OWN_KEYS}


def test_what_is_no_text_file_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("device: é".encode("latin-1"))
    with refusal(r"is not in UTF-8: .*; save it as UTF-8"):
        read_yaml(tmp_path / "latin.yaml")
    for name, reason in (("none.yaml", "No such file"), (".", "Is a directory")):
        with pytest.raises(FileError, match=f"{reason}.*; give the path of a YAML"):
            read_yaml(tmp_path / name)


@pytest.mark.parametrize(
    "target", ["table1", "results/smoke/houses+r=0.6/erm/scores.csv", "erm+alpha=1.0"]
)
def test_a_target_that_follows_the_keys_is_no_override(target: str) -> None:
    """The name of a cell has an equals sign, too."""
    match = f"--config takes KEY=VALUE; got {re.escape(target)}; write targets"
    with refusal(match):
        read_overrides(["preset=smoke", target])


#: some are numbers, dates or truth values to YAML 1.1 or to this project
TEXTS_LIKE = "1e5 1E-3 010 1_0 1:30 .5 +1 -.inf ~ null True yes << 2024-01-01 0x1F"


@pytest.mark.parametrize(
    "text", [*TEXTS_LIKE.split(), "", " ", "a: b", "# a", "*a", "é", "a\nb"]
)
def test_what_is_written_is_read_as_it_was(text: str, tmp_path: Path) -> None:
    """A text that looks like a number, too, as a value and as a key."""
    tree = {"b": text, "a": [text, {f"x{text}": None}], "c": 1e-5, "d": True}
    path = tmp_path / "written.yaml"
    path.write_text(dump(tree), encoding="utf-8")
    found = read_yaml(path)
    assert found == tree
    assert list(found) == ["b", "a", "c", "d"]
