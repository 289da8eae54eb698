"""Settings with equal content share it; whoever comes first makes it."""

from typing import Any

import pytest

from kerhrm.config.schema import Experiment
from kerhrm.config.sharing import Sharing

STAGES = ("data", "features", "iterations", "direction", "network", "method:released")


def experiment(*settings: dict[str, Any], **changed: Any) -> Experiment:
    """Settings a, b, ...; each says what it changes."""
    made = {}
    for name, own in zip("abc", settings, strict=False):
        data = {"generator": "classification"} | own.get("data", {})
        run = own.get("run", ["erm", "dro", "kerhrm", "igd", "released"])
        made[name] = {"data": data, "methods": own.get("methods", {}), "run": run}
    tree = {"title": "A", "table": "a", "seeds": 2, "settings": made}
    return Experiment.model_validate(tree | changed)


def shared(one: Experiment, other: Experiment) -> set[str]:
    """Stages that the first settings of two experiments share."""
    sharing = Sharing({"one": one, "other": other})
    stages = {*STAGES, "method:erm", "method:dro"}
    found = {s: sharing.owner("other", "a", s) for s in stages}
    assert set(found.values()) <= {("one", "a"), ("other", "a")}
    return {stage for stage, owner in found.items() if owner == ("one", "a")}


KERHRM = {"iterations", "direction", "network"}
POINTS = {"method:erm", "method:dro"}
ALL = {"data", "features", "method:released", *KERHRM, *POINTS}


def of(**sections: Any) -> dict[str, Any]:
    return {"settings": [{"methods": sections}]}


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, ALL),
        ({"title": "B", "table": "b", "notebook": "c"}, ALL),
        ({"settings": [{"data": {"r2": 0.8}}]}, set()),
        ({"seeds": 3}, set()),
        ({"seeds": {"data": [0, 1], "network": [0, 1], "clustering": 7}}, {"data"}),
        ({"seeds": {"data": [0, 1], "network": 7, "clustering": [0, 1]}}, {"data"}),
        ({"network": {"widths": [8]}}, {"data"}),
        (of(kerhrm={"k": [3]}), ALL - KERHRM),
        (of(kerhrm={"clustering": {"clusters": 3}}), ALL - KERHRM),
        (of(kerhrm={"invariance": {"alpha": [1.0]}}), ALL - KERHRM),
        (of(kerhrm={"iterations": 7}), ALL - {"direction", "network"}),
        (of(kerhrm={"network": {"steps": 7}}), ALL - {"network"}),
        (of(released={"k": 7}), ALL - {"method:released"}),
        (of(erm={"selected": {"steps": 7}}), ALL - {"method:erm"}),
        (of(dro={"selected": {"rho": 7.0}}), ALL - {"method:dro"}),
        (of(dro={"rules": {"a rule": {"rho": 7.0}}}), ALL - {"method:dro"}),
        (of(dro={"grid": {"rho": [7.0]}}), ALL),
    ],
)
def test_what_is_equal_is_shared(changed: dict[str, Any], kept: set[str]) -> None:
    settings = changed.pop("settings", [{}]) if "settings" in changed else [{}]
    assert shared(experiment({}), experiment(*settings, **changed)) == kept


def test_who_runs_a_stage_first_owns_it() -> None:
    runs = [["erm"], ["erm", "kerhrm"], ["kerhrm", "igd"]]
    one = experiment(*({"run": run} for run in runs))
    sharing = Sharing({"one": one})
    assert sharing.owner("one", "c", "data") == ("one", "a")
    assert sharing.owner("one", "c", "features") == ("one", "b")
    assert sharing.owner("one", "c", "iterations") == ("one", "b")
    assert sharing.owner("one", "c", "network") == ("one", "c")
    assert sharing.owner("one", "b", "method:erm") == ("one", "a")
    with pytest.raises(KeyError):
        sharing.owner("one", "a", "features")


def test_features_are_wide_enough_for_all() -> None:
    runs = [["kerhrm"], ["kerhrm", "released"], ["kerhrm"]]
    sections = [{"kerhrm": {"k": k}, "released": {"k": 30}} for k in ([3, 5], [4], [7])]
    both = [{"run": r, "methods": m} for r, m in zip(runs, sections, strict=True)]
    both[2] |= {"data": {"r2": 0.8}}
    sharing = Sharing({"one": experiment(*both)})
    assert [sharing.k_max("one", s) for s in "abc"] == [30, 30, 7]


def test_an_experiment_uses_its_own_settings_and_the_owners() -> None:
    one, other = experiment({}, {"data": {"r2": 0.8}}), experiment({"run": ["kerhrm"]})
    sharing = Sharing({"one": one, "other": other})
    assert sharing.used_by("one") == [("one", "a"), ("one", "b")]
    assert sharing.used_by("other") == [("other", "a"), ("one", "a")]


def test_a_search_has_its_own_candidates() -> None:
    one = experiment({"run": ["erm", "dro"]}, tuning={"settings": ["a"]})
    sharing = Sharing({"one": one, "tune-one": one.for_tuning()})
    assert sharing.owner("tune-one", "a", "method:dro") == ("tune-one", "a")
    assert len(one.for_tuning().options("a", "dro")) == 8
    assert len(one.options("a", "dro")) == 8  # the chosen one is among them
    assert len(experiment({"run": ["erm", "dro"]}).options("a", "dro")) == 1


def test_features_by_landmarks_are_others_but_points_are_the_same() -> None:
    one, other = experiment({}), experiment({}, features={"landmarks": 100})
    assert shared(one, other) == {"data", *POINTS}
    assert shared(other, experiment({}, features={"landmarks": 100})) == ALL
