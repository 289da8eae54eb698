"""Endpoints against scipy and against the script that imports nothing
of the package."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from kerhrm.methods.base import POOLED
from kerhrm_paper.config.config import CHECKOUT
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values

SPEC = load_endpoints(CHECKOUT / "config/endpoints.yaml")
PAPER = load_paper_values(CHECKOUT / "config/paper_values.yaml")
PRINTED = {
    "KerHRM": (0.724, 0.686, 0.693),
    "ERM": (0.400, 0.325, 0.254),
}
RATES = ("r2=0.7", "r2=0.75", "r2=0.8")


def scores(
    shift: float = 0.0,
    sd: float = 0.01,
    n: int = 10,
    methods: tuple[str, ...] = ("KerHRM", "ERM"),
) -> pd.DataFrame:
    """Table 1 with its printed numbers, a shift, and noise that a seed's settings
    share.

    Rows of the own criterion come first; those of pooled validation have the values
    that the test of a baseline looks at.
    """
    rng = np.random.default_rng(0)
    rows = []
    for method in methods:
        noise = rng.normal(shift, sd, n)
        counts = POOLED if method == "ERM" else "own"
        for setting, printed in zip(RATES, PRINTED[method], strict=True):
            for marked in (setting, f"{setting},H=I"):
                for seed in range(n):
                    for selection in ("own", POOLED, "oracle"):
                        more = 0.0 if selection == counts else 0.1
                        row = {
                            "setting": marked,
                            "method": method,
                            "seed": seed,
                            "metric": "test_acc",
                            "value": printed + noise[seed] + more,
                            "selection": selection,
                        }
                        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(data="d", data_source="synthetic")


def found(frame: pd.DataFrame, mark: str = "", part: str = "") -> pd.DataFrame:
    """Endpoints of one part of the table, by method."""
    rows = endpoints({"table1": frame}, SPEC, PAPER, mark)
    rows = rows.set_index("method")
    return rows[rows["part"] == part]


@given(shift=st.floats(-0.3, 0.3), sd=st.floats(0.001, 0.2), n=st.integers(2, 20))
@settings(max_examples=30)
def test_an_endpoint_is_a_t_test_of_the_seeds_means(
    shift: float, sd: float, n: int
) -> None:
    frame = scores(shift, sd, n)
    row = found(frame).loc["KerHRM"]
    is_own = frame["method"] == "KerHRM"
    is_own &= frame["selection"] == "own"
    by_seed = frame[is_own].groupby("seed")
    means = by_seed["value"].mean()
    printed = np.mean(PRINTED["KerHRM"])
    difference = means.mean() - printed
    runs_of_the_paper = {"": 10, "_exact": np.inf}
    for end, runs in runs_of_the_paper.items():
        variance = 1 / n + 1 / runs
        standard_error = means.std() * np.sqrt(variance)
        t = scipy.stats.t(n - 1, loc=difference, scale=standard_error)
        low = row[f"ci_low{end}"]
        high = row[f"ci_high{end}"]
        expected = t.interval(0.95)
        assert (low, high) == pytest.approx(expected)
        below = t.cdf(0)
        above = t.sf(0)
        p = 2 * min(below, above)
        assert row[f"p{end}"] == pytest.approx(p, abs=1e-12)
        inside = low >= -0.03 and high <= 0.03
        assert (row[f"outcome{end}"] == "reproduced") == inside
        if not inside:
            word = "better" if row["difference"] > 0 else "worse"
            expected_outcome = word if p <= 0.05 else "open"
            assert row[f"outcome{end}"] == expected_outcome


def test_what_the_paper_claims_is_corrected_alone() -> None:
    """Not our version, not the baselines, and no part of a table."""
    frame = scores()
    claims = []
    for i, method in enumerate(SPEC.family):
        is_kerhrm = frame["method"] == "KerHRM"
        claimed = frame[is_kerhrm].assign(method=method)
        rng = np.random.default_rng(i)
        noise = rng.normal(0.02, 0.03, len(claimed))
        value = claimed["value"] + noise
        claims.append(claimed.assign(value=value))
    frame = pd.concat([frame, *claims])
    family = SPEC.family
    of_table = found(frame)
    of_identity = found(frame, part="H=I")
    for end in ("", "_exact"):
        p = of_table.loc[family, f"p{end}"].sort_values()
        p_holm = of_table[f"p_holm{end}"]
        smallest = p.index[0]
        doubled = min(1, 2 * p[smallest])
        assert p_holm[smallest] == pytest.approx(doubled)
        unclaimed = p_holm[["KerHRM", "ERM"]]
        assert unclaimed.isna().all()
        assert of_identity[f"p_holm{end}"].isna().all()


def test_settings_apart_have_rows_of_their_own() -> None:
    frame = scores()
    apart = frame["setting"].str.endswith(",H=I")
    frame["value"] += np.where(apart, 0.2, 0.0)
    shifts = {"": 0.0, "H=I": 0.2}
    for part, shift in shifts.items():
        rows = found(frame, part=part)
        row = rows.loc["KerHRM"]
        assert row["n_settings"] == 3
        difference = row["difference"]
        assert difference == pytest.approx(shift, abs=0.02)


def test_baselines_are_judged_as_pooled_validation_tunes_them() -> None:
    """Other methods by their own criterion, the first one."""
    rows = found(scores())
    assert rows.loc["ERM", "selection"] == POOLED
    assert rows.loc["KerHRM", "selection"] == "own"
    differences = rows.loc[["ERM", "KerHRM"], "difference"]
    assert differences.abs().max() < 0.02


def test_incomplete_scores_have_no_number_and_say_what_is_missing() -> None:
    frame = scores()
    is_lost = frame["setting"] == "r2=0.75"
    is_lost &= frame["seed"].isin([3, 5])
    is_lost &= frame["method"] == "ERM"
    without_rows = frame[~is_lost]
    values = frame["value"].mask(is_lost)
    without_values = frame.assign(value=values)
    numbers = ["mean", "difference", "ci_low", "p", "n_seeds"]
    for cut in (without_rows, without_values):
        row = found(cut).loc["ERM"]
        assert row["outcome"] == "incomplete"
        assert row["reason"] == "no value: r2=0.75 (seeds 3, 5)"
        assert row[numbers].isna().all()

    is_last_rate = frame["setting"].str.startswith("r2=0.8")
    without_last = frame[~is_last_rate]
    gone = found(without_last).loc["KerHRM"]
    assert gone["outcome"] == "incomplete"
    assert gone["reason"] == "no value: r2=0.8 (all seeds)"


@pytest.mark.parametrize(
    ("mark", "source"), [("smoke sizes", "synthetic"), ("", "fallback:x")]
)
def test_other_sizes_or_data_have_no_outcome(mark: str, source: str) -> None:
    frame = scores().assign(data_source=source)
    rows = found(frame, mark)
    rows = rows.loc[["KerHRM", "ERM"]]
    assert set(rows["outcome"]) == {"not comparable"}
    assert set(rows["outcome_exact"]) == {"not comparable"}
    reasons = rows["reason"].str
    assert reasons.contains("smoke|fallback:x").all()
    is_fallback = source.startswith("fallback:")
    assert rows["difference"].isna().all() == is_fallback


def test_equal_means_are_told_apart_once_in_twenty() -> None:
    """Ten seeds of ours and ten runs of the paper's, of the same distribution."""
    rng = np.random.default_rng(0)
    printed = dict(zip(RATES, PRINTED["ERM"], strict=True))
    wrong = []
    for _ in range(300):
        frame = scores(0.0, 0.05, methods=("ERM",))
        noise = rng.normal(0, 0.05, 10)
        ours = dict(enumerate(noise))
        runs_of_the_paper = rng.normal(0, 0.05, 10)
        papers = runs_of_the_paper.mean()  # the paper's own error
        parts = frame["setting"].str.partition(",")
        printed_mean = parts[0].map(printed)
        noise_of_seed = frame["seed"].map(ours)
        frame["value"] = printed_mean + noise_of_seed - papers
        outcome = found(frame).loc["ERM", "outcome"]
        wrong.append(outcome in ("better", "worse"))
    assert 0.01 < np.mean(wrong) < 0.09


def test_the_script_without_the_package_finds_the_same(tmp_path: Path) -> None:
    path = CHECKOUT / "results/recompute_endpoints.py"
    text = path.read_text()
    assert "kerhrm" not in text.replace("KerHRM", "")
    spec: Any = importlib.util.spec_from_file_location("recompute", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = CHECKOUT / "results/reference/scores"
    (tmp_path / "scores").mkdir()
    frames = {}
    for table in SPEC.tables:
        file = folder / f"{table}.csv.gz"
        copy = tmp_path / "scores" / file.name
        copy.write_bytes(file.read_bytes())
        frames[table] = pd.read_csv(file)
    rows = endpoints(frames, SPEC, PAPER)
    written = tmp_path / "endpoints.csv"
    rows.to_csv(written, index=False)
    assert script.main(tmp_path) == 0
    means = rows["mean"] + 1e-6
    changed = rows.assign(mean=means)
    changed.to_csv(written, index=False)
    assert script.main(tmp_path) == len(rows)
