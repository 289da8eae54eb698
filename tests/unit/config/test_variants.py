"""Variants of an experiment: every setting again, with one change each."""

from pathlib import Path
from typing import Any

import pytest
from configtools import Told, Write

from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Setting

MINE: dict[str, Any] = {
    "title": "mine",
    "table": "mine",
    "seeds": 2,
    "run": ["erm", "kerhrm"],
    "methods": {"erm": {"selected": {"steps": 7}}},
    "settings": {
        "a=1": {"data": {"generator": "classification", "r2": 0.7}},
        "b=1": {
            "data": {"generator": "classification"},
            "methods": {"erm": {"selected": {"steps": 9}}},
        },
    },
    "variants": {
        "k=3": {"methods": {"kerhrm": {"k": [3]}}},
        "T=1,k=3": {"methods": {"kerhrm": {"k": [3], "iterations": 1}}, "run": ["kerhrm"]},
        "n=99": {
            "data": {"n_train_per_environment": 99},
            "methods": {"erm": {"selected": {"steps": 8}}},
        },
    },
}


@pytest.fixture
def settings(folder: Path, write: Write) -> Any:
    """The settings that a file of one's own comes to, under what a preset says."""

    def found(preset: dict[str, Any] | None = None) -> dict[str, Setting]:
        write("experiments/mine", MINE)
        write("presets/other", {"experiments": {"mine": preset or {}}})
        return resolve({"preset": "other"}, folder).experiments["mine"].settings

    return found


def test_every_setting_comes_with_every_variant(settings: Any) -> None:
    found = settings()
    names = [f"{s}{v}" for s in ("a=1", "b=1") for v in ("", ",k=3", ",T=1,k=3", ",n=99")]
    assert list(found) == names
    plain, changed = found["a=1"], found["a=1,T=1,k=3"]
    assert changed.data == plain.data
    assert (changed.methods.kerhrm.k, changed.methods.kerhrm.iterations) == ([3], 1)
    assert (plain.run, changed.run) == (["erm", "kerhrm"], ["kerhrm"])
    kerhrm = plain.methods.kerhrm
    assert changed.methods.kerhrm == kerhrm.model_copy(update={"k": [3], "iterations": 1})
    # a variant lies over its setting, which lies over the experiment
    assert [
        found[n].methods.erm.selected.steps for n in ("a=1", "b=1", "a=1,n=99", "b=1,n=99")
    ] == [
        7,
        9,
        8,
        8,
    ]
    assert found["a=1,n=99"].data.n_train_per_environment == 99
    assert found["a=1,n=99"].data.r2 == 0.7


def test_a_setting_or_a_variant_can_be_left_out(settings: Any) -> None:
    whole = list(settings())
    assert list(settings({"settings": {"a=1": None}})) == [n for n in whole if n[0] == "b"]
    assert list(settings({"variants": {"n=99": None}})) == [n for n in whole if "n=99" not in n]
    one = {"settings": {"b=1,k=3": None}}
    assert list(settings(one)) == [n for n in whole if n != "b=1,k=3"]


def test_a_setting_with_its_variant_can_be_changed(settings: Any) -> None:
    whole = settings()
    found = settings({"settings": {"b=1,k=3": {"methods": {"erm": {"selected": {"steps": 5}}}}}})
    assert list(found) == list(whole)
    assert {n for n in whole if whole[n] != found[n]} == {"b=1,k=3"}
    assert found["b=1,k=3"].methods.erm.selected.steps == 5
    assert found["b=1,k=3"].methods.kerhrm.k == [3]


def test_what_is_wrong_is_told_where_it_stands(write: Write, told: Told) -> None:
    variants = MINE["variants"] | {"k=3": {"methods": {"kerhrm": {"k": [0]}}}}
    write("experiments/mine", MINE | {"variants": variants})
    assert told({}).startswith("config/experiments/mine.yaml: variants.k=3.methods.kerhrm.k.0 = 0:")
    write("experiments/mine", MINE)
    write("presets/other", {"experiments": {"mine": {"variants": {"k=4": None}}}})
    expected = "experiments.mine.variants.k=4 = None: nothing to leave out; did you mean 'k=3'?"
    assert told({"preset": "other"}).endswith(expected)
