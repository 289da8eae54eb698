"""Values that a configuration may have, what fits together, and what experiments make of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import ValidationError

from kerhrm.config.data import HousesData
from kerhrm.config.methods import Methods
from kerhrm.config.resolve import read_yaml, resolve
from kerhrm.config.schema import TUNABLE, Experiment, Run, Setting, Tuning
from kerhrm.data.houses import ROWS
from kerhrm.methods.rules import RULES

CLASSIFICATION = "experiments.classification.settings.r2=0.70"

Told = Callable[[dict[str, Any], Path], str]
Spoil = Callable[[str], str]


# values


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("bootstrap: -1", "bootstrap", "-1"),
        ("device: gpu", "device", "'gpu'"),
        ("experiments: {classification: {seeds: 0}}", "experiments.classification.seeds", "0"),
        ("experiments: {classification: {hidden: [-4]}}",
         "experiments.classification.hidden.0", "-4"),
        ("experiments: {classification: {table: table9}}",
         "experiments.classification.table", "'table9'"),
        ("experiments: {classification: {data: {n_train_per_environment: -5}}}",
         f"{CLASSIFICATION}.data.n_train_per_environment", "-5"),
        ("experiments: {classification: {data: {n_test: 0}}}",
         f"{CLASSIFICATION}.data.n_test", "0"),
        ("experiments: {classification: {data: {r1: 1.5}}}", f"{CLASSIFICATION}.data.r1", "1.5"),
        ("experiments: {classification: {data: {sigma_s: .nan}}}",
         f"{CLASSIFICATION}.data.sigma_s", "nan"),
        ("experiments: {regression: {data: {r_second: 0.5}}}",
         "experiments.regression.settings.scenario=1,r=1.5.data.r_second", "0.5"),
        ("experiments: {regression: {data: {n_train: [10, -1]}}}",
         "experiments.regression.settings.scenario=1,r=1.5.data.n_train.1", "-1"),
        ("methods: {erm: {steps: -3}}", f"{CLASSIFICATION}.methods.erm.steps", "-3"),
        ("methods: {erm: {steps: many}}", f"{CLASSIFICATION}.methods.erm.steps", "'many'"),
        ("methods: {kerhrm: {k: []}}", f"{CLASSIFICATION}.methods.kerhrm.k", "[]"),
        ("methods: {kerhrm: {k: 3}}", f"{CLASSIFICATION}.methods.kerhrm.k", "3"),
        ("methods: {kerhrm: {k: [5, 0]}}", f"{CLASSIFICATION}.methods.kerhrm.k.1", "0"),
        ("methods: {kerhrm: {clustering: 3}}", f"{CLASSIFICATION}.methods.kerhrm.clustering", "3"),
        ("methods: {kerhrm: {clustering: {clusters: -2}}}",
         f"{CLASSIFICATION}.methods.kerhrm.clustering.clusters", "-2"),
        ("methods: {kerhrm: {clustering: {ridge: [0]}}}",
         f"{CLASSIFICATION}.methods.kerhrm.clustering.ridge.0", "0"),
        ("methods: {kerhrm: {invariance: {alpha: [-1.0]}}}",
         f"{CLASSIFICATION}.methods.kerhrm.invariance.alpha.0", "-1.0"),
        ("methods: {kerhrm: {invariance: {alpha: [.nan]}}}",
         f"{CLASSIFICATION}.methods.kerhrm.invariance.alpha.0", "nan"),
        ("methods: {kerhrm: {invariance: {alpha: [.inf]}}}",
         f"{CLASSIFICATION}.methods.kerhrm.invariance.alpha.0", "inf"),
        ("methods: {erm: {learning_rate: .inf}}",
         f"{CLASSIFICATION}.methods.erm.learning_rate", "inf"),
        ("methods: {kerhrm: {network: {cosine: cosine}}}",
         f"{CLASSIFICATION}.methods.kerhrm.network.cosine", "'cosine'"),
        ("methods: {dro: {selected: {rho: 0}}}",
         f"{CLASSIFICATION}.methods.dro.selected.rho", "0"),
        ("methods: {irm: {oracle: {loss: absolute}}}",
         f"{CLASSIFICATION}.methods.irm.oracle.loss", "'absolute'"),
        ("methods: {released: {environments_used: 1}}",
         f"{CLASSIFICATION}.methods.released.environments_used", "1"),
        ("experiments: {classification: {first_seed: -1}}",
         "experiments.classification.first_seed", "-1"),
        ("experiments: {classification: {tuning: {settings: []}}}",
         "experiments.classification.tuning.settings", "[]"),
        ("experiments: {classification: {tuning: {seeds: 0}}}",
         "experiments.classification.tuning.seeds", "0"),
        ("experiments: {classification: {run: [emr]}}", f"{CLASSIFICATION}.run.0", "'emr'"),
        ("experiments: {classification: {run: []}}", f"{CLASSIFICATION}.run", "[]"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_named(spoilt: Spoil, text: str, key: str, value: str) -> None:
    assert spoilt(text).startswith(f"configuration key '{key}' = {value}: ")


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:12"])
def test_every_device_can_be_chosen(folder: Path, device: str) -> None:
    assert resolve({"device": device}, folder).device == device


@pytest.mark.parametrize("label", ["a/b", "a b", "", "..\\a"])
def test_a_setting_must_be_able_to_name_a_folder(told: Told, folder: Path, label: str) -> None:
    path = folder / "experiments" / "classification.yaml"
    tree = read_yaml(path)
    tree["settings"] = {label: {}}
    path.write_text(yaml.safe_dump(tree))
    message = told({}, folder)
    assert message.startswith(f"configuration key 'experiments.classification.settings.{label}")
    assert f" = {label!r}: a setting's name is also a folder's: " in message


def test_an_unknown_generator_is_told(spoilt: Spoil) -> None:
    message = spoilt("experiments: {classification: {data: {generator: clasification}}}")
    assert message.startswith(f"configuration key '{CLASSIFICATION}.data'")
    assert "'clasification'" in message
    assert "'classification', 'colored_mnist', 'regression', 'houses'" in message


# what fits together


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiments: {classification: {data: {n_train_per_environment: 5}}}",
         "k=25 exceeds the n=10 training points; "
         "lower methods.kerhrm.k or raise the sample size"),
        ("methods: {kerhrm: {k: [5, 2001, 7]}}",
         "k=2001 exceeds the n=2000 training points; "
         "lower methods.kerhrm.k or raise the sample size"),
        ("methods: {kerhrm: {clustering: {clusters: 2001}}}",
         "K=2001 clusters exceed the n=2000 training points; "
         "lower methods.kerhrm.clustering.clusters"),
        ("experiments: {classification: {run: [erm, igd]}}",
         "igd trains along the direction that kerhrm finds; add kerhrm to run"),
        ("experiments: {classification: {run: [erm, true_environments]}}",
         "true_environments uses the features and options of kerhrm; add kerhrm to run"),
        ("experiments: {classification: {run: [released, erm]}}",
         "released uses the features of kerhrm; add kerhrm to run"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_told(spoilt: Spoil, text: str, message: str) -> None:
    assert spoilt(text) == f"configuration key '{CLASSIFICATION}': {message}"


def test_sizes_of_methods_that_do_not_run_do_not_matter(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "experiments: {classification: {run: [erm], data: {n_train_per_environment: 5}}}"
    )
    settings = resolve({"preset": "smoke"}, folder).experiments["classification"].settings
    assert settings["r2=0.70"].data.n_points == 10


def test_as_many_dimensions_and_clusters_as_points_are_allowed(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "experiments: {classification: {data: {n_train_per_environment: 5},"
        " methods: {kerhrm: {k: [10], clustering: {clusters: 10}}}}}"
    )
    resolve({"preset": "smoke"}, folder)


# what methods need of each other


@pytest.mark.parametrize("name", ["igd", "true_environments", "released"])
def test_what_builds_on_kerhrm_runs_with_it(name: str) -> None:
    data = {"generator": "classification"}
    alone = {"data": data, "methods": {}, "run": ["erm", name]}
    with pytest.raises(ValidationError, match="add kerhrm to run"):
        Setting.model_validate(alone)
    both = Setting.model_validate(alone | {"run": [name, "kerhrm"]})
    assert both.run == [name, "kerhrm"]


@pytest.mark.parametrize(
    "name", sorted(set(get_args(Run)) - {"igd", "true_environments", "released"})
)
def test_all_others_run_alone(name: str) -> None:
    section = {"data": {"generator": "classification"}, "methods": {}, "run": [name]}
    assert Setting.model_validate(section).run == [name]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"environments_used": 3}, "environments_used=3 exceeds clusters=2"),
        ({"assignment": "soft"}, 'set centres to "ridge"'),
        ({"theta": "converged"}, 'needs the quadratic penalty "gradient_variance"'),
    ],
)
def test_options_of_the_released_procedure_fit(
    spoilt: Spoil, changed: dict[str, Any], message: str
) -> None:
    text = spoilt(json.dumps({"methods": {"released": changed}}))
    assert text.startswith(f"configuration key '{CLASSIFICATION}.methods.released': ")
    assert message in text


# house prices


@pytest.mark.parametrize("scale", ["train", "all"])
def test_house_prices(scale: str) -> None:
    section = {"generator": "houses", "scale": scale, "price_scale": scale}
    data = HousesData.model_validate(section)
    assert (data.scale, data.price_scale) == (scale, scale)
    assert data.n_points == round(0.7 * ROWS[0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train_fraction": 0.85}, "must stay below 1"),
        ({"train_fraction": 0.5, "validation_fraction": 0.6}, "must stay below 1"),
        ({"train_fraction": 0}, "greater than 0"),
        ({"validation_fraction": -0.1}, "greater than 0"),
        ({"scale": "test"}, "'train' or 'all'"),
        ({"price_scale": None}, "'train' or 'all'"),
        ({"n_test": 3}, "Extra inputs are not permitted"),
    ],
)
def test_house_prices_out_of_range(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HousesData.model_validate({"generator": "houses", **changed})


def test_a_generators_key_is_told_without_its_name(spoilt: Spoil) -> None:
    """The generator's name stands in no file above the key."""
    data = "{generator: houses, r2: 0.5}"
    message = spoilt(
        f"experiments: {{classification: {{settings: {{r2=0.70: {{data: {data}}}}}}}}}"
    )
    assert message.startswith(f"unknown configuration key '{CLASSIFICATION}.data.r2' (value 0.5); ")


