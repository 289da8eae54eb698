"""Values that a configuration may have, what fits together, and what experiments make of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from configtools import Spoil, Told
from pydantic import ValidationError

from kerhrm.config.names import KEPT
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import PROTOCOLS, Experiment, Setting
from kerhrm.data.houses.options import HousesData
from kerhrm.data.registry import DATA_SETS
from kerhrm.data.sources.king_county import ROWS
from kerhrm.methods.registry import METHODS
from kerhrm.scoring.rules import RULES

SETTING = "experiments.classification.settings.r2=0.70"


# values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threads: -1", "threads = -1: write a number above 0"),
        ("threads: 1.5", "threads = 1.5: write a whole number"),
        ("experiments: {classification: {network: {widths: [-4]}}}",
         "experiments.classification.network.widths.0 = -4: write a number above 0"),
        ("experiments: {classification: {network: {module: nowhere}}}",
         "experiments.classification.network.module = 'nowhere': 'nowhere' is no entry point; "
         'write "module:name" of something that Python can import'),
        ("experiments: {classification: {table: table 9}}",
         "experiments.classification.table = 'table 9': it names files: write letters, digits, "
         "_ and -"),
        ("experiments: {classification: {protocol: recall}}",
         "experiments.classification.protocol = 'recall': choose 'accuracy', 'mean_error', "
         "'period', 'iterations' or 'groups'"),
        ("experiments: {classification: {data: {n_test: 0}}}",
         "experiments.classification.data.n_test = 0: write a number above 0"),
        ("experiments: {classification: {data: {r1: 1.5}}}",
         "experiments.classification.data.r1 = 1.5: write a number of at most 1"),
        ("experiments: {classification: {data: {sigma_s: .nan}}}",
         "experiments.classification.data.sigma_s = nan: write a number"),
        ("experiments: {regression: {data: {r_second: 0.5}}}",
         "experiments.regression.data.r_second = 0.5: a selection bias needs |r| > 1"),
        ("experiments: {regression: {data: {n_train: [10, -1]}}}",
         "experiments.regression.data.n_train.1 = -1: write a number above 0"),
        ("experiments: {regression: {data: {n_train: [10]}}}",
         "experiments.regression.data.n_train = [10]: 1 is missing; add it"),
        ("methods: {erm: {selected: {steps: many}}}",
         "methods.erm.selected.steps = 'many': write a whole number"),
        ("methods: {erm: {selected: {steps: yes}}}",
         "methods.erm.selected.steps = True: write a number, not a truth value"),
        ("methods: {kerhrm: {k: []}}", "methods.kerhrm.k = []: write at least 1"),
        ("methods: {kerhrm: {k: [5, 0]}}", "methods.kerhrm.k.1 = 0: write a number above 0"),
        ("methods: {kerhrm: {clustering: 3}}",
         "methods.kerhrm.clustering = 3: write 'key: value' lines"),
        ("methods: {kerhrm: {invariance: {alpha: [-1.0]}}}",
         "methods.kerhrm.invariance.alpha.0 = -1.0: write a number of at least 0"),
        ("methods: {kerhrm: {invariance: {alpha: [.inf]}}}",
         "methods.kerhrm.invariance.alpha.0 = inf: write a number"),
        ("methods: {kerhrm: {network: {cosine: cosine}}}",
         "methods.kerhrm.network.cosine = 'cosine': choose 'signed', 'absolute' or 'smoothed'"),
        ("methods: {released: {intercept: 3}}",
         "methods.released.intercept = 3: write true or false"),
        ("methods: {released: {environments_used: 1}}",
         "methods.released.environments_used = 1: write a number of at least 2"),
        ("methods: {dro: {selected: {rho: 0}}}",
         "methods.dro.selected.rho = 0: write a number above 0"),
        ("experiments: {classification: {tuning: {settings: []}}}",
         "experiments.classification.tuning.settings = []: write at least 1"),
        ("experiments: {classification: {tuning: {seeds: 0}}}",
         "experiments.classification.tuning.seeds = 0: write a number above 0"),
        ("experiments: {classification: {run: [emr]}}",
         "experiments.classification.run.0 = 'emr': no such method; did you mean 'erm'?"),
        ("experiments: {classification: {run: []}}",
         "experiments.classification.run = []: write at least 1"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_told(spoilt: Spoil, text: str, message: str) -> None:
    assert spoilt(text) == message


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:12"])
def test_every_device_can_be_chosen(folder: Path, device: str) -> None:
    assert resolve({"device": device}, folder).device == device


# names


@pytest.mark.parametrize("label", ["a/b", "a b", "", "..\\a"])
def test_a_setting_must_be_able_to_name_a_folder(spoilt: Spoil, label: str) -> None:
    text = spoilt(f"experiments: {{classification: {{settings: {{'{label}': {{}}}}}}}}")
    start = f"experiments.classification.settings.{label}: a setting's name is also a folder's: "
    assert text.startswith(start)


def test_no_two_settings_share_a_folder(spoilt: Spoil) -> None:
    text = spoilt("experiments: {classification: {settings: {'a,b': {}, a+b: {}}}}")
    assert text == (
        "experiments.classification.settings.a+b: its folder would be that of 'a,b', as + stands "
        "for a comma there: choose another name"
    )


@pytest.mark.parametrize("name", ["tune-mine", *KEPT])
def test_an_experiment_keeps_out_of_a_runs_folders(spoilt: Spoil, name: str) -> None:
    message = f"experiments.{name}: a run has a folder of that name already: choose another one"
    one = {"title": "A", "table": "a", "seeds": 1, "run": ["erm"], "settings": {"a": {}}}
    one["data"] = {"generator": "classification"}
    assert spoilt(json.dumps({"experiments": {name: one}})) == message


# what fits together


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiments: {classification: {data: {n_train_per_environment: 5}, "
         "methods: {kerhrm: {k: [5, 25]}}}}",
         "experiments.classification.methods.kerhrm.k = [5, 25]: k=25 exceeds the n=10 training "
         "points; lower k or raise n"),
        ("methods: {kerhrm: {k: [5, 2001, 7]}}",
         "methods.kerhrm.k = [5, 2001, 7]: k=2001 exceeds the n=2000 training points; "
         "lower k or raise n"),
        ("methods: {kerhrm_grid: {grid: {k: [5, 2001]}}}",
         "methods.kerhrm_grid.grid.k = [5, 2001]: k=2001 exceeds the n=2000 training points; "
         "lower k or raise n"),
        ("methods: {kerhrm: {clustering: {clusters: 2001}}}",
         "methods.kerhrm.clustering.clusters = 2001: K=2001 clusters exceed the n=2000 training "
         "points; lower K or raise n"),
        ("experiments: {classification: {settings: {r2=0.70: {methods: {released: {k: 2001}}}}}}",
         f"{SETTING}.methods.released.k = 2001: k=2001 exceeds the n=2000 training points; "
         "lower k or raise n"),
        *((f"experiments: {{classification: {{run: [erm, {name}]}}}}",
           f"experiments.classification.run = ['erm', '{name}']: "
           f"{name} needs kerhrm; add kerhrm to run")
          for name in ("igd", "released")),
        ("methods: {released: {environments_used: 3}}",
         "methods.released.environments_used = 3: environments_used=3 exceeds clusters=2"),
        ("methods: {released: {assignment: soft}}",
         "methods.released.assignment = 'soft': "
         '"soft" is EM in closed form: set centres to "ridge"'),
        ("experiments: {classification: {protocol: mean_error}}",
         "experiments.classification.protocol = 'mean_error': classification is scored by "
         "accuracy or iterations or groups"),
        ("experiments: {regression: {table: table1}}",
         "experiments.regression.table = 'table1': classification shows the same table with "
         "another notebook, protocol or in_all"),
        ("experiments: {classification: {tuning: {settings: [r2=0.75, r2=0.7]}}}",
         "experiments.classification.tuning.settings = ['r2=0.75', 'r2=0.7']: "
         "'r2=0.7' is no setting"),
        ("experiments: {classification: {seeds: 101}}",
         "experiments.classification.seeds = 101: tune would use the same; "
         "raise tuning.first_seed"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_told(spoilt: Spoil, text: str, message: str) -> None:
    assert spoilt(text) == message


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"data": {"n_train_per_environment": 5}},
         "settings.r2=0.70.methods.kerhrm.k: k=25 exceeds the n=10 training points; "
         "lower k or raise n"),
        ({"settings": {"r2=0.75": None}},
         "tuning.settings = ['r2=0.75', 'r2=0.75,H=I']: 'r2=0.75' is no setting"),
    ],
)  # fmt: skip
def test_what_no_longer_fits_is_told_where_it_stands(
    told: Told, own: dict[str, Any], message: str
) -> None:
    """Or would, where a default does not fit."""
    found = told({"experiments": {"classification": own}})
    assert found == f"config/experiments/classification.yaml: {message}"


def test_sizes_of_methods_that_do_not_run_do_not_matter(folder: Path) -> None:
    own = {"run": ["erm"], "data": {"n_train_per_environment": 5}}
    found = resolve({"experiments": {"classification": own}}, folder).experiments
    assert found["classification"].settings["r2=0.70"].data.n_points == 10


def test_as_many_dimensions_and_clusters_as_points_are_allowed(folder: Path) -> None:
    kerhrm = {"k": [10], "clustering": {"clusters": 10}}
    own = {"data": {"n_train_per_environment": 5}, "run": ["kerhrm"]}
    top = {"experiments": {"clusters": own | {"settings": dict.fromkeys(CLUSTERS)}}}
    top["experiments"]["clusters"]["settings"]["a"] = {"methods": {"kerhrm": kerhrm}}
    assert resolve(top, folder).experiments["clusters"].settings["a"].methods.kerhrm.k == [10]


CLUSTERS = ["r2=0.80", *(f"r2=0.80,K={k}" for k in (2, 3, 4, 5))]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_runs_with_what_it_needs(name: str) -> None:
    needs = METHODS[name].needs
    section = {"data": {"generator": "classification"}, "methods": {}}
    assert Setting.model_validate(section | {"run": [name, *filter(None, [needs])]})
    if needs:
        with pytest.raises(ValidationError, match=f"add {needs} to run"):
            Setting.model_validate(section | {"run": [name]})


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
        ({"n_test": 3}, "no such key; known are: generator"),
    ],
)
def test_house_prices_out_of_range(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HousesData.model_validate({"generator": "houses", **changed})


# seeds


def experiment(**changed: Any) -> Experiment:
    """Three settings that run different methods; the first two are tuned on."""
    data = {"generator": "classification"}
    runs = {"a": ["erm", "irm", "dro"], "b": ["kerhrm", "dro", "hrm"], "c": ["iga"]}
    settings = {
        name: {"data": data | {"r2": 0.7 + 0.05 * i}, "methods": {}, "run": run}
        for i, (name, run) in enumerate(runs.items())
    }
    tree = {"title": "A", "table": "table1", "seeds": 4, "settings": settings}
    tree["network"] = {"widths": [8]}
    return Experiment.model_validate(tree | {"tuning": {"settings": ["a", "b"]}} | changed)


@pytest.mark.parametrize(
    ("seeds", "streams", "names"),
    [
        (3, ([0, 1, 2],) * 3, [0, 1, 2]),
        ([7, 3], ([7, 3],) * 3, [7, 3]),
        ({"data": 5, "network": 5, "clustering": 5}, ([5],) * 3, [5]),
        ({"data": [1, 2], "network": [1, 2], "clustering": [1, 2]}, ([1, 2],) * 3, [1, 2]),
        ({"data": 0, "network": [0, 3], "clustering": 0}, ([0, 0], [0, 3], [0, 0]),
         ["data=0,network=0,clustering=0", "data=0,network=3,clustering=0"]),
    ],
)  # fmt: skip
def test_seeds_of_each_stream(seeds: Any, streams: Any, names: Any) -> None:
    found = experiment(seeds=seeds).seeds
    assert (found.data, found.network, found.clustering) == streams
    assert found.names == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yes", " = True: write a number, not a truth value"),
        ("0", " = 0: write a number above 0"),
        ("-3", " = -3: write a number above 0"),
        ("ten", " = 'ten': write 'key: value' lines"),
        ("[]", " = []: write at least 1"),
        ("[0, -1]", " = [0, -1]: write a number of at least 0"),
        ("[0, yes]", " = [0, True]: write a number, not a truth value"),
        ("[0, 1, 0]", " = [0, 1, 0]: a seed is given twice"),
        ("{data: 1, network: [0, 1]}", ": clustering is missing; add it"),
        ("{data: 1, network: [0, 1], clustering: [1, 2, 3]}",
         ": data, network and clustering differ in length"),
        ("{data: 1, network: [0, 0], clustering: 2}", ": a seed is given twice"),
        ("{data: -1, network: 0, clustering: 2}", ".data = -1: write a number of at least 0"),
        ("{data: 1, network: 0, clustering: 2, w0: 3}",
         ".w0 = 3: no such key; known are: data, network, clustering"),
    ],
)  # fmt: skip
def test_wrong_seeds_are_told(spoilt: Spoil, text: str, message: str) -> None:
    own = "title: A, table: a, run: [erm], data: {generator: classification}, settings: {a: {}}"
    found = spoilt(f"experiments: {{mine: {{{own}, seeds: {text}}}}}")
    assert found == f"experiments.mine.seeds{message}"


# protocol, tuning


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_data_tell_how_results_are_scored(name: str) -> None:
    settings = {"a": {"data": {"generator": name}, "methods": {}, "run": ["erm"]}}
    if DATA_SETS[name].task is None:
        pytest.skip("its options tell the task")
    usual = {"classification": "accuracy", "regression": "mean_error"}[DATA_SETS[name].task]
    assert experiment(settings=settings, tuning=None).protocol == usual
    for other in PROTOCOLS[DATA_SETS[name].task]:
        assert experiment(settings=settings, tuning=None, protocol=other).protocol == other


def test_tuning_runs_what_has_a_grid_on_seeds_of_its_own() -> None:
    whole = experiment()
    tuned = whole.for_tuning()
    assert whole.tuned_methods == ["erm", "irm", "dro", "hrm"]
    assert list(tuned.settings) == ["a", "b"]
    for name, setting in tuned.settings.items():
        assert setting.run == ["erm", "irm", "dro", "hrm"]
        assert setting.data == whole.settings[name].data
        assert setting.methods == whole.settings[name].methods
    assert tuned.seeds.names == [100, 101, 102, 103, 104]
    assert tuned.tuning is None
    assert (tuned.network, tuned.table, tuned.title) == (whole.network, "table1", "A")
    dro = whole.settings["a"].methods.dro
    assert tuned.options("a", "dro") == [c.model_dump() for c in dro.candidates(whole.budget)]
    assert whole == experiment()  # is as it was


@pytest.mark.parametrize("shipped", ["paper", "smoke"])
def test_no_table_uses_a_seed_of_the_search(folder: Path, shipped: str) -> None:
    experiments = resolve({"preset": shipped}, folder).experiments.values()
    tuned = [e for e in experiments if e.tuning]
    assert tuned
    for one in tuned:
        search = one.for_tuning()
        assert not set(search.seeds.data) & set(one.seeds.data)
        assert all(s.run for s in search.settings.values())


@pytest.mark.parametrize(
    ("seeds", "first", "fits"),
    [
        (4, 4, True),
        (4, 3, False),
        ([3, 4, 5], 6, True),
        ([3, 4, 5], 5, False),
        ([3, 10], 5, True),
        ([3, 9], 5, False),
    ],
)
def test_the_search_needs_other_seeds_than_the_table(seeds: Any, first: int, fits: bool) -> None:
    changed = {"seeds": seeds, "tuning": {"settings": ["a"], "first_seed": first}}
    if fits:
        one = experiment(**changed)
        assert not set(one.for_tuning().seeds.data) & set(one.seeds.data)
    else:
        with pytest.raises(ValidationError, match=r"raise tuning\.first_seed"):
            experiment(**changed)


def test_every_method_has_a_rule() -> None:
    assert {m.rule for m in METHODS.values() if m.grid} <= set(RULES) - {"oracle"}
