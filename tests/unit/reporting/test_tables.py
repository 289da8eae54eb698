"""The tables' contract: statistics, the paper's number, and the verdict of every cell."""

import io
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import row_titled
from kerhrm.reporting.paper import PaperValues, load
from kerhrm.reporting.tables import (
    base_setting,
    build_table,
    failures,
    full_title,
    headline,
    is_stand_in,
    read_scores,
    read_table,
    results_of,
)
from kerhrm.scoring.verdicts import Measured, judge

CONTRACT = (
    "table,setting,method,metric,mean,std,n_seeds,ci_low,ci_high,paper,data_source,selection,"
    "track,verdict,reason,direction,p_agrees,p_differs,margins"
)
COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
OWN, POOLED, ORACLE = "worst learned environment", "pooled validation", "oracle"
ROWS = [
    ("ERM", POOLED),
    ("KerHRM-s", OWN),
    ("KerHRM (network)", OWN),
    ("KerHRM (network)", ORACLE),  # before the last headline row, on purpose
    ("KerHRM (network)", POOLED),
    ("KerHRM (literal)", POOLED),
    ("KerHRM (released)", "as released"),
    ("ref: Bayes pooled", "none"),
]
METRICS = ["train_acc", "test_acc"]
SEEDS = 4
VALUES = Path(__file__).parents[3] / "config" / "paper_values.yaml"
PAPER = PaperValues(
    {("table1", s, m, metric): value
     for (s, value), m, metric in product([("r2=0.70", 0.724), ("r2=0.80", 0.693)],
                                          ["ERM", "KerHRM"], METRICS)}
)  # fmt: skip


def scores(settings: list[str], source: str = "synthetic", seeds: int = SEEDS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (setting, method, seed, metric, rng.uniform(0.4, 0.9), selection, source, "")
        for setting, (method, selection), metric, seed in product(
            settings, ROWS, METRICS, range(seeds)
        )
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def table(
    settings: list[str], source: str = "synthetic", preset: str = "paper", seeds: int = SEEDS
) -> pd.DataFrame:
    return build_table(scores(settings, source, seeds), "table1", preset, PAPER)


@pytest.fixture
def table1() -> pd.DataFrame:
    return table(["r2=0.70", "r2=0.80"])


def test_columns_are_the_contract(table1: pd.DataFrame, tmp_path: Path) -> None:
    text = table1.to_csv(index=False)
    assert text.splitlines()[0] == CONTRACT
    assert len(table1) == 2 * len(ROWS) * len(METRICS)
    (tmp_path / "table1.csv").write_text(text, encoding="utf-8")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table1.csv"), table1, check_dtype=False)


def test_every_row_summarises_its_seeds(table1: pd.DataFrame) -> None:
    per_seed = scores(["r2=0.70", "r2=0.80"])
    keys = ["setting", "method", "metric", "selection"]
    for row in table1.to_dict("records"):
        here = (per_seed[keys] == [row[key] for key in keys]).all(axis=1)
        values = per_seed.loc[here, "value"].to_numpy()
        assert len(values) == row["n_seeds"] == SEEDS
        assert row["table"] == "table1"
        assert row["mean"] == pytest.approx(values.mean())
        assert row["std"] == pytest.approx(values.std(ddof=1))
        interval = scipy.stats.ttest_1samp(values, 0).confidence_interval()
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(interval))


def test_rows_keep_the_order_of_the_scores(table1: pd.DataFrame) -> None:
    found = list(zip(table1["setting"], table1["method"], table1["selection"], strict=True))
    expected = [(s, *row) for s in ("r2=0.70", "r2=0.80") for row in ROWS for _ in METRICS]
    assert found == expected


def test_the_papers_numbers_stand_beside_ours(table1: pd.DataFrame) -> None:
    cells = table1.set_index(["setting", "method", "metric", "selection"])["paper"]
    assert cells["r2=0.70", "KerHRM (network)", "test_acc", OWN] == 0.724
    assert cells["r2=0.80", "KerHRM (literal)", "train_acc", POOLED] == 0.693
    assert cells["r2=0.70", "KerHRM (released)", "test_acc", "as released"] == 0.724
    assert pd.isna(cells["r2=0.70", "KerHRM-s", "test_acc", OWN])  # not in this transcription
    assert cells[:, "ref: Bayes pooled"].isna().all()