# tuning


def experiment(**changed: Any) -> Experiment:
    """Three settings that run different methods; the first two are tuned on."""
    data = {"generator": "classification"}
    runs = {"a": ["erm", "irm", "dro"], "b": ["kerhrm", "dro", "hrm"], "c": ["iga"]}
    settings = {
        name: {"data": data | {"r2": 0.7 + 0.05 * i}, "methods": {}, "run": run}
        for i, (name, run) in enumerate(runs.items())
    }
    tree = {"title": "A", "table": "table1", "seeds": 4, "settings": settings, "hidden": [8]}
    return Experiment.model_validate(tree | {"tuning": {"settings": ["a", "b"]}} | changed)


def test_replicates_are_numbered_from_the_first() -> None:
    assert experiment().replicates == [0, 1, 2, 3]
    assert experiment(first_seed=7, seeds=2).replicates == [7, 8]


@pytest.mark.parametrize(
    ("table", "protocol"),
    [
        ("table1", "accuracy"),
        ("table2", "accuracy"),
        ("table3", "mean_error"),
        ("table4", "accuracy"),
        ("figure2", "accuracy"),
        ("figure3", "period"),
    ],
)
def test_the_table_tells_how_results_are_scored(table: str, protocol: str) -> None:
    assert experiment(table=table).protocol == protocol


