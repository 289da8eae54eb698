"""Files merge in a fixed order, and whatever is wrong is told in one line: key, value, cure."""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kerhrm.config.resolve import MACHINE_KEYS, merge, read_yaml, resolve
from kerhrm.config.data import ClassificationData, RegressionData
from kerhrm.config.methods import Methods
from kerhrm.config.schema import Config
from kerhrm.errors import KerhrmError

SHIPPED = Path(__file__).resolve().parents[3] / "config"
PRESETS = sorted(p.stem for p in (SHIPPED / "presets").glob("*.yaml"))
METHODS = sorted(p.stem for p in (SHIPPED / "methods").glob("*.yaml"))
EXPERIMENTS = sorted(p.stem for p in (SHIPPED / "experiments").glob("*.yaml"))
CLASSIFICATION = "experiments.classification.settings.r2=0.70"

Spoil = Callable[[str], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped files, free to change."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "config"))


def told(top: dict[str, Any], folder: Path) -> str:
    """The message of a refused configuration: one line."""
    with pytest.raises(KerhrmError) as caught:
        resolve(top, folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def spoilt(folder: Path) -> Spoil:
    """The message when a preset, over the paper's sizes, says ``text`` alone."""

    def message(text: str) -> str:
        (folder / "presets" / "smoke.yaml").write_text(text)
        return told({"preset": "smoke"}, folder)

    return message


# what is shipped


@pytest.mark.parametrize("preset", PRESETS)
def test_every_shipped_preset_resolves(folder: Path, preset: str) -> None:
    config = resolve({"preset": preset}, folder)
    assert config.preset == preset
    assert sorted(config.experiments) == EXPERIMENTS


def test_the_shipped_files_are_seen() -> None:
    assert {"paper", "smoke"} <= set(PRESETS)
    assert {"erm", "kerhrm"} <= set(METHODS)
    assert {"classification", "colored_mnist", "regression"} <= set(EXPERIMENTS)


def test_the_shipped_top_file_resolves(folder: Path) -> None:
    top = read_yaml(folder / "config.yaml")
    assert resolve(top, folder) == resolve({}, folder)
    assert resolve(top, folder).preset == "paper"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_file_says_what_the_schema_says(method: str) -> None:
    """Whoever calls the package without the files gets the same numbers."""
    content = read_yaml(SHIPPED / "methods" / f"{method}.yaml")
    assert content
    assert Methods.model_validate({method: content}) == Methods()


def test_the_paper_preset_changes_nothing(folder: Path) -> None:
    config = resolve({"preset": "paper"}, folder)
    setting = config.experiments["classification"].settings["r2=0.70"]
    assert setting.methods == Methods()
    assert setting.data == ClassificationData(generator="classification")


def test_settings_take_their_own_data(folder: Path) -> None:
    settings = resolve({}, folder).experiments["regression"].settings
    for scenario in (1, 2):
        for r in (1.5, 1.9, 2.3):
            data = settings[f"scenario={scenario},r={r}"].data
            assert isinstance(data, RegressionData)
            assert (data.scenario, data.r) == (scenario, r)


@pytest.mark.parametrize("preset", PRESETS)
def test_plain_content_comes_back_as_it_was(folder: Path, preset: str) -> None:
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


def test_the_later_source_wins(folder: Path) -> None:
    """Each source on top of all earlier ones; the values count the sources."""
    sources: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], Any]]] = [
        ("methods/erm", lambda tree, erm: tree.update(erm)),
        ("presets/smoke", lambda tree, erm: tree.update(methods={"erm": erm})),
        ("experiments/classification", lambda tree, erm: tree.update(methods={"erm": erm})),
        (
            "presets/smoke",
            lambda tree, erm: tree.update(
                experiments={"classification": {"methods": {"erm": erm}}}
            ),
        ),
        (
            "experiments/classification",
            lambda tree, erm: tree["settings"]["r2=0.70"].update(methods={"erm": erm}),
        ),
        (
            "presets/smoke",
            lambda tree, erm: tree["experiments"]["classification"].update(
                settings={"r2=0.70": {"methods": {"erm": erm}}}
            ),
        ),
    ]
    (folder / "presets" / "smoke.yaml").write_text("")
    seen = []
    places = [("classification", "r2=0.70"), ("classification", "r2=0.75")]
    places += [("regression", "scenario=1,r=1.5")]
    for value, (name, change) in enumerate(sources, start=1001):
        path = folder / f"{name}.yaml"
        tree = read_yaml(path)
        change(tree, {"steps": value})
        path.write_text(yaml.safe_dump(tree))
        experiments = resolve({"preset": "smoke"}, folder).experiments
        seen.append([experiments[e].settings[s].methods.erm.steps - 1000 for e, s in places])
    assert seen == [[1, 1, 1], [2, 2, 2], [3, 3, 2], [4, 4, 2], [5, 4, 2], [6, 4, 2]]


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
    assert settings["r2=0.75"].run == ["erm", "kerhrm", "igd"]


