"""Bands over constants that are not printed, against loops and numbers by hand."""

import copy
import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from kerhrm.methods.base import POOLED
from kerhrm_paper.config.config import CHECKOUT
from kerhrm_paper.config.strict_yaml import read_yaml
from kerhrm_paper.evaluation.bands import UNPRINTED, bands, columns, outcome_of
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values

SPEC = read_yaml(CHECKOUT / "config/endpoints.yaml")
PAPER = load_paper_values(CHECKOUT / "config/paper_values.yaml")
METHOD = SPEC["band"]["method"]
GRID = SPEC["band"]["grid"]
PAIRS = [*itertools.product(*GRID.values())]
GRID_OF = SPEC["band"]["tables"]
#: settings of the tables, and the mean that the paper prints
SETTINGS = {
    "table1": ("r2=0.7", "r2=0.75", "r2=0.8"),
    "table3": tuple(f"scenario={s},r={r}" for s in (1, 2) for r in (1.5, 1.9, 2.3)),
    "table4": ("cmnist",),
}
PRINTED = {"table1": 0.701, "table3": 3.691666666666667, "table4": 0.648}


def scores(
    table: str = "table4",
    n: int = 10,
    sd: float = 0.01,
    low: float = 0.0,
    high: float = 0.0,
) -> pd.DataFrame:
    """Scores of every pair, whose means go evenly from ``low`` to ``high``.

    Both are differences from the paper's mean; the seeds' means have a deviation of
    exactly ``sd``, and alpha = 0 is a row below all of them.
    """
    noise = np.random.default_rng(0).normal(size=n)
    noise = sd * (noise - noise.mean()) / noise.std(ddof=1)
    means = dict(zip(PAIRS, np.linspace(low, high, len(PAIRS)), strict=True))
    means[0.0, 10.0] = low - 1.0
    rows = []
    for (alpha, weight), difference in means.items():
        for setting in SETTINGS[table]:
            for mark in ("", ",H=I"):
                named = f"{setting}{mark},alpha={alpha},cosine_weight={weight}"
                for seed in range(n):
                    value = PRINTED[table] + difference + noise[seed]
                    value += 0.3 * bool(mark)
                    rows.append((named, METHOD, seed, value))
    frame = pd.DataFrame(rows, columns=["setting", "method", "seed", "value"])
    metric = SPEC["tables"][table]["metric"]
    if "apart" not in SPEC["tables"][table]:
        frame = frame[~frame["setting"].str.contains("H=I")]
    return frame.assign(
        metric=metric, selection=POOLED, data="d", data_source="synthetic"
    )


def band_of(
    frame: pd.DataFrame, table: str = "table4", part: str = "", mark: str = ""
) -> pd.Series:
    found = bands({GRID_OF[table]: frame}, SPEC, PAPER, mark)
    assert [*found.columns] == columns(SPEC)
    found = found.set_index("part")
    assert set(found["table"]) == {table}
    return found.loc[part]


def test_the_ends_are_the_lowest_and_the_highest_mean() -> None:
    """Against a loop over the pairs; each seed has its mean over the settings."""
    rng = np.random.default_rng(1)
    frame = scores("table1")
    frame["value"] += rng.normal(0, 0.1, len(frame))
    for part in ("", "H=I"):
        row = band_of(frame, "table1", part)
        found = {}
        for alpha, weight in PAIRS:
            mark = f",{part}" if part else ""
            ending = f"{mark},alpha={alpha},cosine_weight={weight}"
            names = [f"{setting}{ending}" for setting in SETTINGS["table1"]]
            of_pair = frame[frame["setting"].isin(names)]
            found[alpha, weight] = of_pair.groupby("seed")["value"].mean()
        for end, pick in (("lowest", min), ("highest", max)):
            pair = pick(found, key=lambda pair: found[pair].mean())
            seeds = found[pair]
            t = scipy.stats.t(9, seeds.mean(), seeds.std() / np.sqrt(10))
            assert row[end] == pytest.approx(seeds.mean())
            limits = row[f"{end}_ci_low"], row[f"{end}_ci_high"]
            assert limits == pytest.approx(t.interval(0.95))
            assert (row[f"{end}_alpha"], row[f"{end}_cosine_weight"]) == pair
        assert (row["n_settings"], row["n_seeds"], row["n_constants"]) == (3, 10, 15)
        assert row["paper"] == pytest.approx(PRINTED["table1"])


