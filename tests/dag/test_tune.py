"""``snakemake tune`` on tiny sizes, and what becomes of its choices."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dagtools import SMOKE, Checkout, edited, names
from expected import TUNED

from kerhrm.algorithm.options import KerHRM
from kerhrm.config.files import merge
from kerhrm.config.names import folder_of
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment
from kerhrm.methods.kerhrm.options import Choice
from kerhrm.methods.registry import METHODS, ORACLE, POOLED
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


def test_choices_are_the_best_of_the_grid(results: Path, name: str, experiment: Experiment) -> None:
    """By every rule that a method can have; none of them looks at test data."""
    choice = yaml.safe_load((results / "tuned" / f"{name}.yaml").read_text(encoding="utf-8"))
    grid = pd.read_csv(results / "tuned" / f"{name}.csv")
    assert experiment.tuning
    steps = choice.pop("kerhrm", None)
    assert sorted(choice) == sorted(experiment.tuned_methods)
    assert set(grid["method"]) == set(choice)
    search, first = experiment.for_tuning(), experiment.tuning.settings[0]
    for method in choice:
        rows = grid[grid["method"] == method]
        assert set(rows["setting"]) == set(experiment.tuning.settings)
        assert set(rows["n_seeds"]) == {experiment.tuning.seeds}
        own, *others = METHODS[method].rules
        assert ORACLE not in (own, *others)
        assert list(dict.fromkeys(rows["rule"])) == [own, *others]
        assert list(choice[method].get("rules", {})) == others
        by_rule = {own: choice[method]["selected"]} | choice[method].get("rules", {})
        on_trial = [one.model_dump(mode="json") for one in search.trained(first, method)]
        assert len(on_trial) == experiment.budget > 1
        for rule, options in by_rule.items():
            scores = rows[rows["rule"] == rule]
            assert [json.loads(text) for text in scores["options"].unique()] == on_trial
            mean = scores.groupby("options")["score"].mean()
            assert mean[json.dumps(options, sort_keys=True)] == mean.max()
    if "kerhrm_grid" in choice:
        one = Choice(**choice["kerhrm_grid"]["selected"]).of(KerHRM())
        told = KerHRM().model_dump(mode="json")
        assert merge(told, steps) == one.model_dump(mode="json")
    else:
        assert steps is None


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
        choice = yaml.safe_load((config / f"tuned/{name}.yaml").read_text(encoding="utf-8"))
        for method in TUNED[name].tuned_methods:
            for setting in experiment.settings.values():
                options = getattr(setting.methods, method)
                assert list(options.rules) == list(choice[method].get("rules", {}))
                if preset == "smoke" and "steps" in choice[method]["selected"]:
                    continue  # it has the last word on how long to train
                assert options.selected.model_dump(mode="json") == choice[method]["selected"]
                for rule, other in options.rules.items():
                    assert other.model_dump(mode="json") == choice[method]["rules"][rule]


def test_another_rules_choice_is_a_row_of_its_own(smoke: Checkout, tmp_path: Path) -> None:
    """It leaves the method's own row as it was, to the last bit."""
    copy = smoke.copy(tmp_path / "copy")
    before = read_scores([copy.folder / SCORES])
    path = copy.folder / "config" / "tuned" / "classification.yaml"
    choice = yaml.safe_load(path.read_text(encoding="utf-8"))
    choice["irm"]["rules"] = {POOLED: {"learning_rate": 0.1}}
    with edited(path, lambda _: yaml.safe_dump(choice)):
        planned = copy.plan(SCORES, *SMOKE)
        assert names(planned) == {
            f"train_method {SCORES.replace('scores.csv', 'predictions/irm.npz')}",
            f"score {SCORES}",
        }
        copy.run(SCORES, *SMOKE)
    after = read_scores([copy.folder / SCORES])
    mine = (after["method"] == "IRM") & (after["selection"] == POOLED)
    bound = (after["method"] == "IRM") & (after["selection"] == ORACLE)  # it has a set more
    assert mine.any()
    assert bound.any()
    same = before.loc[~(mine | bound).to_numpy()]
    assert after[~(mine | bound)].to_csv(index=False) == same.to_csv(index=False)
    assert set(after.loc[mine, "value"]) != set(before.loc[mine.to_numpy(), "value"])


def test_an_oracle_stands_where_the_search_looked_and_nowhere_else(results: Path) -> None:
    for name, experiment in TUNED.items():
        found = read_scores([results / "scores" / f"{name}.csv"])
        shown = found[found["selection"] == ORACLE]
        assert experiment.tuning
        if experiment.protocol != "period":  # whose rows are called after periods
            assert set(shown["setting"]) == set(experiment.tuning.settings)
        titles = {row.title for m in experiment.tuned_methods for row in METHODS[m].rows}
        assert set(shown["method"]) == titles