def test_a_preset_leaves_a_setting_out(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "experiments: {classification: {settings: {r2=0.75: null}}}"
    )
    smoke, paper = (resolve({"preset": p}, folder).experiments for p in ("smoke", "paper"))
    assert list(smoke["classification"].settings) == ["r2=0.70", "r2=0.80"]
    assert list(paper["classification"].settings) == ["r2=0.70", "r2=0.75", "r2=0.80"]
    assert smoke["regression"] == paper["regression"]


def test_an_experiment_keeps_a_setting(spoilt: Spoil) -> None:
    nothing = "{r2=0.70: null, r2=0.75: null, r2=0.80: null}"
    message = spoilt(f"experiments: {{classification: {{settings: {nothing}}}}}")
    assert message.startswith("configuration key 'experiments.classification.settings': ")


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


# what is refused: the command line


@pytest.mark.parametrize(
    ("top", "message"),
    [
        ({"preset": "smok"}, "unknown preset 'smok'; did you mean 'smoke'?"),
        ({"preset": "zzz"}, "unknown preset 'zzz'; known are: paper, smoke"),
        ({"preset": None}, "unknown preset 'None'; known are: paper, smoke"),
        (
            {"devise": "cpu"},
            "unknown configuration key 'devise' (value 'cpu'); did you mean 'device'?",
        ),
        ({"experiments": {}}, "unknown configuration key 'experiments' (value {}); known are: "),
        ({"device": "gpu"}, "configuration key 'device' = 'gpu': choose auto, cpu, cuda or "),
        ({"device": "cuda:"}, "configuration key 'device' = 'cuda:': choose auto, cpu, cuda or "),
        ({"device": 3}, "configuration key 'device' = 3: Input should be a valid string"),
        ({"bootstrap": 0}, "configuration key 'bootstrap' = 0: Input should be greater than 0"),
        ({"threads": -1}, "configuration key 'threads' = -1: Input should be greater than 0"),
        ({"on_missing": "shrug"}, "configuration key 'on_missing' = 'shrug': Input should be "),
        ({"results": 3}, "configuration key 'results' = 3: Input should be a valid string"),
        ({"results": ""}, "configuration key 'results' = '': String should have at least 1"),
        ({3: 4}, "unknown configuration key '3' (value 4); known are: "),
    ],
)
def test_the_command_line_is_checked(folder: Path, top: dict[Any, Any], message: str) -> None:
    assert told(top, folder).startswith(message)


# what is refused: a key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methods: {emr: {}}",
         "unknown entry 'methods.emr' in presets/smoke.yaml; did you mean 'erm'?"),
        ("experiments: {clasification: {}}",
         "unknown entry 'experiments.clasification' in presets/smoke.yaml; "
         "did you mean 'classification'?"),
        ("experiments: {1: {}}",
         "unknown entry 'experiments.1' in presets/smoke.yaml; "
         f"known are: {', '.join(EXPERIMENTS)}"),
    ],
)  # fmt: skip
def test_an_unknown_experiment_or_method_of_a_preset_is_told(
    spoilt: Spoil, text: str, message: str
) -> None:
    assert spoilt(text) == message


@pytest.mark.parametrize("content", ["{}", "null"])
@pytest.mark.parametrize(
    ("label", "cure"),
    [("r2=0.08", "did you mean 'r2=0.80'?"), ("x", "known are: r2=0.70, r2=0.75, r2=0.80")],
)
def test_an_unknown_setting_of_a_preset_is_told(
    spoilt: Spoil, label: str, cure: str, content: str
) -> None:
    message = spoilt(f"experiments: {{classification: {{settings: {{{label}: {content}}}}}}}")
    assert message == f"unknown setting '{label}' of classification in presets/smoke.yaml; {cure}"


