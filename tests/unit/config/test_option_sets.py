"""Methods with a grid: which option sets are on trial, and how a wrong grid is told."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from configtools import Spoil
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.algorithm.options import KerHRM
from kerhrm.config.methods import Methods, Tuned, _draw, tuned
from kerhrm.config.resolve import resolve
from kerhrm.methods.dro.options import DRO
from kerhrm.methods.hrm.options import HRM
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.kerhrm.options import Choice, Direction
from kerhrm.methods.registry import METHODS, tunable


def test_all_combinations_are_on_trial() -> None:
    grid = {"weight": [1.0, 10.0], "anneal": [0, 20, 50]}
    irm = tuned(IRM, {})(grid=grid, selected=IRM(steps=30, loss="squared"))
    expected = [
        IRM(steps=30, loss="squared", weight=weight, anneal=anneal)
        for weight, anneal in product(grid["weight"], grid["anneal"])
    ]
    assert irm.candidates(6) == irm.candidates(100) == expected
    assert {type(c) for c in irm.candidates(6)} == {IRM}


def test_without_a_grid_the_selection_is_the_only_candidate() -> None:
    assert tuned(DRO, {})(selected=DRO(rho=0.25)).candidates(8) == [DRO(rho=0.25)]


def test_the_grid_goes_before_the_selection() -> None:
    """What it names is on trial with its own values alone."""
    hrm = tuned(HRM, {})(grid={"penalty": [3.0]}, selected=HRM(penalty=7.0, threshold=0.5))
    assert hrm.candidates(8) == [HRM(penalty=3.0, threshold=0.5)]


def test_what_other_rules_chose_is_no_candidate() -> None:
    dro = tuned(DRO, {"rho": [0.1]})(rules={"pooled validation": DRO(rho=9.0)})
    assert dro.candidates(8) == [DRO(rho=0.1)]
    assert tuned(DRO, {})().rules == {}


GRIDS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.integers(), min_size=2, max_size=4, unique=True),
    min_size=2,
)  # fmt: skip


@given(GRIDS, st.integers(1, 8), st.booleans())
def test_a_draw_is_balanced_and_repeats_nothing(
    grid: dict[str, list[int]], budget: int, with_steps: bool
) -> None:
    if with_steps:
        grid |= {"steps": [10, 20]}
    sets = _draw(grid, budget)
    assert sets == _draw(dict(grid), budget)
    combinations = 1
    for values in grid.values():
        combinations *= len(values)
    draws = max(1, budget // (2 if with_steps else 1))
    assert len(sets) == (
        combinations if combinations <= budget else draws * (2 if with_steps else 1)
    )
    assert all(one not in sets[:i] for i, one in enumerate(sets))
    for name, values in grid.items():
        counts = Counter(one[name] for one in sets)
        assert set(counts) <= set(values)
        often = [counts[value] for value in values]
        assert max(often) - min(often) <= (2 if with_steps else 1)
    if with_steps:  # all steps with every other choice
        assert sorted(one["steps"] for one in sets) == sorted([10, 20] * (len(sets) // 2))
        others = [{n: v for n, v in one.items() if n != "steps"} for one in sets]
        assert others[::2] == others[1::2]


def test_sections_are_those_of_the_registry() -> None:
    """With its grids; methods that share a section share its options."""
    assert set(Methods.model_fields) == {m.section for m in METHODS.values()}
    for name in Methods.model_fields:
        section = getattr(Methods(), name)
        assert isinstance(section, Tuned) == (name in tunable())
        if isinstance(section, Tuned):
            assert section.grid == METHODS[name].grid
            assert section.rules == {}


def test_a_choice_replaces_what_kerhrm_would_choose_itself() -> None:
    usual = KerHRM(iterations=5)
    one = Choice(k=7, alpha=3.0, penalty=20.0).of(usual)
    assert (one.k, one.invariance.alpha, one.network.penalty) == ([7], [3.0], [20.0])
    other = Direction(k=7, alpha=3.0).of(usual)
    assert other.network == usual.network
    for found in (one, other):
        back = {"k": usual.k, "invariance": usual.invariance, "network": usual.network}
        assert found.model_copy(update=back) == usual


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
        ({"rules": {"pooled validation": {"roh": 1.0}}},
         "methods.dro.rules.pooled validation.roh = 1.0: no such key; did you mean 'rho'?"),
    ],
)  # fmt: skip
def test_a_wrong_grid_is_told_in_one_line(
    spoilt: Spoil, changed: dict[str, Any], message: str
) -> None:
    assert spoilt(json.dumps({"methods": {"dro": changed}})) == message


def test_every_method_has_the_same_number_of_option_sets(folder: Path) -> None:
    for experiment in resolve({}, folder).experiments.values():
        if experiment.tuning is None:
            continue
        search = experiment.for_tuning()
        for label, setting in search.settings.items():
            for name in setting.run:
                sets = search.options(label, name)
                assert len(sets) == experiment.budget == 8, (label, name)
                assert all(c not in sets[:i] for i, c in enumerate(sets))
                # an oracle has all of them
                assert all(one in experiment.choices(label, name) for one in sets)


def test_what_rules_have_chosen_comes_first() -> None:
    """In the settings of the search everything on trial, elsewhere what was chosen alone."""
    shipped = Path(__file__).parents[3] / "config"
    experiment = resolve({}, shipped).experiments["classification"]
    assert experiment.tuning is not None
    for label, setting in experiment.settings.items():
        for name in setting.run:
            sets = experiment.trained(label, name)
            shown = experiment.shown(label, name)
            assert next(iter(shown.values())) == 0
            assert {r: sets[i] for r, i in shown.items()} == experiment.chosen(label, name)
            if name in tunable():
                assert set(shown) == set(METHODS[name].rules)
                searched = label in experiment.tuning.settings
                assert experiment.has_oracle(label) == searched
                assert len(sets) >= 8 if searched else len(sets) <= len(shown)
