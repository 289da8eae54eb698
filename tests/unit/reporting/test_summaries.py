"""Small tables of what cells, clusterings and jobs come to."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.restarts import restart_counts
from kerhrm.reporting.summaries import (
    comparison_counts,
    comparison_table,
    selection_cost,
    verdict_counts,
)
from kerhrm.reporting.tables import build_table
from kerhrm.reporting.times import compute_times, read_benchmarks


def rows(markdown: str) -> list[list[str]]:
    """Cells of a Markdown table, header first."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [cells[0], *cells[2:]]


COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
MARGINS = ["agree at half the margin", "at twice"]
PRINTED = ("r2=0.70", "r2=0.80")
POOLED, OWN, ORACLE = "pooled validation", "worst learned environment", "oracle"


def cells(settings: tuple[str, ...] = ("r2=0.70", "r2=0.80")) -> pd.DataFrame:
    """A table in which every mean tells where it comes from."""
    methods = {"ERM": 0.1, "KerHRM-s": 0.2, "KerHRM (NTF)": 0.3, "KerHRM (network)": 0.4}
    rules = {OWN: 0.01, POOLED: 0.02, ORACLE: 0.03}
    metrics = {"train_acc": 0.004, "test_acc": 0.005}
    records = []
    for (a, s), (m, b), (rule, c), (metric, d) in product(
        enumerate(settings), methods.items(), rules.items(), metrics.items()
    ):
        own = POOLED if m == "ERM" else OWN
        if m in ("ERM", "KerHRM-s") and rule != own:
            continue
        value = 0.5 * a + b + c + d
        records += [(s, m, seed, metric, value, rule, "synthetic", "") for seed in (0, 1)]
    scores = pd.DataFrame(records, columns=COLUMNS)
    paper = PaperValues({("table1", s, "ERM", "test_acc"): 0.125 for s in PRINTED})
    return build_table(scores, "table1", "paper", paper)


def test_what_the_rule_costs() -> None:
    header, *body = rows(selection_cost(cells()))
    assert header == ["setting", "method", "result", POOLED, OWN, ORACLE]
    assert body == [
        ["r2=0.70", "KerHRM (NTF)", "test accuracy", "0.325", "**0.315**", "0.335"],
        ["r2=0.70", "KerHRM (network)", "test accuracy", "0.425", "**0.415**", "0.435"],
        ["r2=0.80", "KerHRM (NTF)", "test accuracy", "0.825", "**0.815**", "0.835"],
        ["r2=0.80", "KerHRM (network)", "test accuracy", "0.925", "**0.915**", "0.935"],
    ]


def test_costs_are_averaged_over_the_papers_settings() -> None:
    settings = ("r2=0.70", "r2=0.80", "r2=0.70,k=extended", "r2=0.70,colour=random")
    header, *body = rows(selection_cost(cells(settings), ["table", "method"]))
    assert header == ["table", "method", "result", POOLED, OWN, ORACLE]
    assert body == [
        ["table1", "KerHRM (NTF)", "test accuracy", "0.575", "**0.565**", "0.585"],
        ["table1", "KerHRM (network)", "test accuracy", "0.675", "**0.665**", "0.685"],
    ]


def test_rules_of_other_seeds_say_how_many() -> None:
    table = cells()
    network = table["method"] == "KerHRM (network)"
    table.loc[network, "n_seeds"] = 20
    table.loc[network & (table["selection"] == ORACLE), "n_seeds"] = 10
    _, ntf, net = rows(selection_cost(table, ["table", "method"]))
    assert ntf[3:] == ["0.575", "**0.565**", "0.585"]
    assert net[3:] == ["0.675 (n = 20)", "**0.665** (n = 20)", "0.685 (n = 10)"]


def test_averages_are_over_settings_that_every_rule_chose_in() -> None:
    """Else the rules' means would be of other settings: an oracle has but some."""
    table = cells()
    table = table[(table["selection"] != ORACLE) | (table["setting"] == "r2=0.80")]
    header, *body = rows(selection_cost(table, ["table", "method"]))
    assert header == ["table", "method", "result", POOLED, OWN, ORACLE]
    assert body == [
        ["table1", "KerHRM (NTF)", "test accuracy", "0.825", "**0.815**", "0.835"],
        ["table1", "KerHRM (network)", "test accuracy", "0.925", "**0.915**", "0.935"],
    ]