@pytest.mark.parametrize(
    ("text", "key", "value", "cure"),
    [
        ("metods: {}", "metods", "{}", "methods"),
        ("bootstrp: 3", "bootstrp", "3", "bootstrap"),
        ("methods: {erm: {step: 3}}", f"{CLASSIFICATION}.methods.erm.step", "3", "steps"),
        ("methods: {kerhrm: {itrations: 3}}",
         f"{CLASSIFICATION}.methods.kerhrm.itrations", "3", "iterations"),
        ("methods: {kerhrm: {clustering: {restart: 3}}}",
         f"{CLASSIFICATION}.methods.kerhrm.clustering.restart", "3", "restarts"),
        ("methods: {kerhrm: {invariance: {alhpa: [1.0]}}}",
         f"{CLASSIFICATION}.methods.kerhrm.invariance.alhpa", "[1.0]", "alpha"),
        ("experiments: {classification: {data: {n_tset: 3}}}",
         f"{CLASSIFICATION}.data.n_tset", "3", "n_test"),
        ("experiments: {classification: {seed: 3}}",
         "experiments.classification.seed", "3", "seeds"),
        ("experiments: {classification: {settings: {r2=0.70: {dta: 3}}}}",
         f"{CLASSIFICATION}.dta", "3", "data"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_told_with_the_nearest(
    spoilt: Spoil, text: str, key: str, value: str, cure: str
) -> None:
    expected = f"unknown configuration key '{key}' (value {value}); did you mean '{cure}'?"
    assert spoilt(text) == expected


def test_a_missing_key_is_told(folder: Path) -> None:
    path = folder / "experiments" / "classification.yaml"
    tree = read_yaml(path)
    del tree["table"]
    path.write_text(yaml.safe_dump(tree))
    message = told({}, folder)
    assert message == "configuration key 'experiments.classification.table' is missing; add it"


# what is refused: no mapping


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("methods: 3", "methods", "3"),
        ("methods: erm", "methods", "'erm'"),
        ("methods: {erm: 3}", "methods.erm", "3"),
        ("experiments: [classification]", "experiments", "['classification']"),
        ("experiments: {classification: 3}", "experiments.classification", "3"),
        ("experiments: {classification: {data: 3}}", "experiments.classification.data", "3"),
        ("experiments: {classification: {methods: 3}}", "experiments.classification.methods", "3"),
        ("experiments: {classification: {settings: [a]}}",
         "experiments.classification.settings", "['a']"),
        ("experiments: {classification: {settings: {r2=0.70: hello}}}", CLASSIFICATION, "'hello'"),
        ("experiments: {classification: {settings: {r2=0.70: {data: 3}}}}",
         f"{CLASSIFICATION}.data", "3"),
        ("experiments: {classification: {settings: {r2=0.70: {methods: 3}}}}",
         f"{CLASSIFICATION}.methods", "3"),
    ],
)  # fmt: skip
def test_a_value_where_a_mapping_belongs_is_named(
    spoilt: Spoil, text: str, key: str, value: str
) -> None:
    expected = f"configuration key '{key}' = {value} is no mapping; write 'key: value' lines"
    assert spoilt(text) == expected


@pytest.mark.parametrize("settings", ["", "3"])
def test_a_preset_over_an_experiment_without_settings_is_told(
    spoilt: Spoil, folder: Path, settings: str
) -> None:
    (folder / "experiments" / "classification.yaml").write_text(f"settings: {settings}")
    spoilt("experiments: {classification: {settings: {r2=0.70: {}}}}")


# what is refused: a file


@pytest.mark.parametrize("name", ["presets/paper", "methods/erm", "experiments/classification"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [b", " is not valid YAML: "),
        ("a: b: c", " is not valid YAML: "),
        ("- a", " holds list; write 'key: value' lines"),
        ("3", " holds int; write 'key: value' lines"),
    ],
)
def test_a_file_that_is_no_mapping_is_told(
    folder: Path, name: str, text: str, message: str
) -> None:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    assert told({}, folder).startswith(f"{path}{message}")


def test_an_empty_file_is_an_empty_mapping(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# nothing\n")
    assert read_yaml(tmp_path / "a.yaml") == {}


def test_yaml_makes_no_python_objects(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: !!python/object/apply:os.getcwd []")
    with pytest.raises(KerhrmError, match=r"a\.yaml is not valid YAML"):
        read_yaml(tmp_path / "a.yaml")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match=r"cannot read .*none\.yaml: No such file or directory"):
        read_yaml(tmp_path / "none.yaml")


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    assert told({}, tmp_path / "none").startswith("unknown preset 'paper'")


def test_no_experiment_at_all_is_told(folder: Path) -> None:
    shutil.rmtree(folder / "experiments")
    assert told({}, folder).startswith("configuration key 'experiments': ")
