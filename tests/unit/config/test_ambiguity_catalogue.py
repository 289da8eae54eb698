"""The catalogue of open choices, and that every flip of it changes one thing alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from configtools import SHIPPED
from pydantic import ValidationError

from kerhrm.config.ambiguities import (
    Ambiguity,
    Catalogue,
    Flip,
    changes,
    kind_of,
    load_catalogue,
    mark_of,
    study,
)
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment
from kerhrm.errors import KerhrmError

CATALOGUE = load_catalogue(SHIPPED / "ambiguities.yaml")
EXPERIMENTS = resolve({"preset": "paper"}, SHIPPED).experiments
CHANGES = changes(EXPERIMENTS)
#: one option set for all seeds, or the choice of each
CHOICE = {f"methods.kerhrm.{name}" for name in ("k", "invariance.alpha", "network.penalty")}
#: flips whose parts mean nothing one by one
TOGETHER = {
    "sigma=exchanged": {"data.sigma_s", "data.sigma_v"},
    "split=80": {"data.train_fraction", "data.validation_fraction"},
    "erm=200": {"methods.erm.selected.steps", "methods.erm.selected.evaluate_every"},
    "erm=1000": {"methods.erm.selected.steps", "methods.erm.selected.evaluate_every"},
    "choice=seed": CHOICE,
    "choice=pooled": CHOICE | {"methods.kerhrm.selection"},
    # alpha of another penalty has another unit
    "penalty=scale": {"methods.kerhrm.invariance.penalty", "methods.kerhrm.invariance.alpha"},
}
ENTRY = {"title": "A", "paper": [{"words": "b", "where": "c"}], "released": "d", "default": "e",
         "because": "f"}  # fmt: skip
FLIP = {"to": "g", "where": ["houses"]}


def leaves(tree: dict[str, Any], above: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def test_most_choices_are_measured() -> None:
    measured = [entry for entry in CATALOGUE.entries.values() if entry.flips]
    assert len(measured) >= 30


def test_every_flip_has_its_settings_and_every_setting_its_flip() -> None:
    named = {(kind, f.mark) for _, f in CATALOGUE.flips for kind in f.where if f.mark}
    assert named == set(CHANGES)


@pytest.mark.parametrize(("kind", "mark"), list(CHANGES))
def test_a_flip_changes_one_option_alone(kind: str, mark: str) -> None:
    changed = set(leaves(CHANGES[kind, mark]))
    if mark in TOGETHER:
        assert changed <= TOGETHER[mark]  # ERM's tuned steps are a flip's in some of the data
    else:
        assert len(changed) == 1


@pytest.mark.parametrize("name", study(EXPERIMENTS))
def test_experiments_keep_their_data_s_defaults(name: str) -> None:
    one = EXPERIMENTS[name]
    assert not one.in_all
    assert one.tuning is None
    assert len(one.seeds.data) == (3 if kind_of(name) == "colored_mnist" else 5)
    settings = [s for s in one.settings if not mark_of(s)]
    assert len(settings) == (0 if "-" in name else 1)
    for setting in settings:
        published = {"classification": "r2=0.80", "regression": "scenario=2,r=1.9",
                     "colored_mnist": "cmnist", "houses": "houses"}  # fmt: skip
        usual = EXPERIMENTS[kind_of(name)].settings[published[kind_of(name)]]
        assert one.settings[setting].data == usual.data
        expected = usual.methods.kerhrm
        if kind_of(name) == "houses":  # else pooled ERM would stand in for every flip
            expected = expected.model_copy(update={"guard": None})
        assert one.settings[setting].methods.kerhrm == expected


def test_what_a_setting_says_otherwise_is_told_in_its_own_keys() -> None:
    told = CHANGES["classification", "target=label"]
    assert told == {"methods": {"kerhrm": {"clustering": {"target": "label"}}}}
    assert CHANGES["classification", "layers=2"] == {"network": {"widths": [1024, 1024]}}


def test_a_kind_without_its_defaults_is_refused() -> None:
    one = EXPERIMENTS["ambiguities_classification"]
    settings = {"r2=0.80,target=label": one.settings["r2=0.80,target=label"]}
    lacking: dict[str, Experiment] = {
        "ambiguities_classification": one.model_copy(update={"settings": settings})
    }
    with pytest.raises(KerhrmError, match="has no setting without a flip; add one"):
        changes(lacking)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "give flips, or say in unmeasured why there are none"),
        ({"flips": [FLIP | {"mark": "a=1"}], "unmeasured": "x"}, "give flips, or say"),
        ({"flips": [FLIP]}, "give a mark or a method"),
        ({"flips": [FLIP | {"mark": "a", "method": "ERM"}]}, "give a mark or a method"),
        ({"flips": [FLIP | {"method": "ERM"}]}, "give instead or rule"),
        ({"flips": [FLIP | {"method": "EMR", "rule": "none"}]}, "no row is called 'EMR'"),
        ({"flips": [FLIP | {"mark": "a=1", "only": "EMR"}]}, "no row is called 'EMR'"),
        (
            {"flips": [FLIP | {"mark": "a=1", "where": ["moon"]}]},
            "Input should be 'classification'",
        ),
        ({"unmeasured": "x", "relased": "y"}, "no such key; did you mean 'released'?"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message.replace("?", r"\?")):
        Ambiguity.model_validate(ENTRY | change)


def test_two_flips_of_one_name_are_refused() -> None:
    flip = Flip.model_validate(FLIP | {"mark": "a=1"})
    entry = Ambiguity.model_validate(ENTRY | {"flips": [flip, flip]})
    with pytest.raises(ValidationError, match="two flips are called a=1"):
        Catalogue(entries={"one": entry})


def test_errors_name_the_file_and_the_key(tmp_path: Path) -> None:
    path = tmp_path / "ambiguities.yaml"
    path.write_text(yaml.safe_dump({"one": ENTRY | {"released": 3, "unmeasured": "x"}}))
    with pytest.raises(KerhrmError, match=r"one\.released = 3: Input should be a valid string"):
        load_catalogue(path)