def test_tuning_runs_what_has_a_grid_on_seeds_of_its_own() -> None:
    whole = experiment()
    tuned = whole.for_tuning()
    assert whole.tuned_methods == ["irm", "dro", "hrm"]
    assert list(tuned.settings) == ["a", "b"]
    for name, setting in tuned.settings.items():
        assert setting.run == ["irm", "dro", "hrm"]
        assert setting.data == whole.settings[name].data
        assert setting.methods == whole.settings[name].methods
    assert tuned.replicates == [100, 101, 102]
    assert tuned.tuning is None
    assert (tuned.hidden, tuned.table, tuned.title) == ([8], "table1", "A")
    # the experiment itself is as it was
    assert whole == experiment()


@pytest.mark.parametrize("shipped", ["paper", "smoke"])
def test_no_table_uses_a_seed_of_the_search(folder: Path, shipped: str) -> None:
    experiments = resolve({"preset": shipped}, folder).experiments.values()
    tuned = [e for e in experiments if e.tuning]
    assert tuned
    for one in tuned:
        search = one.for_tuning()
        assert not set(search.replicates) & set(one.replicates)
        assert all(s.run for s in search.settings.values())


def test_a_setting_that_is_no_setting_cannot_be_tuned_on(spoilt: Spoil) -> None:
    assert spoilt("experiments: {classification: {tuning: {settings: [r2=0.75, r2=0.7]}}}") == (
        "configuration key 'experiments.classification': "
        "tuning.settings names 'r2=0.7', which is no setting"
    )
    # nor can one that a preset leaves out
    assert spoilt("experiments: {classification: {settings: {r2=0.75: null}}}") == (
        "configuration key 'experiments.classification': "
        "tuning.settings names 'r2=0.75', which is no setting"
    )


@pytest.mark.parametrize(
    ("seeds", "first_seed", "search", "fits"),
    [(4, 0, 4, True), (4, 0, 3, False), (4, 3, 7, True), (4, 3, 6, False), (101, 0, 100, False)],
)
def test_the_search_needs_other_seeds_than_the_table(
    seeds: int, first_seed: int, search: int, fits: bool
) -> None:
    changed = {
        "seeds": seeds,
        "first_seed": first_seed,
        "tuning": {"settings": ["a"], "first_seed": search},
    }
    if fits:
        assert not set(experiment(**changed).for_tuning().replicates) & set(
            experiment(**changed).replicates
        )
    else:
        with pytest.raises(ValidationError, match=r"the table's seeds; raise tuning\.first_seed"):
            experiment(**changed)


def test_overlapping_seeds_are_told_in_one_line(spoilt: Spoil) -> None:
    assert spoilt("experiments: {classification: {seeds: 101}}") == (
        "configuration key 'experiments.classification': "
        "tuning would use the table's seeds; raise tuning.first_seed"
    )


@pytest.mark.parametrize("name", ["a/b", "", "a b"])
def test_a_tuned_settings_name_is_a_folders(name: str) -> None:
    with pytest.raises(ValidationError, match="also a folder's"):
        Tuning(settings=[name])


def test_every_tuned_method_has_options_and_a_rule() -> None:
    assert set(TUNABLE) <= set(get_args(Run)) & set(Methods.model_fields)
    assert set(TUNABLE.values()) <= set(RULES) - {"oracle"}