#: half of an interval of ten seeds with a deviation of .01: 2.262157 * .01 / sqrt(10)
HALF = 0.0071536


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-0.022, 0.022, "reproduced"),  # .022 + HALF < .03
        (-0.022, 0.024, UNPRINTED),
        (-0.3, 0.1, UNPRINTED),
        (-0.3, -0.006, UNPRINTED),  # the highest mean's upper limit is above
        (-0.3, -0.008, "worse"),  # -.008 + HALF < 0
        (0.006, 0.3, UNPRINTED),
        (0.008, 0.3, "better"),
    ],
)
def test_outcomes_by_hand(low: float, high: float, outcome: str) -> None:
    row = band_of(scores(low=low, high=high))
    assert row["lowest_ci_low"] == pytest.approx(PRINTED["table4"] + low - HALF)
    assert row["highest_ci_high"] == pytest.approx(PRINTED["table4"] + high + HALF)
    assert row["outcome"] == outcome


def test_a_low_error_is_better_and_its_margin_a_share() -> None:
    assert SPEC["tables"]["table3"]["relative_margin"] == 0.1
    assert band_of(scores("table3", low=-2, high=-1), "table3")["outcome"] == "better"
    assert band_of(scores("table3", low=1, high=2), "table3")["outcome"] == "worse"
    row = band_of(scores("table3", low=-0.36, high=0.36), "table3")
    assert (row["outcome"], row["margin"]) == ("reproduced", pytest.approx(0.3691667))
    row = band_of(scores("table3", low=-0.37, high=0.36), "table3")
    assert row["outcome"] == UNPRINTED


@pytest.mark.parametrize(
    ("lowest", "highest", "outcome"),
    [
        ((0.60, 0.80), (0.62, 0.82), "open"),  # neither end misses .7
        ((0.60, 0.69), (0.62, 0.82), UNPRINTED),
        ((0.60, 0.80), (0.71, 0.82), UNPRINTED),
        ((0.60, 0.65), (0.75, 0.80), UNPRINTED),
        ((np.nan, np.nan), (np.nan, np.nan), "open"),  # a single seed
    ],
)
def test_wide_intervals_are_open(
    lowest: tuple[float, float], highest: tuple[float, float], outcome: str
) -> None:
    ends = [
        dict(zip(("ci_low", "ci_high"), end, strict=True)) for end in (lowest, highest)
    ]
    assert outcome_of(*ends, paper=0.7, margin=0.03, higher_is_better=True) == outcome


def test_alpha_of_zero_is_no_candidate() -> None:
    assert min(GRID["alpha"]) > 0
    frame = scores(low=-0.2, high=0.2)
    without = frame[~frame["setting"].str.contains("alpha=0.0,")]
    assert len(without) < len(frame)
    assert band_of(frame).equals(band_of(without))
    assert band_of(frame)["lowest"] == pytest.approx(PRINTED["table4"] - 0.2)


def test_missing_seeds_and_constants_are_incomplete() -> None:
    frame = scores("table1")
    lost = frame["setting"] == "r2=0.75,alpha=10.0,cosine_weight=100.0"
    lost &= frame["seed"].isin([3, 5])
    for cut in (frame[~lost], frame.assign(value=frame["value"].mask(lost))):
        row = band_of(cut, "table1")
        assert row["outcome"] == "incomplete"
        said = "no value: r2=0.75 (seeds 3, 5) at alpha=10,cosine_weight=100"
        assert row["reason"] == said
        assert row[["lowest", "highest", "paper", "n_seeds"]].isna().all()
        assert band_of(cut, "table1", "H=I")["outcome"] != "incomplete"
    gone = frame["setting"].str.endswith(",alpha=0.1,cosine_weight=10.0")
    row = band_of(frame[~gone], "table1")
    assert row["outcome"] == "incomplete"
    assert "r2=0.7 (all seeds)" in row["reason"]
    assert "at alpha=0.1,cosine_weight=10" in row["reason"]


@pytest.mark.parametrize(
    ("mark", "source"), [("smoke sizes", "synthetic"), ("", "fallback:x")]
)
def test_other_sizes_or_data_are_not_comparable(mark: str, source: str) -> None:
    row = band_of(scores(low=1, high=2).assign(data_source=source), mark=mark)
    assert row["outcome"] == "not comparable"
    assert row["reason"]
    assert np.isnan(row["lowest"]) == bool(source == "fallback:x")


