"""The shipped files resolve, and files merge in a fixed order."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kerhrm.config.data import ClassificationData, RegressionData
from kerhrm.config.methods import DRO, Baseline, Methods
from kerhrm.config.resolve import MACHINE_KEYS, merge, read_yaml, resolve
from kerhrm.config.schema import TUNABLE, Config

SHIPPED = Path(__file__).resolve().parents[3] / "config"
PRESETS = sorted(p.stem for p in (SHIPPED / "presets").glob("*.yaml"))
METHODS = sorted(p.stem for p in (SHIPPED / "methods").glob("*.yaml"))
EXPERIMENTS = sorted(p.stem for p in (SHIPPED / "experiments").glob("*.yaml"))

Told = Callable[[dict[str, Any], Path], str]
Spoil = Callable[[str], str]


# what is shipped


@pytest.mark.parametrize("preset", PRESETS)
def test_every_shipped_preset_resolves(preset: str) -> None:
    """With what `tune` has written, too."""
    config = resolve({"preset": preset}, SHIPPED)
    assert config.preset == preset
    assert sorted(config.experiments) == EXPERIMENTS


def test_the_shipped_files_are_seen() -> None:
    assert {"paper", "smoke"} <= set(PRESETS)
    assert set(METHODS) == set(Methods.model_fields)
    assert {"classification", "clusters", "colored_mnist", "regression"} <= set(EXPERIMENTS)


def test_the_shipped_top_file_resolves(folder: Path) -> None:
    top = read_yaml(folder / "config.yaml")
    assert resolve(top, folder) == resolve({}, folder)
    assert resolve(top, folder).preset == "paper"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_file_says_what_the_schema_says(method: str) -> None:
    """Whoever calls the package without the files gets the same numbers.

    Grids apart, and the loss, which depends on the task.
    """
    content = read_yaml(SHIPPED / "methods" / f"{method}.yaml")
    assert content
    found = getattr(Methods.model_validate({method: content}), method)
    default = getattr(Methods(), method)
    if isinstance(found, Baseline):
        assert found.grid
        loss = {"loss"} & set(type(found.selected).model_fields)
        assert found.selected.model_dump(exclude=loss) == default.selected.model_dump(exclude=loss)
        assert found.oracle is default.oracle is None
    else:
        assert found == default


def test_methods_with_a_grid_are_those_that_can_be_tuned() -> None:
    methods = {name: getattr(Methods(), name) for name in Methods.model_fields}
    assert {name for name, m in methods.items() if isinstance(m, Baseline)} == set(TUNABLE)


def test_the_paper_preset_changes_nothing(folder: Path) -> None:
    shipped = resolve({}, folder)
    setting = shipped.experiments["classification"].settings["r2=0.70"]
    assert setting.data == ClassificationData(generator="classification")
    assert setting.methods.kerhrm == Methods().kerhrm
    (folder / "presets" / "paper.yaml").write_text("")
    assert resolve({}, folder) == shipped


def test_settings_take_their_own_data(folder: Path) -> None:
    settings = resolve({}, folder).experiments["regression"].settings
    for scenario in (1, 2):
        for r in (1.5, 1.9, 2.3):
            data = settings[f"scenario={scenario},r={r}"].data
            assert isinstance(data, RegressionData)
            assert (data.scenario, data.r) == (scenario, r)


@pytest.mark.parametrize("preset", PRESETS)
def test_plain_content_comes_back_as_it_was(folder: Path, preset: str) -> None:
    write(folder, "tuned/regression-oracle", {"hrm": {"oracle": {"penalty": 3.0}}})
    config = resolve({"preset": preset, "raw_dir": "raw"}, folder)
    assert Config.model_validate(config.plain()) == config
    assert json.loads(json.dumps(config.plain(), allow_nan=False)) == config.plain()


# merging


@pytest.mark.parametrize(
    ("base", "changes", "expected"),
    [
        ({}, {}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, {"a": {"b": 1, "c": 3}}),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"d": 3}}}, {"a": {"b": {"c": 1, "d": 3}}}),
        ({"a": [1, 2, 3]}, {"a": [4]}, {"a": [4]}),
        ({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, {"a": [{"c": 1}]}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
        ({"a": 2}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_mappings_merge_and_all_else_is_replaced(
    base: dict[str, Any], changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert merge(base, changes) == expected


def test_merging_leaves_its_arguments_alone() -> None:
    base, changes = {"a": {"b": {"c": 1}}, "d": [1]}, {"a": {"b": {"e": 2}}, "d": [2]}
    before = copy.deepcopy((base, changes))
    merge(base, changes)
    assert (base, changes) == before


def test_resolving_leaves_the_command_line_alone(folder: Path) -> None:
    top = {"preset": "smoke", "device": "cpu"}
    resolve(top, folder)
    assert top == {"preset": "smoke", "device": "cpu"}


def write(folder: Path, name: str, tree: dict[str, Any]) -> None:
    path = folder / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(tree))


def test_the_later_source_wins(folder: Path) -> None:
    """Each source on top of all earlier ones; the values count the sources."""
    tuned, oracle = "tuned/classification", "tuned/classification-oracle"
    shipped, smoke = "experiments/classification", "presets/smoke"
    sources: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], Any]]] = [
        ("methods/dro", lambda tree, dro: tree.update(dro)),
        (tuned, lambda tree, dro: tree.update(dro=dro)),
        (oracle, lambda tree, dro: tree.update(dro=dro)),
        (smoke, lambda tree, dro: tree.update(methods={"dro": dro})),
        (shipped, lambda tree, dro: tree.update(methods={"dro": dro})),
        (
            smoke,
            lambda tree, dro: tree.update(
                experiments={"classification": {"methods": {"dro": dro}}}
            ),
        ),
        (shipped, lambda tree, dro: tree["settings"]["r2=0.70"].update(methods={"dro": dro})),
        (
            smoke,
            lambda tree, dro: tree["experiments"]["classification"].update(
                settings={"r2=0.70": {"methods": {"dro": dro}}}
            ),
        ),
    ]
    for name in (smoke, tuned, oracle):
        write(folder, name, {})
    seen = []
    places = [("classification", "r2=0.70"), ("classification", "r2=0.75")]
    places += [("regression", "scenario=1,r=1.5")]
    for value, (name, change) in enumerate(sources, start=1001):
        tree = read_yaml(folder / f"{name}.yaml")
        change(tree, {"selected": {"steps": value}})
        write(folder, name, tree)
        experiments = resolve({"preset": "smoke"}, folder).experiments
        chosen = [experiments[e].settings[s].methods.dro.selected for e, s in places]
        seen.append([options.steps - 1000 for options in chosen])
    assert seen == [
        [1, 1, 1], [2, 2, 1], [3, 3, 1], [4, 4, 4], [5, 5, 4], [6, 6, 4], [7, 6, 4], [8, 6, 4]
    ]  # fmt: skip


def test_what_was_tuned_is_for_one_experiment(folder: Path) -> None:
    before = resolve({}, folder).experiments
    write(folder, "tuned/regression", {"dro": {"selected": {"rho": 0.25}}})
    write(folder, "tuned/regression-oracle", {"dro": {"oracle": {"rho": 2.0, "steps": 7}}})
    after = resolve({}, folder).experiments
    assert all(after[name] == before[name] for name in before if name != "regression")
    for label, setting in after["regression"].settings.items():
        old, new = before["regression"].settings[label].methods, setting.methods
        assert new.model_copy(update={"dro": old.dro}) == old
        assert new.dro.selected == old.dro.selected.model_copy(update={"rho": 0.25})
        assert new.dro.oracle == DRO(rho=2.0, steps=7)
        assert old.dro.oracle is None


def test_a_preset_can_go_without_the_oracle(folder: Path) -> None:
    write(folder, "tuned/regression-oracle", {"dro": {"oracle": {"rho": 2.0}}})
    write(folder, "presets/smoke", {"methods": {"dro": {"oracle": None}}})
    for preset, expected in (("paper", DRO(rho=2.0)), ("smoke", None)):
        settings = resolve({"preset": preset}, folder).experiments["regression"].settings
        found = [setting.methods.dro.oracle for setting in settings.values()]
        assert found == [expected] * len(settings)


def test_a_wrong_choice_of_tune_is_told(told: Told, folder: Path) -> None:
    write(folder, "tuned/regression", {"dro": {"selected": {"roh": 0.25}}})
    at = "experiments.regression.settings.scenario=1,r=1.5.methods.dro.selected.roh"
    expected = f"unknown configuration key '{at}' (value 0.25); did you mean 'rho'?"
    assert told({}, folder) == expected


def test_a_preset_replaces_lists_and_merges_mappings(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "methods: {kerhrm: {k: [3], clustering: {restarts: 2}}}\n"
        "experiments: {classification: {data: {n_test: 7}, settings: {r2=0.70: {run: [erm]}}}}\n"
    )
    settings = resolve({"preset": "smoke"}, folder).experiments["classification"].settings
    default = Methods().kerhrm
    for label, r2 in (("r2=0.70", 0.70), ("r2=0.75", 0.75)):
        kerhrm, data = settings[label].methods.kerhrm, settings[label].data
        assert kerhrm.k == [3]
        assert kerhrm.clustering == default.clustering.model_copy(update={"restarts": 2})
        assert (kerhrm.iterations, kerhrm.network) == (default.iterations, default.network)
        assert data == ClassificationData(generator="classification", n_test=7, r2=r2)
    assert settings["r2=0.70"].run == ["erm"]
    assert settings["r2=0.75"].run == read_yaml(SHIPPED / "experiments/classification.yaml")["run"]


def test_a_preset_leaves_a_setting_out(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "experiments: {classification: {settings: {r2=0.80: null}}}"
    )
    smoke, paper = (resolve({"preset": p}, folder).experiments for p in ("smoke", "paper"))
    shipped = list(read_yaml(SHIPPED / "experiments/classification.yaml")["settings"])
    assert list(paper["classification"].settings) == shipped
    assert list(smoke["classification"].settings) == [s for s in shipped if s != "r2=0.80"]
    assert smoke["regression"] == paper["regression"]


def test_an_experiment_keeps_a_setting(spoilt: Spoil) -> None:
    shipped = read_yaml(SHIPPED / "experiments/clusters.yaml")["settings"]
    nothing = json.dumps(dict.fromkeys(shipped))
    message = spoilt(f"experiments: {{clusters: {{settings: {nothing}}}}}")
    assert message.startswith("configuration key 'experiments.clusters.settings': ")


@pytest.mark.parametrize("text", ["methods:", "experiments: {classification:}", "methods: {erm: }"])
def test_a_key_without_a_value_says_nothing(folder: Path, text: str) -> None:
    (folder / "presets" / "smoke.yaml").write_text(text)
    (folder / "presets" / "paper.yaml").write_text("")
    smoke, paper = (resolve({"preset": p}, folder).plain() for p in ("smoke", "paper"))
    assert smoke | {"preset": "paper"} == paper


def test_the_machine_overrides_the_preset(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text("{bootstrap: 200, threads: 2, device: cpu}")
    assert resolve({}, folder).bootstrap == 10_000
    config = resolve({"preset": "smoke", "bootstrap": 50, "device": "cuda:1"}, folder)
    assert (config.bootstrap, config.threads, config.device) == (50, 2, "cuda:1")


def test_the_machine_keys_are_all_but_preset_and_experiments() -> None:
    assert {"preset", "experiments", *MACHINE_KEYS} == set(Config.model_fields)
    assert not {"preset", "experiments"} & set(MACHINE_KEYS)
