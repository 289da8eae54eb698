"""Whatever is wrong in a configuration is told in one line: key, value, cure."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kerhrm.config.resolve import read_yaml
from kerhrm.errors import KerhrmError

SHIPPED = Path(__file__).resolve().parents[3] / "config"
EXPERIMENTS = sorted(p.stem for p in (SHIPPED / "experiments").glob("*.yaml"))
CLASSIFICATION = "experiments.classification.settings.r2=0.70"

Told = Callable[[dict[str, Any], Path], str]
Spoil = Callable[[str], str]


# the command line


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
def test_the_command_line_is_checked(
    told: Told, folder: Path, top: dict[Any, Any], message: str
) -> None:
    assert told(top, folder).startswith(message)


# a key


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
    [
        ("r2=0.08", "did you mean 'r2=0.80'?"),
        ("x", "known are: r2=0.70, r2=0.70,H=I, r2=0.75, r2=0.75,H=I, r2=0.80, r2=0.80,H=I"),
    ],
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


def test_a_missing_key_is_told(told: Told, folder: Path) -> None:
    path = folder / "experiments" / "classification.yaml"
    tree = read_yaml(path)
    del tree["table"]
    path.write_text(yaml.safe_dump(tree))
    message = told({}, folder)
    assert message == "configuration key 'experiments.classification.table' is missing; add it"


# no mapping


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


# a file


@pytest.mark.parametrize(
    "name", ["presets/paper", "methods/erm", "experiments/classification", "tuned/regression"]
)
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
    told: Told, folder: Path, name: str, text: str, message: str
) -> None:
    path = folder / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
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


def test_a_missing_folder_is_told(told: Told, tmp_path: Path) -> None:
    assert told({}, tmp_path / "none").startswith("unknown preset 'paper'")


def test_no_experiment_at_all_is_told(told: Told, folder: Path) -> None:
    shutil.rmtree(folder / "experiments")
    assert told({}, folder).startswith("configuration key 'experiments': ")
