"""Bands over constants that are not printed, against loops and numbers by hand."""

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from pandas.testing import assert_frame_equal

from kerhrm.methods.base import POOLED
from kerhrm_paper.config.config import CHECKOUT
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.evaluation.bands import UNPRINTED, bands, columns, outcome_of
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values

SPEC = load_endpoints(CHECKOUT / "config/endpoints.yaml")
PAPER = load_paper_values(CHECKOUT / "config/paper_values.yaml")
METHOD = SPEC.band.method
GRID = SPEC.band.grid
CONSTANTS = GRID.values()
PAIRS = list(itertools.product(*CONSTANTS))
GRID_OF = SPEC.band.tables
#: settings of the tables, and the mean that the paper prints
SETTINGS = {
    "table1": ("r2=0.7", "r2=0.75", "r2=0.8"),
    "table3": tuple(
        f"scenario={scenario},r={r}" for scenario in (1, 2) for r in (1.5, 1.9, 2.3)
    ),
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
    draws = np.random.default_rng(0).normal(size=n)
    deviations = draws - draws.mean()
    noise = sd * deviations / draws.std(ddof=1)
    differences = np.linspace(low, high, len(PAIRS))
    means = dict(zip(PAIRS, differences, strict=True))
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
    names = ["setting", "method", "seed", "value"]
    frame = pd.DataFrame(rows, columns=names)
    metric = SPEC.tables[table].metric
    if not SPEC.tables[table].apart:
        is_apart = frame["setting"].str.contains("H=I")
        frame = frame[~is_apart]
    return frame.assign(
        metric=metric,
        selection=POOLED,
        data="d",
        data_source="synthetic",
    )


def band_of(
    frame: pd.DataFrame, table: str = "table4", part: str = "", mark: str = ""
) -> pd.Series:
    grid = {GRID_OF[table]: frame}
    found = bands(grid, SPEC, PAPER, mark)
    assert [*found.columns] == columns(SPEC)
    found = found.set_index("part")
    assert set(found["table"]) == {table}
    return found.loc[part]


def test_the_ends_are_the_lowest_and_the_highest_mean() -> None:
    """Against a loop over the pairs; each seed has its mean over the settings."""
    rng = np.random.default_rng(1)
    frame = scores("table1")
    noise = rng.normal(0, 0.1, len(frame))
    frame["value"] += noise
    for part in ("", "H=I"):
        row = band_of(frame, "table1", part)
        found = {}
        for alpha, weight in PAIRS:
            mark = f",{part}" if part else ""
            ending = f"{mark},alpha={alpha},cosine_weight={weight}"
            names = [f"{setting}{ending}" for setting in SETTINGS["table1"]]
            of_pair = frame[frame["setting"].isin(names)]
            values_by_seed = of_pair.groupby("seed")["value"]
            found[alpha, weight] = values_by_seed.mean()
        means = {pair: seeds.mean() for pair, seeds in found.items()}
        ends = {"lowest": min, "highest": max}
        for end, pick in ends.items():
            pair = pick(means, key=means.__getitem__)
            seeds = found[pair]
            mean = seeds.mean()
            standard_error = seeds.std() / np.sqrt(10)
            t = scipy.stats.t(9, mean, standard_error)
            assert row[end] == pytest.approx(mean)
            limits = row[f"{end}_ci_low"], row[f"{end}_ci_high"]
            assert limits == pytest.approx(t.interval(0.95))
            assert (row[f"{end}_alpha"], row[f"{end}_cosine_weight"]) == pair
        assert row["n_settings"] == 3
        assert row["n_seeds"] == 10
        assert row["n_constants"] == 15
        printed = PRINTED["table1"]
        assert row["paper"] == pytest.approx(printed)


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
    frame = scores(low=low, high=high)
    row = band_of(frame)
    lowest = PRINTED["table4"] + low
    highest = PRINTED["table4"] + high
    assert row["lowest_ci_low"] == pytest.approx(lowest - HALF)
    assert row["highest_ci_high"] == pytest.approx(highest + HALF)
    assert row["outcome"] == outcome


def test_a_low_error_is_better_and_its_margin_a_share() -> None:
    assert SPEC.tables["table3"].relative_margin == 0.1
    lower = scores("table3", low=-2, high=-1)
    assert band_of(lower, "table3")["outcome"] == "better"
    higher = scores("table3", low=1, high=2)
    assert band_of(higher, "table3")["outcome"] == "worse"
    within = scores("table3", low=-0.36, high=0.36)
    row = band_of(within, "table3")
    assert row["outcome"] == "reproduced"
    assert row["margin"] == pytest.approx(0.3691667)
    beyond = scores("table3", low=-0.37, high=0.36)
    row = band_of(beyond, "table3")
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
    lowest: tuple[float, float],
    highest: tuple[float, float],
    outcome: str,
) -> None:
    ends = []
    for low, high in (lowest, highest):
        ends.append({"ci_low": low, "ci_high": high})
    found = outcome_of(
        *ends,
        paper=0.7,
        margin=0.03,
        higher_is_better=True,
    )
    assert found == outcome


def test_alpha_of_zero_is_no_candidate() -> None:
    assert min(GRID["alpha"]) > 0
    frame = scores(low=-0.2, high=0.2)
    is_zero = frame["setting"].str.contains("alpha=0.0,")
    without = frame[~is_zero]
    assert len(without) < len(frame)
    band = band_of(frame)
    assert band.equals(band_of(without))
    lowest = PRINTED["table4"] - 0.2
    assert band["lowest"] == pytest.approx(lowest)


