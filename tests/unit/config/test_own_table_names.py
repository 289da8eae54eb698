"""Names in brackets and quotes: what a hint says to type is read as it is meant."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.own_table_names import written
from kerhrm_paper.config.own_table_rows import check_file
from kerhrm_paper.config.strict_yaml import LISTS, OWN_KEYS, read_overrides

ODD = ["[q]", "[q, r]", "'s'", '"t"', "it's", "new york", "a,b", "#1", "x: y", "$HOME"]
FIRST = re.compile(r"(?:write|quotes:) (\S.*)$")


def typed(command: str) -> dict[str, Any]:
    """Keys of what follows ``--config`` on a shell."""
    return read_overrides(shlex.split(command))


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with columns of odd names, and with two of their groups."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, len(ODD))), columns=ODD)
    table["g"] = ["[a]", "[b, c]", "d"] * 20
    table["y"] = random.normal(size=60)
    table.to_csv("t.csv", index=False)
    return "t.csv"


def check(csv: str, command: str) -> OwnTable:
    given = {"csv": csv, "target": "y"} | typed(command)
    keys = OwnTable.read(given, Path("run"))
    check_file(keys)
    return keys


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("key", ["target", "group", "drop", "categorical"])
def test_a_name_is_written_as_it_is_read(csv: str, key: str, name: str) -> None:
    keys = check(csv, written(key, [name]))
    assert getattr(keys, key) == ([name] if key in LISTS else name)


def test_names_are_written_as_they_are_read(csv: str) -> None:
    keys = check(csv, written("drop", ODD[1:]))
    assert keys.drop == ODD[1:]


def test_plain_names_stay_as_they_are() -> None:
    assert written("drop", ["age"]) == "drop=age"
    assert written("drop", ["age", "pay"]) == "drop='[age,pay]'"
    assert written("held_out", ["[a]"]) == "held_out='\"[a]\"'"


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("group=g held_out=[a]", ["[a]"]),
        ("group=g held_out=a", ["[a]"]),
        ("group=g held_out='[b, c]'", ["[b, c]"]),
        ("group=g held_out='[a,d]'", ["[a]", "d"]),
        ("group=g held_out='[[a],d]'", ["[a]", "d"]),
        ("group=g held_out=a,d", None),
        ("drop=[q]", ["[q]"]),
        ("drop='[[q],g]'", ["[q]", "g"]),
        ("drop=\"'s'\"", ["'s'"]),
        ("drop='g,a,b'", None),
        ("drop='[q, r]'", ["[q, r]"]),
        ("categorical=[q]", ["[q]"]),
        ("target='\"t\"'", '"t"'),
        ("group=\"'s'\"", "'s'"),
    ],
)
def test_what_a_hint_says_to_write_is_accepted(
    csv: str, command: str, names: list[str] | str | None
) -> None:
    with pytest.raises(KerhrmError) as error:
        check(csv, command)
    write = FIRST.search(str(error.value))
    if names is None:
        assert not write
        return
    assert write
    cure = typed(write[1])
    (key,) = cure
    others = [word for word in shlex.split(command) if not word.startswith(key)]
    keys = check(csv, " ".join([*others, write[1]]))
    assert getattr(keys, key) == names


@pytest.mark.parametrize("key", [key for key in OWN_KEYS if key not in LISTS])
def test_a_key_of_one_name_takes_brackets_as_they_are(key: str) -> None:
    assert read_overrides([f"{key}=[x]"]) == {key: "[x]"}
    assert read_overrides([f"{key}='[x]'"]) == {key: "[x]"}


def test_the_keys_of_several_names_are_those_of_lists() -> None:
    fields = OwnTable.model_fields
    lists = [key for key in OWN_KEYS if fields[key].default == []]
    assert tuple(lists) == LISTS
