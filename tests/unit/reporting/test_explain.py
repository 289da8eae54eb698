"""What is known of a cell: every value in force, where it stands, and the command."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from kerhrm.cli import main
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.criteria import WORDS
from kerhrm_paper.config.strict_yaml import read_overrides
from kerhrm_paper.reporting.explain import explain
from kerhrm_paper.reporting.options import RunOptions
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.summaries import hyperparameters
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.arrays import save_stacked
from kerhrm_paper.runs.locks import TEMPORARY

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "results" / "reference"
SEVEN_STEPS = {"options": {"steps": 7}}
CHANGED = {"preset": "smoke", "learners": {"erm": SEVEN_STEPS}}
SELECTED = "selected: config/selected/classification.yaml: "
SMOKE = "config/presets/smoke.yaml: "
DATA = "classification+r2=0.7"
CELL = ("table1", "r2=0.7", "ERM", "test_acc")
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(CHANGED, root=ROOT)


@pytest.fixture
def run(
    make_run: Make,
    scores: pd.DataFrame,
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """A run with an option from the command line."""
    monkeypatch.chdir(ROOT)  # files are named from here
    folder = make_run(scores, "smoke")
    text = yaml.safe_dump(config.written, sort_keys=False)
    (folder / "config.yaml").write_text(text)
    return Run(folder)


def cell(run: Run, method: str, **how: Any) -> dict[str, Any]:
    return explain(run, "table1", "r2=0.7", method, "test_acc", root=ROOT, **how)


def values(options: dict[str, Any]) -> dict[str, Any]:
    return {name: one["value"] for name, one in options.items()}


def prediction(**chosen: float) -> dict[str, np.ndarray]:
    """Arrays of one replicate, of which a method has chosen something."""
    points = np.zeros((1, 4), dtype=np.float32)
    names = list(chosen)
    values = list(chosen.values())
    parts = dict.fromkeys(("train", "validation", "test"), points)
    return {
        "outputs": np.array(["network"]),
        **parts,
        "chosen": np.array(names, dtype=str),
        "choices": np.array(values, dtype=float),
    }


def test_every_option_has_its_owner_and_origin(run: Run) -> None:
    found = cell(run, "ERM")["options"]
    assert found["learner"]["steps"] == {
        "value": 7,
        "from": "--config or --configfile: learners.erm.options.steps",
    }
    origins = {
        ("learner", "learning_rate"): f"{SELECTED}erm.pooled.learning_rate",
        ("learner", "evaluate_every"): f"{SMOKE}learners.erm.options.evaluate_every",
        ("data", "r2"): "name: classification+r2=0.7",
        ("data", "n_test"): f"{SMOKE}data.classification.options.n_test",
        ("data", "d"): "default of the data set classification",
        ("network", "widths"): f"{SMOKE}data.classification.network.widths",
        ("run", "on_missing"): f"{SMOKE}on_missing",
        ("seeds", "seeds"): f"{SMOKE}data.classification.seeds",
    }
    for (owner, name), origin in origins.items():
        assert found[owner][name]["from"] == origin
    widths = found["network"]["widths"]
    assert widths["value"] == [64]
    learner = cell(run, "KerHRM")["options"]["learner"]
    default = learner["n_environments"]
    assert default == {"value": 2, "from": "default of the method kerhrm"}


@pytest.mark.parametrize(
    ("method", "learner"), [("ERM", "erm"), ("KerHRM", "kerhrm"), ("ref: majority", "")]
)
def test_the_values_are_those_of_the_jobs(
    run: Run, config: Config, method: str, learner: str
) -> None:
    found = cell(run, method)
    assert found["learner"] == (learner or None)
    data = config.data(DATA)
    options = found["options"]
    expected = data.options.model_dump(mode="json")
    assert values(options["data"]) == expected
    expected = data.network.model_dump(mode="json")
    assert values(options["network"]) == expected
    if learner:
        own = config.learner(DATA, learner).options
        expected = own.model_dump(mode="json")
        assert values(options["learner"]) == expected


def test_each_criterion_has_its_own_choice(run: Run) -> None:
    file = ROOT / "config/selected/classification.yaml"
    chosen = yaml.safe_load(file.read_text())
    names = {"pooled validation": "pooled", "oracle": "oracle"}
    for selection, name in names.items():
        found = cell(run, "ERM", selection=selection)
        rate = found["options"]["learner"]["learning_rate"]
        assert rate["value"] == chosen["erm"][name]["learning_rate"]
        assert rate["from"] == f"{SELECTED}erm.{name}.learning_rate"


def record(run: Run) -> None:
    """Write the records of the table's files, as their job does."""
    names = ("tables/table1.csv", "scores/table1.csv.gz")
    files = [run.folder / name for name in names]
    provenance.write(run.folder, "made_it", files, {}, {})