def test_missing_seeds_and_constants_are_incomplete() -> None:
    frame = scores("table1")
    lost = frame["setting"] == "r2=0.75,alpha=10.0,cosine_weight=100.0"
    lost &= frame["seed"].isin([3, 5])
    without_rows = frame[~lost]
    values = frame["value"].mask(lost)
    without_values = frame.assign(value=values)
    for cut in (without_rows, without_values):
        row = band_of(cut, "table1")
        assert row["outcome"] == "incomplete"
        said = "no value: r2=0.75 (seeds 3, 5) at alpha=10,cosine_weight=100"
        assert row["reason"] == said
        numbers = row[["lowest", "highest", "paper", "n_seeds"]]
        assert numbers.isna().all()
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
    frame = scores(low=1, high=2)
    frame = frame.assign(data_source=source)
    row = band_of(frame, mark=mark)
    assert row["outcome"] == "not comparable"
    assert row["reason"]
    is_fallback = source == "fallback:x"
    assert np.isnan(row["lowest"]) == is_fallback


def selected() -> pd.DataFrame:
    """Scores of Table 4 with the constants that validation picks: .05 below."""
    frame = scores()
    setting = frame["setting"]
    first = frame[setting == setting.iloc[0]]
    value = first["value"] - 0.05
    return first.assign(setting="cmnist", value=value)


def band_around_the_paper() -> pd.DataFrame:
    """Of Table 4, from .1 below the paper's mean to .1 above it."""
    grid = {GRID_OF["table4"]: scores(low=-0.1, high=0.1)}
    return bands(grid, SPEC, PAPER)


def test_the_endpoint_follows_the_band() -> None:
    table = {"table4": selected()}
    band = band_around_the_paper()
    before = endpoints(table, SPEC, PAPER)
    after = endpoints(table, SPEC, PAPER, band=band)
    before = before.set_index("method")
    after = after.set_index("method")
    ours_before = before.loc[METHOD]
    ours = after.loc[METHOD]
    for outcome in ("outcome", "outcome_exact"):
        assert ours_before[outcome] == "worse"
        assert ours[outcome] == UNPRINTED
    printed = PRINTED["table4"]
    assert ours["lowest"] == pytest.approx(printed - 0.1)
    assert ours["highest"] == pytest.approx(printed + 0.1)
    same = ["mean", "difference", "ci_low", "p", "p_holm"]
    assert ours[same].equals(ours_before[same])
    others = before.index != METHOD
    assert after[others].equals(before[others])
    assert before["lowest"].isna().all()


def test_a_band_without_an_outcome_changes_nothing() -> None:
    table = {"table4": selected()}
    before = endpoints(table, SPEC, PAPER)
    frame = scores(low=-0.1, high=0.1)
    incomplete = frame[frame["seed"] > 0].iloc[1:]
    cases = [(incomplete, ""), (frame, "other sizes")]
    for cut, mark in cases:
        grid = {GRID_OF["table4"]: cut}
        band = bands(grid, SPEC, PAPER, mark)
        after = endpoints(table, SPEC, PAPER, band=band)
        assert_frame_equal(after, before)


def test_a_row_that_is_not_comparable_has_no_band() -> None:
    band = band_around_the_paper()
    table = {"table4": selected()}
    rows = endpoints(table, SPEC, PAPER, "smoke sizes", band)
    assert set(rows["outcome"]) == {"not comparable"}
    assert rows["lowest"].isna().all()


def test_the_script_without_the_package_finds_the_same(tmp_path: Path) -> None:
    path = CHECKOUT / "results/recompute_endpoints.py"
    spec: Any = importlib.util.spec_from_file_location("recompute", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    ends = {
        "table1": (-0.2, 0.1),
        "table3": (0.5, 1.0),
        "table4": (-0.1, 0.01),
    }
    grids = {}
    for table, (low, high) in ends.items():
        frame = scores(table, low=low, high=high, sd=0.02)
        rng = np.random.default_rng(2)
        noise = rng.normal(0, 0.02, len(frame))
        value = frame["value"] + noise
        grids[GRID_OF[table]] = frame.assign(value=value)
    folder = tmp_path / "scores"
    folder.mkdir()
    for name, frame in grids.items():
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
    own = {}
    for table in SPEC.tables:
        file = CHECKOUT / f"results/reference/scores/{table}.csv.gz"
        own[table] = pd.read_csv(file)
        published = file.read_bytes()
        (folder / file.name).write_bytes(published)
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
    shifted = band["lowest_ci_low"] + 1e-6
    wrong = band.assign(lowest_ci_low=shifted)
    wrong.to_csv(tmp_path / "as_printed_band.csv", index=False)
    assert script.main(tmp_path) == len(band) - 1  # all but Table 3's


def test_a_margin_of_the_declaration_counts() -> None:
    declared = SPEC.tables["table4"].model_copy(update={"margin": 0.2})
    tables = SPEC.tables | {"table4": declared}
    spec = SPEC.model_copy(update={"tables": tables})
    frame = scores(low=-0.1, high=0.1)
    grid = {GRID_OF["table4"]: frame}
    found = bands(grid, spec, PAPER)
    assert found["outcome"].tolist() == ["reproduced"]