def test_tracks_tell_what_a_row_is(table1: pd.DataFrame) -> None:
    tracks = dict(zip(table1["method"], table1["track"], strict=True))
    assert tracks.pop("ref: Bayes pooled") == "reference"
    assert tracks.pop("KerHRM (released)") == "released"
    assert set(tracks.values()) == {"described"}


def test_verdicts_are_those_of_the_comparable_cells_together() -> None:
    per_seed = scores(["r2=0.70", "r2=0.80"], seeds=10)
    # the first near the paper's number, the second surely above it
    near = (per_seed["method"] == "ERM") & (per_seed["setting"] == "r2=0.70")
    per_seed["value"] = per_seed["value"].where(~near, 0.724 + (per_seed["value"] - 0.65) / 50)
    above = (per_seed["method"] == "ERM") & (per_seed["setting"] == "r2=0.80")
    per_seed["value"] = per_seed["value"].where(~above, 0.9 + (per_seed["value"] - 0.65) / 50)
    found = build_table(per_seed, "table1", "paper", PAPER)
    printed = found[found["paper"].notna()]
    own = headline(printed)
    facts = own[["metric", "mean", "std", "n_seeds", "paper"]].itertuples(index=False, name=None)
    expected = judge([Measured(*fact, runs=10) for fact in facts])
    for row, judged in zip(own.to_dict("records"), expected, strict=True):
        assert {name: row[name] for name in asdict(judged)} == asdict(judged)
    assert set(own["verdict"]) == {"agrees", "differs: higher", "undecided"}
    assert set(own["reason"]) == {""}
    others = found.drop(own.index)
    assert others[["p_agrees", "p_differs", "margins"]].isna().all(axis=None)
    assert set(others["direction"]) == {""}
    chosen_otherwise = printed.drop(own.index)
    assert set(chosen_otherwise["verdict"]) == {"not comparable"}
    assert set(chosen_otherwise["reason"]) == {"another selection rule than the method's own"}
    assert set(found.loc[found["paper"].isna(), "verdict"]) == {""}


def test_table_4_has_fewer_runs() -> None:
    paper = PaperValues({("table4", "cmnist", "ERM", "test_acc"): 0.5})
    per_seed = scores(["cmnist"])
    found = build_table(per_seed, "table4", "paper", paper)
    (row,) = headline(found[found["paper"].notna()]).to_dict("records")
    (expected,) = judge([Measured("test_acc", row["mean"], row["std"], SEEDS, 0.5, runs=5)])
    assert row["p_differs"] == expected.p_differs


@pytest.mark.parametrize(
    ("table", "setting", "method", "metric", "reason"),
    [
        ("table4", "cmnist", "ref: perfect invariant model", "test_acc", "theoretical"),
        ("table4", "cmnist", "KerHRM (released)", "test_acc", "no script"),
        ("table3", "scenario=1,r=1.5", "KerHRM (released)", "std_error", "ddof = 0"),
        ("table3", "scenario=1,r=1.5", "KerHRM (released)", "mean_error", ""),
        ("table3", "scenario=1,r=1.5", "KerHRM (network)", "std_error", ""),
        ("table4", "cmnist", "KerHRM (network)", "test_acc", ""),
    ],
)
def test_a_number_of_another_kind_is_not_compared(
    table: str, setting: str, method: str, metric: str, reason: str
) -> None:
    rule = row_titled(method).rule
    rows = [(setting, method, s, metric, 0.1 * s, rule, "mnist", "") for s in range(3)]
    (cell,) = build_table(
        pd.DataFrame(rows, columns=COLUMNS), table, "paper", load(VALUES)
    ).to_dict("records")
    assert cell["paper"] > 0
    assert reason in cell["reason"]
    assert bool(cell["reason"]) == bool(reason)
    assert (cell["verdict"] == "not comparable") == bool(reason)


