"""Methods with a grid: what is on trial, and how a wrong grid is told."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from configtools import Spoil

from kerhrm.config.methods import Baseline, Methods, baseline
from kerhrm.config.resolve import resolve
from kerhrm.methods.dro.options import DRO
from kerhrm.methods.hrm.options import HRM
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.registry import METHODS, tunable


def test_all_combinations_are_on_trial() -> None:
    grid = {"weight": [1.0, 10.0], "anneal": [0, 20, 50]}
    irm = baseline(IRM, {})(grid=grid, selected=IRM(steps=30, loss="squared"))
    expected = [
        IRM(steps=30, loss="squared", weight=weight, anneal=anneal)
        for weight, anneal in product(grid["weight"], grid["anneal"])
    ]
    assert irm.candidates() == expected
    assert {type(c) for c in irm.candidates()} == {IRM}


def test_without_a_grid_the_selection_is_the_only_candidate() -> None:
    assert baseline(DRO, {})(selected=DRO(rho=0.25)).candidates() == [DRO(rho=0.25)]


def test_the_grid_goes_before_the_selection() -> None:
    """What it names is on trial with its own values alone."""
    hrm = baseline(HRM, {})(grid={"penalty": [3.0]}, selected=HRM(penalty=7.0, threshold=0.5))
    assert hrm.candidates() == [HRM(penalty=3.0, threshold=0.5)]


def test_the_oracle_is_no_candidate() -> None:
    dro = baseline(DRO, {"rho": [0.1]})(oracle=DRO(rho=9.0))
    assert dro.candidates() == [DRO(rho=0.1)]
    assert baseline(DRO, {})().oracle is None


def test_sections_are_those_of_the_registry() -> None:
    """With its grids; methods that share a section share its options."""
    assert set(Methods.model_fields) == {m.section for m in METHODS.values()}
    for name in Methods.model_fields:
        section = getattr(Methods(), name)
        assert isinstance(section, Baseline) == (name in tunable())
        if isinstance(section, Baseline):
            assert section.grid == METHODS[name].grid
            assert section.oracle is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": {"roh": [0.1]}},
         "methods.dro.grid.roh = [0.1]: no such key; did you mean 'rho'?"),
        ({"grid": {"rho": 0.1}}, "methods.dro.grid.rho = 0.1: write a list"),
        ({"grid": {"rho": [0.1, -1.0]}},
         "methods.dro.grid.rho.1 = -1.0: write a number above 0"),
        ({"grid": {"steps": [0.5]}}, "methods.dro.grid.steps.0 = 0.5: write a whole number"),
        ({"grid": {"rho": []}}, "methods.dro.grid.rho = []: write at least 1"),
        ({"grd": {"rho": [0.1]}}, "methods.dro.grd: no such key; did you mean 'grid'?"),
        ({"oracle": {"roh": 1.0}},
         "methods.dro.oracle.roh = 1.0: no such key; did you mean 'rho'?"),
    ],
)  # fmt: skip
def test_a_wrong_grid_is_told_in_one_line(
    spoilt: Spoil, changed: dict[str, Any], message: str
) -> None:
    assert spoilt(json.dumps({"methods": {"dro": changed}})) == message


@pytest.mark.parametrize("preset", ["paper", "smoke"])
def test_every_shipped_grid_has_a_choice_to_make(folder: Path, preset: str) -> None:
    for experiment in resolve({"preset": preset}, folder).experiments.values():
        if experiment.tuning is None:
            continue
        search = experiment.for_tuning()
        for label, setting in search.settings.items():
            for name in setting.run:
                candidates = search.options(label, name)
                assert len(candidates) > 1, (label, name)
                assert all(c not in candidates[:i] for i, c in enumerate(candidates))