def test_the_command_makes_the_cell(run: Run, config: Config) -> None:
    words = shlex.split(cell(run, "ERM")["command"])
    program = words[:5]
    assert program == ["snakemake", "--cores", "2", "table1", "--config"]
    record(run)
    (run.folder / TEMPORARY).mkdir()  # as every run has
    overrides = read_overrides(words[5:])
    again = load_config(overrides, root=ROOT)
    assert again.run == run.folder
    assert again.preset == config.preset
    assert again.mark == config.mark
    assert again.data(DATA) == config.data(DATA)
    expected = config.learner(DATA, "erm")
    assert again.learner(DATA, "erm") == expected
    # what is not the cell's is not in its command
    words = shlex.split(cell(run, "KerHRM")["command"])
    own = ["preset=smoke", f"results={run.folder.parent}"]
    assert words[5:] == own


def test_texts_and_seeds_of_others_are_not_in_the_command(run: Run) -> None:
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content["tables"]["table1"]["about"] = "as it was"
    content["data"]["classification"]["seeds"] = {"classification/ednil": 7}
    file.write_text(yaml.safe_dump(content))
    words = shlex.split(cell(Run(run.folder), "KerHRM")["command"])
    own = ["preset=smoke", f"results={run.folder.parent}"]
    assert words[5:] == own
    content["data"]["classification"]["seeds"] = {"classification/kerhrm": 7}
    file.write_text(yaml.safe_dump(content))
    *_, seeds = shlex.split(cell(Run(run.folder), "KerHRM")["command"])
    expected = {"classification": {"seeds": {"classification/kerhrm": 7}}}
    assert seeds == f"data={json.dumps(expected)}"


def test_what_a_method_has_chosen_on_each_seed(run: Run) -> None:
    first = prediction(k=5, alpha=0.0)
    second = prediction(k=10, alpha=1.0)
    units = [first, second]
    path = run.folder / DATA / "kerhrm" / "predictions.npz"
    save_stacked(path, units)
    seeds = cell(run, "KerHRM")["seeds"]
    first, second, third = (seed.get("chosen") for seed in seeds)
    assert first == {"k": 5, "alpha": 0.0}
    assert second == {"k": 10, "alpha": 1.0}
    assert third is None


def test_what_the_jobs_have_noted_counts(run: Run, config: Config) -> None:
    own = config.learner(DATA, "erm").params()
    options = own["options"] | {"steps": 8}
    used = own | {"options": options}
    file = run.folder / DATA / "erm" / "predictions.npz"
    save_stacked(file, [prediction()])
    facts = {"learners": [used]}
    provenance.write(run.folder, "train", [file], {}, facts)
    record(run)
    learner = cell(run, "ERM")["options"]["learner"]
    assert learner["steps"] == {
        "value": 8,
        "from": "noted by the run; this version has another value",
    }
    assert learner["learning_rate"]["from"].startswith(SELECTED)


def test_outside_of_a_checkout_values_are_known_and_files_are_not(
    run: Run, tmp_path: Path
) -> None:
    found = explain(run, "table1", "r2=0.7", "ERM", "test_acc", root=tmp_path)
    learner = found["options"]["learner"]
    assert learner["steps"] == {
        "value": 7,
        "from": "config.yaml of the run: learners.erm.options.steps",
    }
    command = f"preset=smoke results={run.folder.parent}"
    assert found["command"].endswith(command)


def test_a_configuration_that_nobody_can_read_is_said(run: Run) -> None:
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content["learners"]["erm"]["method"] = 3
    file.write_text(yaml.safe_dump(content))
    found = cell(Run(run.folder), "ERM")
    assert "config.yaml is of another version" in found["options"]
    assert len(found["seeds"]) == 3
    assert json.dumps(found)


def test_a_configuration_of_another_form_is_said(run: Run) -> None:
    """Merged it has the right form, and the user's part has not."""
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content["preset_changes"]["learners"]["erm"] = {"at": 5}
    content["changes"]["learners"]["erm"] = {"at": {}}
    file.write_text(yaml.safe_dump(content))
    options = cell(Run(run.folder), "ERM")["options"]
    assert options.startswith(f"unknown: {file} is of another version; ")
    assert "learners.erm.at = 5" in options


def test_a_method_that_is_gone_is_named(run: Run) -> None:
    """The version is the right one, and no commit has the method."""
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content["learners"]["erm"]["method"] = "gone"
    file.write_text(yaml.safe_dump(content))
    found = cell(Run(run.folder), "ERM")
    assert found["options"] == (
        "unknown: the method 'gone' is of no package that is installed; install the "
        "package that has it"
    )
    assert len(found["seeds"]) == 3