def test_fresh_seeds_are_compared_as_those_of_development_are() -> None:
    pd.testing.assert_frame_equal(table(["r2=0.70"], preset="fresh"), table(["r2=0.70"]))
    assert "fresh" not in full_title("T", table(["r2=0.70"]), "fresh")


@pytest.mark.parametrize(
    ("preset", "source"),
    [("smoke", "synthetic"), ("paper", "stand-in:digits"), ("smoke", "stand-in:digits")],
)
def test_nothing_else_is_compared_with_the_paper(preset: str, source: str) -> None:
    found = table(["r2=0.70"], source, preset)
    assert found["paper"].isna().all()
    assert set(found["data_source"]) == {source}
    printed = ~found["method"].isin(["KerHRM-s", "ref: Bayes pooled"])
    assert set(found.loc[printed, "verdict"]) == {"not comparable"}
    why = "stand-in data" if preset == "paper" else "preset smoke"
    assert set(found.loc[printed, "reason"]) == {why}
    assert set(found.loc[~printed, "verdict"]) == {""}


def test_a_marked_setting_shows_the_papers_number_and_is_not_judged() -> None:
    found = table(["r2=0.70,k=extended"])
    assert set(found["paper"].dropna()) == {0.724}
    assert set(found["setting"]) == {"r2=0.70,k=extended"}
    assert set(found.loc[found["paper"].notna(), "verdict"]) == {"not comparable"}
    own = headline(found[found["paper"].notna()])
    assert set(own["reason"]) == {"the paper has no k=extended"}


def test_either_h_is_compared_with_the_one_number() -> None:
    plain, identity = table(["r2=0.70"]), table(["r2=0.70,H=I"])
    compared = ["mean", "paper", "verdict"]
    pd.testing.assert_frame_equal(plain[compared], identity[compared])
    assert "not comparable" not in set(headline(identity)["verdict"])


def test_a_yardstick_is_not_the_papers_setting() -> None:
    found = table(["r2=0.70,colour=random"])
    assert found["paper"].isna().all()
    assert set(found["verdict"]) == {""}


@pytest.mark.parametrize("setting", ["k=5", "r2=0.70,k=5", "H=I"])
def test_a_name_tells_nothing_where_the_paper_prints_no_table(setting: str) -> None:
    found = build_table(scores([setting]), "mine", "paper", PAPER)
    assert found["paper"].isna().all()
    assert set(found["verdict"]) == {""}
    assert set(found["setting"]) == {setting}


@pytest.mark.parametrize(
    ("setting", "base"),
    [
        ("r2=0.70", "r2=0.70"),
        ("r2=0.70,H=I", "r2=0.70"),
        ("r2=0.80,K=3", "r2=0.80,K=3"),
        ("r2=0.80,K=3,H=I", "r2=0.80,K=3"),
        ("scenario=1,r=1.5", "scenario=1,r=1.5"),
        ("cmnist,k=extended", "cmnist"),
        ("cmnist,colour=random", "cmnist,colour=random"),
    ],
)
def test_names_of_settings(setting: str, base: str) -> None:
    assert base_setting(setting) == base


def test_the_results_among_the_metrics() -> None:
    names = ["d_kl", "std_error", "mean_error", "train_acc", "test_acc"]
    assert results_of(pd.DataFrame({"metric": names})) == ["test_acc", "mean_error"]
    assert results_of(pd.DataFrame({"metric": ["recall", "regret"]})) == ["recall"]


