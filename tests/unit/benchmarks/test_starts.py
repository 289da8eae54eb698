"""The study of M_c's starts, of lambda and of EIIL's reference, and its page."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import starts, starts_cases, starts_draws, starts_networks, starts_page
from kerhrm.algorithm.options import Clustering
from kerhrm.data.registry import generate

ROOT = Path(__file__).parents[3]
TINY = starts_cases.Case(
    {"generator": "classification", "r2": 0.8, "n_train_per_environment": 60,
     "n_validation_per_environment": 40, "n_test": 50}, k=4,
)  # fmt: skip


@given(st.lists(st.integers(0, 5), min_size=1, max_size=7), st.data())
def test_the_best_of_some_starts_is_the_mean_over_all_choices(
    preferences: list[int], data: st.DataObject
) -> None:
    """Against enumeration; ties have one result, as ends that are alike do."""
    order = np.array(preferences, dtype=float)
    results = np.sin(order)
    draws = data.draw(st.integers(1, len(order)))
    chosen = [max(drawn) for drawn in itertools.combinations(order, draws)]
    expected = np.mean(np.sin(chosen))
    assert starts.best_of(order, results, draws) == pytest.approx(expected)


def ends(*rows: tuple[float, bool, float, float, float, int]) -> pd.DataFrame:
    names = ["label_information", "empty", "auc", "held_out", "result", "starts"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(case="Table 1", seed=0, em="soft", result_alpha_0=frame["result"])


#: the expected split, a likelier label split, a likelier end with one environment
ENDS = ends((0.0, False, 1.0, -0.5, 0.77, 7), (1.0, False, 0.5, 0.3, 0.3, 2),
            (0.0, True, 0.5, -0.4, 0.4, 1))  # fmt: skip


def test_screening_sets_label_splits_and_single_environments_aside() -> None:
    chosen = starts.choices(ENDS).iloc[0]
    assert chosen["all"] == chosen["few"] == 0.77
    assert chosen["plain"] == 0.3
    assert chosen["one"] == pytest.approx(0.77 * 0.7 + 0.3 * 0.2 + 0.4 * 0.1)
    assert (chosen["right"], chosen["plain_right"]) == (True, False)
    shares = starts.outcomes(ENDS).iloc[0]
    assert shares["starts"] == 10
    assert shares[["label_split", "likely", "empty", "expected"]].tolist() == [0.2, 0.2, 0.1, 0.7]


def test_where_nothing_is_usable_the_likeliest_end_is_chosen() -> None:
    chosen = starts.choices(ENDS[ENDS["result"] < 0.7]).assign(case="")
    assert chosen.iloc[0]["all"] == 0.3


def test_of_errors_the_oracle_takes_the_least() -> None:
    assert starts.choices(ENDS.assign(case="Table 3, r=1.9")).iloc[0]["oracle"] == 0.3
    assert starts.choices(ENDS).iloc[0]["oracle"] == 0.77


def test_quartiles_count_every_start() -> None:
    rows = pd.DataFrame(
        {"case": "c", "em": "soft", "clusters": 2, "seed": [0, 0, 1], "iterations": [10, 20, 90],
         "converged": [True, True, False], "label_split": [False, True, False],
         "starts": [5, 2, 1]}
    )  # fmt: skip
    found = starts.convergence(rows).iloc[0]
    expected = np.quantile([10] * 5 + [20] * 2 + [90], [0.25, 0.5, 0.75])
    assert found[["low", "median", "high"]].tolist() == expected.tolist()
    assert (found["label_split"], found["unconverged"], found["starts"]) == (0.25, 0.125, 8)


def test_alike_ends_are_counted() -> None:
    rows = starts_draws.counted(
        [{"a": 0.10001, "b": True}, {"a": 0.1, "b": True}, {"a": 0.2, "b": True}]
    )
    assert sorted(row["starts"] for row in rows) == [1, 2]


def test_only_what_is_missing_is_drawn(tmp_path: Path) -> None:
    drawn: list[int] = []

    def one(seed: int) -> list[dict[str, float]]:
        drawn.append(seed)
        return [{"steps": 10}, {"steps": 20}]

    for seeds in (2, 3):
        drawings = (((0.7, s), lambda s=s: one(s)) for s in range(seeds))
        starts.draw("reference", drawings, tmp_path)
    assert drawn == [0, 1, 2]
    assert len(pd.read_csv(starts.table("reference", tmp_path))) == 6


def test_the_truth_of_table_1_is_the_agreement_of_its_attribute() -> None:
    """With rates one and zero the attribute agrees with the label everywhere, or nowhere."""
    sizes = {"n_train_per_environment": 100, "n_validation_per_environment": 2, "n_test": 2}
    data = generate({"generator": "classification", "r1": 1.0, "r2": 0.0, **sizes}, [3])
    assert (starts_cases.truth(data) == (data.train.environment[0] == 0)).all()


def test_a_drawing_has_all_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts_draws, "STARTS", 6)
    monkeypatch.setattr(starts_draws, "STARTS_OVER_K", 4)
    for em in starts_draws.VARIANTS:
        rows = pd.DataFrame(starts_draws.ends(TINY, 0, em))
        assert rows["starts"].sum() == 6
        assert rows["auc"].between(0.5, 1).all()
        assert sum(row["starts"] for row in starts_draws.convergence(TINY, 0, em, 3)) == 4


def test_the_first_starts_are_those_of_the_library() -> None:
    """So that what M_c chooses of its own starts is among the ends."""
    from kerhrm.algorithm.exploration import learn_environments
    from kerhrm.algorithm.options import KerHRM

    own = starts_cases.pose_case(TINY, 0)
    clustering = Clustering(ridge=[starts_draws.RIDGE], restarts=3)
    options = KerHRM(k=[TINY.k], clustering=clustering)
    learned = learn_environments(own.problem, options, 1, None)
    found = starts_draws.fit(own.problem, "soft", 2, 3)
    assert float(learned.held_out[0, 0]) in found.held_out.tolist()


def test_a_penalty_turns_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts_networks, "KerHRM", lambda: _options(TINY.k))
    free, bound = (starts_networks.trained(TINY, 0, "signed", w, 60)[0] for w in (0.0, 1e4))
    assert bound["cos"] > max(0.99, free["cos"])
    assert bound["steps"] <= 60
    assert 0 <= bound["outside"] <= 1


def _options(k: int):  # type: ignore[no-untyped-def]
    from kerhrm.algorithm.options import KerHRM

    return KerHRM(k=[k], iterations=1)


def test_published_cells_are_read_by_their_names(tmp_path: Path) -> None:
    cells = pd.DataFrame(
        [("r2=0.70", "EIIL", "test_acc", 0.7), ("r2=0.70,reference=50", "EIIL", "test_acc", 0.6),
         ("r2=0.70,reference=50", "EIIL", "train_acc", 0.9),
         ("r2=0.70,reference=50", "ref: majority", "test_acc", 0.5)],
        columns=["setting", "method", "metric", "mean"],
    ).assign(ci_low=0.1, ci_high=0.9, n_seeds=10)  # fmt: skip
    cells.to_csv(tmp_path / "cells.csv", index=False)
    found = starts.eiil(tmp_path / "cells.csv")
    assert found[["r2", "steps", "mean"]].to_numpy().tolist() == [[0.7, 50, 0.6]]


def test_the_reference_is_marked_where_validation_is_highest() -> None:
    rows = pd.DataFrame(
        {"r2": 0.7, "seed": [0, 0, 1, 1], "steps": [10, 20, 10, 20], "train": 0.8, "test": 0.2,
         "validation": [0.8, 0.9, 0.85, 0.8]}
    )  # fmt: skip
    means = starts.reference(rows)
    assert means.loc[means["best"], "steps"].tolist() == [20]
    assert means.loc[means["near"], "steps"].tolist() == [20]
    assert starts_page.near_steps(means) == "r2=0.70: 20 to 20"
    published = pd.DataFrame(
        {"r2": [0.7], "steps": [10], "mean": 0.7, "ci_low": 0.6, "ci_high": 0.8}
    )
    lines = starts_page.references(means, published).splitlines()
    assert len(lines) == 4
    assert "20 (best)" in lines[3]
    assert "0.700 (0.600 to 0.800)" in lines[2]


COMMITTED = all((ROOT / starts.table(part)).exists() for part in starts.KEYS)


@pytest.mark.skipif(not COMMITTED, reason="no study is committed")
def test_the_committed_page_is_that_of_the_committed_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert starts.text() == starts.PAGE.read_text(encoding="utf-8")
