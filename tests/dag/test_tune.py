"""``snakemake tune`` on tiny sizes, and what becomes of its choices."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dagtools import SMOKE, Checkout, edited, names, replace
from expected import TUNED

from kerhrm.config.names import folder_of
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment
from kerhrm.methods.registry import METHODS, ORACLE
from kerhrm.reporting.tables import read_scores
from kerhrm.storage.arrays import load_arrays

pytestmark = pytest.mark.dag

SCORES = "results/smoke/classification/r2=0.70/scores.csv"


@pytest.fixture(params=TUNED)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def experiment(name: str) -> Experiment:
    return TUNED[name]


@pytest.mark.parametrize("key", ["selected", "oracle"])
def test_choices_are_the_best_of_the_grid(
    results: Path, name: str, experiment: Experiment, key: str
) -> None:
    stem = name if key == "selected" else f"{name}-oracle"
    choice = yaml.safe_load((results / "tuned" / f"{stem}.yaml").read_text(encoding="utf-8"))
    grid = pd.read_csv(results / "tuned" / f"{stem}.csv")
    assert experiment.tuning
    assert list(choice) == experiment.tuned_methods
    assert set(grid["method"]) == set(choice)
    for method, rows in grid.groupby("method"):
        assert choice[method].keys() == {key}  # the oracle's never passes for the rule's
        assert set(rows["rule"]) == {METHODS[str(method)].rule if key == "selected" else ORACLE}
        assert set(rows["setting"]) == set(experiment.tuning.settings)
        assert set(rows["n_seeds"]) == {experiment.tuning.seeds}
        setting = experiment.settings[experiment.tuning.settings[0]]
        candidates = getattr(setting.methods, str(method)).candidates()
        assert len(candidates) > 1
        tried = [json.loads(text) for text in rows["options"].unique()]
        assert tried == [c.model_dump(mode="json") for c in candidates]
        mean = rows.groupby("options")["score"].mean()
        assert mean[json.dumps(choice[method][key])] == mean.max()


def test_the_search_has_seeds_of_its_own(results: Path, name: str, experiment: Experiment) -> None:
    assert experiment.tuning
    for setting in experiment.tuning.settings:
        data = f"{folder_of(setting)}/data/train.npz"
        _, facts = load_arrays(results / f"tune-{name}" / data)
        _, shown = load_arrays(results / name / data)
        assert len(facts["seeds"]) == experiment.tuning.seeds
        assert not set(facts["seeds"]) & set(shown["seeds"])


@pytest.mark.parametrize("preset", ["smoke", "paper"])
def test_choices_are_a_configuration(checkout: Checkout, results: Path, preset: str) -> None:
    config = checkout.folder / "config"
    shutil.rmtree(config / "tuned", ignore_errors=True)
    without = resolve({"preset": preset}, config).experiments
    (config / "tuned").mkdir()
    for path in (results / "tuned").glob("*.yaml"):
        shutil.copy(path, config / "tuned")
    tuned = resolve({"preset": preset}, config).experiments
    assert tuned.keys() == without.keys()
    for name, experiment in tuned.items():
        if name not in TUNED and not experiment.tuned_like:
            assert experiment == without[name]
        if name not in TUNED:
            continue
        for method in TUNED[name].tuned_methods:
            for setting in experiment.settings.values():
                options = getattr(setting.methods, method)
                oracle = yaml.safe_load((config / f"tuned/{name}-oracle.yaml").read_text())
                if preset == "smoke":  # which shows no oracles
                    assert options.oracle is None
                else:
                    assert options.oracle.model_dump(mode="json") == oracle[method]["oracle"]


def test_an_oracles_choice_is_a_row_of_its_own(smoke: Checkout, tmp_path: Path) -> None:
    """It leaves the method's own row as it was, to the last bit."""
    copy = smoke.copy(tmp_path / "copy")
    before = read_scores([copy.folder / SCORES])
    folder = copy.folder / "config" / "tuned"
    folder.mkdir(exist_ok=True)
    (folder / "classification-oracle.yaml").write_text(
        "dro: {oracle: {rho: 2.0, steps: 3}}\niga: {oracle: null}\n"
    )
    # DRO and, by the same anchor, IGA.
    change = replace("    selected: {steps: 10}\n    oracle: null\n", "    selected: {steps: 10}\n")
    with edited(copy.folder / "config/presets/smoke.yaml", change):
        planned = copy.plan(SCORES, *SMOKE)
        assert names(planned) == {
            f"train_method {SCORES.replace('scores.csv', 'predictions/dro.npz')}",
            f"score {SCORES}",
        }
        copy.run(SCORES, *SMOKE)
    after = read_scores([copy.folder / SCORES])
    new = (after["method"] == "DRO") & (after["selection"] == ORACLE)
    assert new.any()
    assert after[~new].to_csv(index=False) == before.to_csv(index=False)
    own = after[(after["method"] == "DRO") & ~new]
    assert set(own["value"]) != set(after.loc[new, "value"])