def selected() -> pd.DataFrame:
    """Scores of Table 4 with the constants that validation picks: .05 below."""
    frame = scores()
    first = frame["setting"] == frame["setting"].iloc[0]
    return frame[first].assign(
        setting="cmnist", value=lambda rows: rows["value"] - 0.05
    )


def test_the_endpoint_follows_the_band() -> None:
    band = bands({GRID_OF["table4"]: scores(low=-0.1, high=0.1)}, SPEC, PAPER)
    before = endpoints({"table4": selected()}, SPEC, PAPER).set_index("method")
    after = endpoints({"table4": selected()}, SPEC, PAPER, band=band)
    after = after.set_index("method")
    assert before.loc[METHOD, ["outcome", "outcome_exact"]].tolist() == ["worse"] * 2
    assert after.loc[METHOD, ["outcome", "outcome_exact"]].tolist() == [UNPRINTED] * 2
    assert after.loc[METHOD, ["lowest", "highest"]].tolist() == pytest.approx(
        [PRINTED["table4"] - 0.1, PRINTED["table4"] + 0.1]
    )
    same = ["mean", "difference", "ci_low", "p", "p_holm"]
    assert after.loc[METHOD, same].equals(before.loc[METHOD, same])
    others = before.index != METHOD
    assert after[others].equals(before[others])
    assert before["lowest"].isna().all()


def test_a_band_without_an_outcome_changes_nothing() -> None:
    before = endpoints({"table4": selected()}, SPEC, PAPER)
    frame = scores(low=-0.1, high=0.1)
    for cut, mark in ((frame[frame["seed"] > 0].iloc[1:], ""), (frame, "other sizes")):
        band = bands({GRID_OF["table4"]: cut}, SPEC, PAPER, mark)
        pd.testing.assert_frame_equal(
            endpoints({"table4": selected()}, SPEC, PAPER, band=band), before
        )


def test_a_row_that_is_not_comparable_has_no_band() -> None:
    band = bands({GRID_OF["table4"]: scores(low=-0.1, high=0.1)}, SPEC, PAPER)
    rows = endpoints({"table4": selected()}, SPEC, PAPER, "smoke sizes", band)
    assert set(rows["outcome"]) == {"not comparable"}
    assert rows["lowest"].isna().all()


def test_the_script_without_the_package_finds_the_same(tmp_path: Path) -> None:
    path = CHECKOUT / "results/recompute_endpoints.py"
    spec: Any = importlib.util.spec_from_file_location("recompute", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    ends = {"table1": (-0.2, 0.1), "table3": (0.5, 1.0), "table4": (-0.1, 0.01)}
    grids = {}
    for table, (low, high) in ends.items():
        frame = scores(table, low=low, high=high, sd=0.02)
        noise = np.random.default_rng(2).normal(0, 0.02, len(frame))
        grids[GRID_OF[table]] = frame.assign(value=frame["value"] + noise)
    folder = tmp_path / "scores"
    folder.mkdir()
    for name, frame in grids.items():
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
    own = {}
    for table in SPEC["tables"]:
        file = CHECKOUT / f"results/reference/scores/{table}.csv.gz"
        own[table] = pd.read_csv(file)
        (folder / file.name).write_bytes(file.read_bytes())
    band = bands(grids, SPEC, PAPER)
    assert set(band["outcome"]) >= {UNPRINTED, "worse"}
    band.to_csv(tmp_path / "as_printed_band.csv", index=False)
    tests = endpoints(own, SPEC, PAPER, band=band)
    tests.to_csv(tmp_path / "endpoints.csv", index=False)
    assert script.main(tmp_path) == 0
    # without the scores of the grid the published band counts
    moved = folder / f"{GRID_OF['table3']}.csv.gz"
    moved.unlink()
    assert script.main(tmp_path) == 0
    wrong = band.assign(lowest_ci_low=band["lowest_ci_low"] + 1e-6)
    wrong.to_csv(tmp_path / "as_printed_band.csv", index=False)
    assert script.main(tmp_path) == len(band) - 1  # all but Table 3's


def test_a_margin_of_the_declaration_counts() -> None:
    spec = copy.deepcopy(SPEC)
    spec["tables"]["table4"]["margin"] = 0.2
    frame = scores(low=-0.1, high=0.1)
    found = bands({GRID_OF["table4"]: frame}, spec, PAPER)
    assert found["outcome"].tolist() == ["reproduced"]