def test_a_method_with_rules_of_its_own_leaves_gaps_and_a_failed_one_no_mean() -> None:
    table = cells()
    ntf = table["method"] == "KerHRM (NTF)"
    table.loc[ntf, "method"] = "IRM"
    table.loc[ntf & (table["selection"] == OWN), "selection"] = "worst validation environment"
    table.loc[ntf & (table["selection"] == ORACLE) & (table["setting"] == "r2=0.80"), "mean"] = (
        float("nan")
    )
    header, first, second = rows(selection_cost(table, ["table", "method"]))
    assert header[3:] == [POOLED, OWN, "worst validation environment", ORACLE]
    assert first == ["table1", "IRM", "test accuracy", "0.575", "–", "**0.565**", "failed"]  # noqa: RUF001
    assert second[5] == "–"  # noqa: RUF001


def test_a_table_without_a_choice_says_so() -> None:
    table = cells()
    assert selection_cost(table[table["method"] == "ERM"]) == (
        "Every method was chosen by one rule alone.\n"
    )


@pytest.mark.parametrize(
    ("metric", "name"), [("mean_error", "mean error"), ("mse", "mean squared error")]
)
def test_errors_cost_as_well(metric: str, name: str) -> None:
    table = cells().replace({"metric": {"test_acc": metric, "train_acc": "std_error"}})
    _, *body = rows(selection_cost(table))
    assert body[0] == ["r2=0.70", "KerHRM (NTF)", name, "0.325", "**0.315**", "0.335"]
    assert len(body) == 4


def test_a_table_of_another_metric_is_compared_by_it() -> None:
    table = cells().replace({"metric": {"test_acc": "regret", "train_acc": "std_error"}})
    table = table[table["metric"] == "regret"]
    _, *body = rows(selection_cost(table))
    assert body[0] == ["r2=0.70", "KerHRM (NTF)", "regret", "0.325", "**0.315**", "0.335"]
    _, *body = rows(verdict_counts(table.assign(verdict="undecided", direction="")))
    assert body == [["regret", "8", "1", "1"]]


@pytest.fixture
def compared() -> pd.DataFrame:
    """Two settings; the network is better than DRO in one, ERM failed in the other."""
    outcomes = {
        ("a", "DRO"): ("better", 0.25, 1.0), ("b", "DRO"): ("undecided", -0.125, 0.5),
        ("a", "ERM"): ("worse", -0.5, 0.0), ("b", "ERM"): ("failed", np.nan, np.nan),
    }  # fmt: skip
    return pd.DataFrame(
        {"setting": setting, "metric": "test_acc", "method": "KerHRM (network)", "baseline": other,
         "difference": d, "ci_low": d - 0.1, "ci_high": d + 0.1, "probability": p, "outcome": name}
        for (setting, other), (name, d, p) in outcomes.items()
    )  # fmt: skip


def test_pairs_are_shown_by_setting(compared: pd.DataFrame) -> None:
    header, *body = rows(comparison_table(compared))
    assert header == ["metric", "method", "baseline", "a", "b"]
    ours = ["test accuracy", "KerHRM (network)"]
    assert body == [
        [*ours, "DRO", "+0.250 [+0.150, +0.350]<br>better, P = 1.00",
         "-0.125 [-0.225, -0.025]<br>undecided, P = 0.50"],
        [*ours, "ERM", "-0.500 [-0.600, -0.400]<br>worse, P = 0.00", "failed"],
    ]  # fmt: skip


def test_outcomes_of_pairs_are_counted(compared: pd.DataFrame) -> None:
    both = pd.concat([compared, compared.head(2).assign(method="KerHRM (NTF)")])
    assert rows(comparison_counts(both)) == [
        ["baseline", "KerHRM (network)", "KerHRM (NTF)"],
        ["ERM", "1 worse, 1 failed; P = 0.00", "–"],  # noqa: RUF001
        ["DRO", "1 better, 1 undecided; P = 0.75", "1 better, 1 undecided; P = 0.75"],
    ]
    assert rows(comparison_counts(compared.assign(table="table9"), "table"))[0] == [
        "baseline",
        "table9",
    ]
    for show in (comparison_table, comparison_counts):
        assert show(compared.head(0)) == "No method here is compared with others.\n"


def test_verdicts_of_headline_rows_are_counted() -> None:
    table = cells()
    header, *body = rows(verdict_counts(table))
    assert header[1:] == ["\U0001f7e9 agrees", "\U0001f7e6 differs (good)", *MARGINS]
    # ERM's two: the paper's number, and .5 above it
    assert body == [["test accuracy", "1", "1", "1", "1"]]
    table["verdict"], table["direction"], table["margins"] = "differs: lower", "bad", 0.4
    train = table["metric"] == "train_acc"
    table.loc[train, ["verdict", "direction", "margins"]] = ["agrees", "", 1.5]
    header, *body = rows(verdict_counts(table))
    assert header[1:] == ["\U0001f7e9 agrees", "\U0001f7e7 differs (bad)", *MARGINS]
    # two settings, four methods; other selection rules do not count
    assert body == [
        ["test accuracy", "0", "8", "8", "8"],
        ["training accuracy", "8", "0", "0", "8"],
    ]
    header, *body = rows(verdict_counts(table, ["table", "metric"]))
    assert header[:2] == ["table", "metric"]
    assert [line[:2] for line in body] == [
        ["table1", "test accuracy"],
        ["table1", "training accuracy"],
    ]
    assert verdict_counts(table.assign(verdict="")) == (
        "The paper prints no number for these cells.\n"
    )