def test_a_cell_of_a_contest_has_its_command(run: Run) -> None:
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content["learners"]["mine"] = {"method": "mine", "timeout": 2.5}
    file.write_text(yaml.safe_dump(content))
    site = run.folder.parent / "site"
    site.mkdir()
    found = cell(Run(run.folder), "ERM")
    assert found["command"] == (
        "kerhrm compete FILE --tables table1 --preset smoke --timeout 2.5"
    )
    assert found["options"].endswith(f"set PYTHONPATH={site.resolve()}")
    note = run.folder.parent / "file.txt"
    note.write_text("/home/me/my method.py")
    noted = cell(Run(run.folder), "ERM")
    assert noted["command"].startswith("kerhrm compete '/home/me/my method.py' --ta")


def test_keys_of_an_earlier_version_do_no_harm(run: Run) -> None:
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content["tables"]["table1"]["notebook"] = "old.ipynb"
    content["learners"]["erm"]["colour"] = "red"
    file.write_text(yaml.safe_dump(content))
    found = cell(Run(run.folder), "ERM")
    steps = found["options"]["learner"]["steps"]
    assert steps["value"] == 7


def test_the_published_table_shows_what_was_selected() -> None:
    run = Run(REFERENCE)
    found = explain(run, "table1", "r2=0.7", "KerHRM", "test_acc", root=ROOT)
    of_run = yaml.safe_load((REFERENCE / "config.yaml").read_text())
    chosen = of_run["selected"]["classification"]
    selection = found["cell"]["selection"]
    (expected,) = (
        options
        for criterion, options in chosen["kerhrm"].items()
        if WORDS[criterion] == selection
    )
    learner = found["options"]["learner"]
    for name, value in expected.items():
        assert learner[name]["value"] == value
        assert "selected: " in learner[name]["from"]
    rows = RunOptions(run, ROOT).config.selected("table1")
    shown = hyperparameters(rows)
    assert set(shown["selected on"]) == {"classification"}
    shown = shown.set_index(["method", "option"])
    rate = chosen["erm"]["pooled"]["learning_rate"]
    rates = shown.loc[("ERM", "learning_rate")]
    assert rates["pooled validation"] == f"{rate:g}"
    assert rates["worst true environment"] == ""
    options = shown.loc["KerHRM"].index
    assert set(options) == set(chosen["kerhrm"]["oracle"])
    assert "ref: majority" not in shown.index


def test_a_cell_is_explained_by_its_seeds_and_files(
    make_run: Make, scores: pd.DataFrame
) -> None:
    run = Run(make_run(scores, "paper"))
    folder = run.folder
    parts = {
        "classification+r2=0.7/erm/predictions.npz": [],
        "classification+r2=0.7/kerhrm_x/predictions.npz": [],
        "scores/table1.csv.gz": [
            "classification+r2=0.7/erm/predictions.npz",
            "classification+r2=0.7/kerhrm_x/predictions.npz",
        ],
        "tables/table1.csv": ["scores/table1.csv.gz"],
    }
    for name, inputs in parts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        digests = {}
        for read in inputs:
            digests[read] = provenance.digest(folder / read)
        provenance.write(folder, "a_rule", [file], digests, {})
    found = explain(run, *CELL, root=ROOT)
    names_of_cell = scores[["setting", "method", "metric"]]
    is_own = (names_of_cell == list(CELL[1:])).all(axis=1)
    is_own &= scores["selection"] == "pooled validation"
    own = scores[is_own]
    expected = own["value"].tolist()
    values = [seed["value"] for seed in found["seeds"]]
    assert values == pytest.approx(expected)
    mean = own["value"].mean()
    assert found["cell"]["mean"] == pytest.approx(mean)
    of_job = provenance.read(folder, "tables/table1.csv")
    assert of_job is not None
    assert found["commit"] == of_job["commit"]
    names = [file["file"] for file in found["files"]]
    expected_names = [name for name in reversed(parts) if "kerhrm_x" not in name]
    assert names == expected_names
    oracle = explain(run, *CELL, selection="oracle", root=ROOT)
    assert oracle["cell"]["selection"] == "oracle"
    assert json.dumps(oracle)


def test_a_cell_that_is_not_there_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    last_words = ["KerHRM", "test_acc", "--run", str(REFERENCE)]
    assert main(["explain", "table1", "r2=0.70", *last_words]) == 1
    assert "no setting 'r2=0.70'; it has r2=0.7; r2=0.75" in capsys.readouterr().err
    assert main(["explain", "table1", "r2=0.7", *last_words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cell"]["n_seeds"] == 20
    assert len(found["seeds"]) == 20
    assert found["commit"]
    assert main(["explain", "tabel1", "r2=0.7", *last_words]) == 1
    assert "has no table 'tabel1'; it has table1" in capsys.readouterr().err


def test_a_folder_without_tables_asks_for_a_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last_words = ["KerHRM", "test_acc", "--run", str(tmp_path)]
    assert main(["explain", "table1", "r2=0.7", *last_words]) == 1
    assert "has no tables; cd to a checkout" in capsys.readouterr().err
