"""Values of files that a later one replaces: read as validated ones, or refused."""

import re
from typing import Any

import pytest
from refusals import refusal
from small_config import A, B, Load

MADE = "data/made.yaml"
#: three replicates, and the ways to write them that are taken elsewhere
THREE: list[Any] = [3, "3", 3.0, {"made": "3"}, {"made": 1, A: 3.0}]


@pytest.mark.parametrize("seeds", THREE)
@pytest.mark.parametrize("place", [MADE, "config.yaml", "--config"])
def test_a_table_shows_seeds_however_they_are_written(
    load: Load, seeds: Any, place: str
) -> None:
    """Also where the preset has fewer of them."""
    made = {"made": {"seeds": seeds}}
    changes: dict[str, Any] = {"presets/paper.yaml": {"data": {"made": {"seeds": 1}}}}
    table = {"title": "T", "data": [A], "learners": ["erm"], "seeds": 3}
    given: dict[str, Any] = {"tables": {"one": None, "other": None, "new": table}}
    given["choices"] = {"start": None}
    if place == "--config":
        given["data"] = made
    else:
        changes[place] = made["made"] if place == MADE else {"data": made}
    assert load(changes, **given).tables["new"].n_seeds == 3
    table["seeds"] = 4
    with refusal(f"seeds = 4: {re.escape(A)} has 3; lower it"):
        load(changes, **given)


def test_seeds_that_null_leaves_out_are_none_to_show(load: Load) -> None:
    changes = {MADE: {"seeds": {"made": 3, A: 5}}}
    table = {"title": "T", "data": [A], "learners": ["erm"], "seeds": 4}
    assert load(changes, tables={"new": table}).tables["new"].n_seeds == 4
    without = {"made": {"seeds": {A: None}}}
    with refusal(f"seeds = 4: {re.escape(A)} has 3; lower it"):
        load(changes, tables={"new": table}, data=without)


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ("two", " = 'two': must be a valid integer"),
        (0, " = 0: must be greater than 0"),
        ([3], r" = \[3\]: must be a valid integer; write seeds: NUMBER"),
        ({"made": 2.5}, r"\.made = 2.5: must be a valid integer"),
    ],
)
def test_wrong_seeds_are_refused_also_where_a_preset_has_others(
    load: Load, seeds: Any, told: str
) -> None:
    changes: dict[str, Any] = {
        "config.yaml": {"data": {"made": {"seeds": seeds}}},
        "presets/paper.yaml": {"data": {"made": {"seeds": 3}}},
    }
    table = {"title": "T", "data": [A], "learners": ["erm"], "seeds": 1}
    with refusal(rf"config/config.yaml: data\.made\.seeds{told}"):
        load(changes, tables={"new": table})


SHAPES: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    # file, a key of it, and what a later file gives it
    ("learners", ("erm", "options"), {"steps": 6}),
    ("learners", ("erm", "grid"), {"steps": [6]}),
    ("learners", ("erm", "at"), {B: {"options": {"steps": 6}}}),
    ("learners", ("erm", "at", B), {"options": {"steps": 6}}),
    ("learners", ("erm", "at", B, "options"), {"steps": 6}),
    ("learners", ("erm", "at", B, "grid"), {"steps": [6]}),
    ("data", ("made", "options"), {"n_test": 9}),
    ("data", ("made", "network"), {"widths": [3]}),
    ("data", ("made", "at"), {B: {"network": {"widths": [3]}}}),
    ("data", ("made", "at", B), {"network": {"widths": [3]}}),
]


@pytest.mark.parametrize(("kind", "key", "later"), SHAPES)
@pytest.mark.parametrize("value", [5, [1], "x", True])
def test_options_are_mappings_also_where_a_later_file_replaces_them(
    load: Load, kind: str, key: tuple[str, ...], later: dict[str, Any], value: Any
) -> None:
    def nested(innermost: Any) -> dict[str, Any]:
        for part in reversed((kind, *key)):
            innermost = {part: innermost}
        return dict(innermost)

    told = re.escape(f"{kind}.{'.'.join(key)} = {value!r}: write 'key: value' lines")
    with refusal(f"^config/config.yaml: {told}$"):
        load({"config.yaml": nested(value), "presets/paper.yaml": nested(later)})
    with refusal(f"^config/presets/paper.yaml: {told}$"):
        load({"config.yaml": {}, "presets/paper.yaml": nested(value)}, **nested(later))
