"""The page on the test of heterogeneity tells the tables of its study."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from benchmarks import heterogeneity
from benchmarks.heterogeneity_draws import CASES, PARTS

ROOT = Path(__file__).parents[3]


def test_a_case_has_one_row_with_the_exact_interval() -> None:
    draws = pd.DataFrame(
        [
            {"part": "size", "case": "t2", "n": 1000, "seed": seed, "gain": 0.5, "null_mean": 0.3,
             "null_std": 0.1, "p_value": 0.05, "found": seed < 2, "seconds": 1.0}
            for seed in range(20)
        ]
    )  # fmt: skip
    row = heterogeneity.summary(draws).iloc[0]
    assert (row["draws"], row["found"], row["below_level"], row["rate"]) == (20, 2, 20, 0.1)
    assert row["low"] == pytest.approx(beta.ppf(0.025, 2, 19), abs=1e-4)
    assert row["high"] == pytest.approx(beta.ppf(0.975, 3, 18), abs=1e-4)
    assert row["z"] == pytest.approx(2)


def test_errors_are_means_over_seeds() -> None:
    draws = pd.DataFrame(
        [
            {"part": "houses", "case": "houses", "environment": "1900-1919", "method": method,
             "seed": seed, "found": False, "error": float(seed)}
            for method in ("KerHRM", "ERM (network)")
            for seed in range(3)
        ]
    )  # fmt: skip
    rows = heterogeneity.mean_errors(draws)
    assert rows["mean"].tolist() == [1.0, 1.0]
    assert rows["high"].iloc[0] == pytest.approx(1 + 1.96 / np.sqrt(3), abs=1e-4)


def test_only_what_is_missing_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def one(seed: int) -> list[dict[str, float]]:
        drawn.append(seed)
        return [{"gain": 0.1}]

    def draws(seeds: int):  # type: ignore[no-untyped-def]
        return lambda: (("law", 100, s, lambda s=s: one(s)) for s in range(seeds))

    for seeds in (2, 3):
        monkeypatch.setitem(PARTS, "size", draws(seeds))
        heterogeneity.draw("size", tmp_path)
    assert drawn == [0, 1, 2]
    assert len(pd.read_csv(tmp_path / heterogeneity.DRAWS)) == 3


def test_laws_draw_as_many_points_as_they_say() -> None:
    for cases in CASES.values():
        for case in cases:
            x, y = case.draw(np.random.default_rng(0), 60)
            assert x.shape == (60, 10)
            assert y.shape == (60,)
            assert np.isfinite(y).all()


@pytest.mark.skipif(
    not (ROOT / heterogeneity.FOLDER / heterogeneity.SUMMARY).exists(), reason="no study"
)
def test_the_committed_page_is_that_of_the_committed_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert heterogeneity.text() == heterogeneity.PAGE.read_text(encoding="utf-8")
