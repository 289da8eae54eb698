"""Methods with a grid: what is on trial, and how a wrong grid is told."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kerhrm.config.methods import DRO, HRM, IRM, Baseline
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import TUNABLE

CLASSIFICATION = "experiments.classification.settings.r2=0.70"

Spoil = Callable[[str], str]


def test_all_combinations_are_on_trial() -> None:
    grid = {"weight": [1.0, 10.0], "anneal": [0, 20, 50]}
    irm = Baseline[IRM](grid=grid, selected=IRM(steps=30, loss="logistic"))
    expected = [
        IRM(steps=30, loss="logistic", weight=weight, anneal=anneal)
        for weight, anneal in product(grid["weight"], grid["anneal"])
    ]
    assert irm.candidates() == expected
    assert {type(c) for c in irm.candidates()} == {IRM}


def test_without_a_grid_the_selection_is_the_only_candidate() -> None:
    assert Baseline[DRO](selected=DRO(rho=0.25)).candidates() == [DRO(rho=0.25)]


def test_the_grid_goes_before_the_selection() -> None:
    """What it names is on trial with its own values alone."""
    hrm = Baseline[HRM](grid={"penalty": [3.0]}, selected=HRM(penalty=7.0, threshold=0.5))
    assert hrm.candidates() == [HRM(penalty=3.0, threshold=0.5)]


def test_the_oracle_is_no_candidate() -> None:
    dro = Baseline[DRO](grid={"rho": [0.1]}, selected=DRO(), oracle=DRO(rho=9.0))
    assert dro.candidates() == [DRO(rho=0.1)]
    assert Baseline[DRO](selected=DRO()).oracle is None


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"roh": [0.1]}, "Extra inputs are not permitted"),
        ({"rho": []}, "at least 1 item"),
        ({"rho": 0.1}, "valid list"),
        ({"rho": [0.1, -1.0]}, "greater than 0"),
        ({"steps": [10, 0.5]}, "valid integer"),
    ],
)
def test_a_grid_holds_values_that_the_method_takes(grid: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Baseline[DRO].model_validate({"grid": grid, "selected": {}})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"grid": {"roh": [0.1]}},
            f"unknown configuration key '{CLASSIFICATION}.methods.dro.roh' (value 0.1); "
            "did you mean 'rho'?",
        ),
        (
            {"grid": {"rho": [0.1, -1.0]}},
            f"configuration key '{CLASSIFICATION}.methods.dro.rho' = -1.0: "
            "Input should be greater than 0",
        ),
        (
            {"grid": {"rho": []}},
            f"configuration key '{CLASSIFICATION}.methods.dro.grid.rho' = []: "
            "List should have at least 1 item after validation, not 0",
        ),
        (
            {"grd": {"rho": [0.1]}},
            f"unknown configuration key '{CLASSIFICATION}.methods.dro.grd' "
            "(value {'rho': [0.1]}); did you mean 'grid'?",
        ),
        (
            {"oracle": {"roh": 1.0}},
            f"unknown configuration key '{CLASSIFICATION}.methods.dro.oracle.roh' (value 1.0); "
            "did you mean 'rho'?",
        ),
    ],
)
def test_a_wrong_grid_is_told_in_one_line(
    spoilt: Spoil, changed: dict[str, Any], message: str
) -> None:
    assert spoilt(json.dumps({"methods": {"dro": changed}})) == message


def test_a_file_without_an_oracle_has_none(folder: Path) -> None:
    setting = resolve({}, folder).experiments["classification"].settings["r2=0.70"]
    for name in TUNABLE:
        assert getattr(setting.methods, name).oracle is None


@pytest.mark.parametrize("preset", ["paper", "smoke"])
def test_every_shipped_grid_has_a_choice_to_make(folder: Path, preset: str) -> None:
    for experiment in resolve({"preset": preset}, folder).experiments.values():
        if experiment.tuning is None:
            continue
        for label, setting in experiment.for_tuning().settings.items():
            for name in setting.run:
                candidates = getattr(setting.methods, name).candidates()
                assert len(candidates) > 1, (label, name)
                assert all(c not in candidates[:i] for i, c in enumerate(candidates))