@pytest.fixture
def report() -> pd.DataFrame:
    columns = ["setting", "iteration", "seed", "k", "n_starts", "n_label_split", "n_empty",
               "n_unconverged", "usable"]  # fmt: skip
    return pd.DataFrame(
        [
            ("r2=0.70", 1, 0, 10, 20, 3, 0, 1, True),
            ("r2=0.70", 1, 1, 10, 20, 20, 0, 0, False),
            ("r2=0.70", 2, 0, 10, 20, 1, 2, 5, True),
            ("r2=0.80", 1, 0, 10, 7, 0, 0, 0, True),
        ],
        columns=columns,
    )


def test_starts_are_added_up(report: pd.DataFrame) -> None:
    header, *body = rows(restart_counts({"one": report, "two": report.tail(1)}))
    assert header[:3] == ["experiment", "setting", "iteration"]
    assert header[3:7] == ["starts", "label splits", "empty", "not converged"]
    assert header[7] == "searches without a usable start"
    assert body == [
        ["one", "r2=0.70", "1", "40", "23", "0", "1", "1"],
        ["one", "r2=0.70", "2", "20", "1", "2", "5", "0"],
        ["one", "r2=0.80", "1", "7", "0", "0", "0", "0"],
        ["two", "r2=0.80", "1", "7", "0", "0", "0", "0"],
    ]


def test_starts_are_added_up_over_settings(report: pd.DataFrame) -> None:
    header, *body = rows(restart_counts({"one": report}, ["experiment", "iteration"]))
    assert header[:3] == ["experiment", "iteration", "starts"]
    assert body == [
        ["one", "1", "47", "23", "0", "1", "1"],
        ["one", "2", "20", "1", "2", "5", "0"],
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Benchmarks as Snakemake leaves them."""

    def leave(path: str, seconds: float) -> None:
        target = tmp_path / "benchmarks" / f"{path}.tsv"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{seconds:.4f}\t0:00:01\t-\t-\n")

    for experiment, factor in (("one", 1), ("two", 10), ("tune-one", 1000)):
        leave(f"generate_data/{experiment}/r2=0.70", factor * 1.0)
        leave(f"learn_environments/{experiment}/a/1", factor * 2.0)
        leave(f"learn_environments/{experiment}/b/2", factor * 3.0)
        leave(f"train_network/{experiment}/a", factor * 100.0)
        leave(f"score/{experiment}/a", factor * 0.5)
    leave("train_method/one/a/erm", 50.0)
    leave("summarise/table1", 1000.0)  # of no experiment
    leave("write_configuration", 1000.0)
    return tmp_path / "benchmarks"


def test_benchmarks_are_read_by_rule_and_place(folder: Path) -> None:
    jobs = read_benchmarks(folder).set_index(["rule", "place"])
    assert jobs.loc[[("train_method", ("one", "a", "erm"))], "seconds"].item() == 50.0
    assert jobs.loc[[("generate_data", ("two", "r2=0.70"))], "experiment"].item() == "two"
    alone = jobs[jobs["experiment"] == ""]
    assert sorted(alone.index) == [("summarise", ("table1",)), ("write_configuration", ())]
    with pytest.raises(KerhrmError, match=r"has no benchmarks \(\*\.tsv\); run"):
        read_benchmarks(folder.parent / "elsewhere")


def test_times_are_added_up_from_benchmarks(folder: Path) -> None:
    jobs = read_benchmarks(folder)
    header, *body = rows(compute_times(jobs, ["one", "shares everything", "two"]))
    assert header == ["rule", "one", "shares everything", "two"]
    assert body == [
        ["generate_data", "1.0", "0.0", "10.0"],
        ["learn_environments", "5.0", "0.0", "50.0"],
        ["train_method", "50.0", "0.0", "0.0"],
        ["train_network", "100.0", "0.0", "1000.0"],
        ["score", "0.5", "0.0", "5.0"],
        ["all rules", "156.5", "0.0", "1065.0"],
        ["from data to the scores of KerHRM (NTF)", "6.5", "0.0", "65.0"],
    ]
