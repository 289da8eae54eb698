"""Fresh seeds: the preset's DAG, and rows whose seeds come from two experiments."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dagtools import SMOKE, Checkout

from kerhrm.config.fresh import ENLARGED, FIRST, MORE, preset
from kerhrm.config.resolve import resolve
from kerhrm.reporting.tables import read_table

pytestmark = pytest.mark.dag

NAME, CALM, WIDE = "classification", "r2=0.70", "r2=0.70,H=I"


def test_fresh_seeds_take_the_jobs_of_the_usual_ones(checkout: Checkout) -> None:
    """More of them where rows have further seeds, but of the same rules."""
    usual, fresh = (
        Counter(job.rule for job in checkout.plan("all", "--config", f"preset={name}"))
        for name in ("paper", "fresh")
    )
    assert {*usual} == {*fresh}
    assert all(fresh[rule] >= count for rule, count in usual.items())
    frozen = (checkout.folder / "config" / "frozen.yaml").exists()
    assert frozen or usual == fresh


def test_rows_of_two_experiments_are_one(checkout: Checkout) -> None:
    config = checkout.folder / "config"
    only = {label: {"run": ["erm", "dro"]} for label in (CALM, WIDE)}
    one = {"experiments": {NAME: {"settings": only}}, "preset": "smoke"}
    experiments = resolve(one, config).experiments
    told = yaml.safe_load(preset({NAME: experiments[NAME]}, {NAME: {WIDE: ["dro"]}}))
    told["experiments"][NAME] |= one["experiments"][NAME]
    mine = checkout.folder / "mine.yaml"
    mine.write_text(yaml.safe_dump(told), encoding="utf-8")
    run = Path("results", "smoke")
    checkout.run(f"{run}/tables/table1.csv", "--configfile", str(mine), *SMOKE)

    n = len(experiments[NAME].seeds.data)
    table = read_table(checkout.folder / run / "tables" / "table1.csv")
    test = table[(table["metric"] == "test_acc") & table["method"].isin(["ERM", "DRO"])]
    assert not test.duplicated(["setting", "method", "selection"]).any()
    counts = test.groupby(["setting", "method"])["n_seeds"].unique().to_dict()
    assert {key: [*found] for key, found in counts.items()} == {
        (CALM, "ERM"): [n], (CALM, "DRO"): [n], (WIDE, "ERM"): [n], (WIDE, "DRO"): [ENLARGED],
    }  # fmt: skip
    scores = [
        pd.read_csv(checkout.folder / run / "scores" / f"{name}.csv")
        for name in (NAME, f"{NAME}{MORE}")
    ]
    rows = pd.concat(scores).query("setting == @WIDE and method == 'DRO' and metric == 'test_acc'")
    (cell,) = test[(test["setting"] == WIDE) & (test["method"] == "DRO")].to_dict("records")
    own = rows[rows["selection"] == cell["selection"]]
    assert sorted(own["seed"]) == list(range(FIRST, FIRST + ENLARGED))
    assert cell["mean"] == pytest.approx(own["value"].mean())