def test_a_failed_seed_fails_its_cell_and_gives_the_reason() -> None:
    per_seed = scores(["r2=0.70"])
    failed = (per_seed["method"] == "ERM") & (per_seed["metric"] == "test_acc")
    failed &= per_seed["seed"].isin([1, 3])
    per_seed.loc[failed, ["value", "reason"]] = [np.nan, "diverged"]
    found = build_table(per_seed, "table1", "paper", PAPER)
    bad = found[found["verdict"] == "failed"]
    assert list(bad["method"] + bad["metric"]) == ["ERMtest_acc"]
    assert bad[["mean", "std", "ci_low", "ci_high"]].isna().all(axis=None)
    assert bad["reason"].item() == "diverged (2 of 4 seeds)"
    assert bad["paper"].item() == 0.724
    assert bad[["p_agrees", "p_differs", "margins"]].isna().all(axis=None)
    per_seed.loc[per_seed["seed"] == 3, "reason"] = "stopped"
    again = build_table(per_seed, "table1", "paper", PAPER)
    assert set(headline(again)["reason"]) == {"", "diverged; stopped (2 of 4 seeds)"}
    assert failures(again) == [
        "table1 | r2=0.70 | ERM, pooled validation | test_acc: diverged; stopped (2 of 4 seeds)"
    ]
    assert failures(found[found["verdict"] != "failed"]) == []


def test_a_seed_counts_once() -> None:
    once = scores(["r2=0.70"])
    with pytest.raises(KerhrmError, match=r"two values of r2=0\.70, ERM, train_acc, .*, 0; score"):
        build_table(pd.concat([once, once]), "table1", "paper", PAPER)


def test_unknown_methods_are_told() -> None:
    unknown = scores(["r2=0.70"]).replace({"method": {"ERM": "EMR"}})
    with pytest.raises(KerhrmError, match="no method is called 'EMR'"):
        build_table(unknown, "table1", "paper", PAPER)


@pytest.mark.parametrize(
    ("source", "expected"),
    [("stand-in:digits", True), ("mnist", False), ("synthetic", False), ("no stand-in:", False)],
)
def test_stand_ins_are_known_by_name(source: str, expected: bool) -> None:
    assert is_stand_in(source) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("table1", "Table 1: T"), ("figure12", "Figure 12: T"), ("mine", "T"), ("tables", "T")],
)
def test_titles_number_what_is_numbered(name: str, expected: str) -> None:
    cells = pd.DataFrame({"table": [name], "data_source": ["synthetic"]})
    assert full_title("T", cells, "paper") == expected


def test_titles_say_what_the_numbers_are_not() -> None:
    def of(preset: str, *sources: str) -> str:
        cells = pd.DataFrame({"table": "table4", "data_source": sources})
        return full_title("Colored MNIST", cells, preset)

    assert of("paper", "mnist") == "Table 4: Colored MNIST"
    smoke = of("smoke", "mnist")
    assert smoke.startswith("Table 4: Colored MNIST ")
    assert "preset smoke" in smoke
    assert "not for comparison" in smoke
    both = of("smoke", "stand-in:digits", "mnist", "stand-in:digits")
    assert "preset smoke" in both
    assert both.count("stand-in:digits") == 1
    assert "not the real data" in both
    assert "stand-in:digits" in of("paper", "stand-in:digits")


def test_headline_rows_are_the_methods_own(table1: pd.DataFrame) -> None:
    found = headline(table1)
    assert set(zip(found["method"], found["selection"], strict=True)) == set(ROWS) - {
        ("KerHRM (network)", ORACLE),
        ("KerHRM (network)", POOLED),
    }


def test_the_scores_files_are_enough(tmp_path: Path) -> None:
    paths = []
    for setting in ("r2=0.70", "r2=0.80"):
        paths.append(tmp_path / f"{setting}.csv")
        one = scores(["r2=0.70", "r2=0.80"])
        one[one["setting"] == setting].to_csv(paths[-1], index=False)
    again = build_table(read_scores(paths), "table1", "paper", PAPER)
    pd.testing.assert_frame_equal(again, table(["r2=0.70", "r2=0.80"]))


def test_empty_texts_stay_texts() -> None:
    text = scores(["r2=0.70"]).to_csv(index=False)
    assert pd.read_csv(io.StringIO(text))["reason"].isna().all()
    assert set(read_scores([io.StringIO(text)])["reason"]) == {""}  # type: ignore[list-item]
