"""Ranks of methods by hand, what a fit costs, and the page."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from kerhrm_paper.compete.candidates import candidates_table
from kerhrm_paper.compete.page import ranking_page
from kerhrm_paper.compete.published import published_fits
from kerhrm_paper.compete.ranks import Fits, failures, ranks, seconds_a_fit, unranked
from kerhrm_paper.compete.results import Results, sentences
from kerhrm_paper.evaluation.score_rows import COLUMNS
from kerhrm_paper.evaluation.statistics import summarise
from kerhrm_paper.reporting.run import Run

COSTS = {
    ("d1", "erm"): 2.0,
    ("d2", "erm"): 4.0,
    ("d1", "mine"): 0.5,
}
LATE = "timed out after 1 minute"


def rows(method: str, setting: str, **values: list[float]) -> list[dict[str, Any]]:
    """Scores of a method on two seeds by metric; the learner is the title."""
    return [
        {
            **dict.fromkeys(COLUMNS, ""),
            "data": f"d{setting}",
            "setting": setting,
            "learner": method.lower(),
            "method": method,
            "selection": "own",
            "seed": seed,
            "metric": metric,
            "value": value,
            "reason": "" if value == value else LATE,
        }
        for metric, of_seeds in values.items()
        for seed, value in enumerate(of_seeds)
    ]


def accuracies(
    method: str, setting: str, test: list[float], worst: list[float]
) -> list[dict[str, Any]]:
    """Both accuracies of a method on two seeds."""
    return rows(method, setting, test_acc=test, worst_acc=worst)


def run_of(folder: Path, table: str, scores: list[dict[str, Any]]) -> Run:
    """A run that has one table."""
    (folder / "scores").mkdir()
    path = folder / "scores" / f"{table}.csv.gz"
    pd.DataFrame(scores).to_csv(path, index=False)
    return Run(folder)


def ranked(
    run: Run, own: str = "Mine", costs: Mapping[tuple[str, str], float] = COSTS
) -> pd.DataFrame:
    """Ranks in the table of the run; ``own`` is the method of the contest."""
    return ranks(run, {"table1": ""}, [own], costs)


def shown(results: Results) -> BeautifulSoup:
    """The page as a browser has it."""
    page = ranking_page(results)
    return BeautifulSoup(page, "html.parser")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A table of three settings, of which two have most methods."""
    nan = float("nan")
    scores = [
        *accuracies("ERM", "1", [0.4, 0.6], [0.1, 0.1]),
        *accuracies("ERM", "2", [0.6, 0.8], [0.3, 0.5]),
        *accuracies("ERM", "3", [0.9, 0.9], [0.9, 0.9]),
        *accuracies("DRO", "1", [0.5, 0.5], [0.3, 0.3]),
        *accuracies("DRO", "2", [0.5, 0.5], [0.3, 0.3]),
        *accuracies("Late", "1", [0.9, nan], [0.9, nan]),
        *accuracies("Late", "2", [0.9, 0.9], [0.9, 0.9]),
        *accuracies("Half", "1", [0.9, 0.9], [0.9, 0.9]),
        *accuracies("Mine", "1", [0.7, 0.7], [0.2, 0.2]),
        *accuracies("Mine", "2", [0.7, 0.7], [0.2, 0.2]),
        *accuracies("Mine", "3", [0.0, 0.0], [0.0, 0.0]),
        *accuracies("ref: ceiling", "1", [1.0, 1.0], [1.0, 1.0]),
    ]
    return run_of(tmp_path, "table1", scores)


def test_ranks_by_both_metrics(run: Run) -> None:
    tables = {"table1": "", "peers": "shift"}
    found = ranks(run, tables, ["Mine"], COSTS)
    found = found.set_index("method")
    assert [*found.index] == ["Mine", "ERM", "DRO", "Late"]
    complete = found.iloc[:3]
    assert complete["mean"].tolist() == pytest.approx([0.7, 0.6, 0.5])
    assert complete["rank"].tolist() == [1, 2, 3]
    assert complete["worst"].tolist() == pytest.approx([0.2, 0.25, 0.3])
    assert complete["worst_rank"].tolist() == [3, 2, 1]
    ranks_of_late = found.loc["Late", ["rank", "worst_rank"]]
    assert ranks_of_late.isna().all()
    assert found.loc["Late", "reason"] == f"{LATE} (1)"
    assert {*found["n_settings"]} == {2}
    assert found.loc["ERM", "seconds"] == 3.0
    assert found.loc["Mine", "seconds"] == 0.5
    assert pd.isna(found.loc["DRO", "seconds"])


def test_a_fit_that_took_too_long_has_no_seconds_but_the_limit(run: Run) -> None:
    """By another criterion, too, as one job trains both."""
    path = run.folder / "scores" / "table1.csv.gz"
    scores = pd.read_csv(path, keep_default_na=False, na_values={"value": [""]})
    is_erm = scores["method"] == "ERM"
    in_first_setting = scores["setting"] == 1
    other = scores[is_erm & in_first_setting].assign(
        learner="erm+select=none", selection="none", value=float("nan"), reason=LATE
    )
    pd.concat([scores, other]).to_csv(path, index=False)
    costs = COSTS | {("d1", "late"): 4.0, ("d2", "late"): 1.0}
    found = ranks(run, {"table1": ""}, ["Mine"], costs, 60.0)
    found = found.set_index("method")
    assert found["seconds"].dropna().to_dict() == {
        "Mine": 0.5,
        "ERM": 4.0,
        "Late": 60.0,
    }
    assert found.index[found["timed_out"]].tolist() == ["Late"]
    page = shown(results_of(found.reset_index()))
    cells = [cell.get_text() for cell in page.find_all("td")]
    assert "> 60" in cells
    assert "Seconds a fit include a share of the start of Python" in page.get_text()


def test_a_table_of_one_method_has_no_ranks(run: Run) -> None:
    every = ["ERM", "Half", "Late", "DRO", "Mine"]
    found = ranks(run, {"table1": ""}, every, {})
    assert found.empty


def test_a_lower_error_is_better(tmp_path: Path) -> None:
    scores = [
        *rows("ERM", "1", mean_error=[2.0, 2.0], worst_error=[3.0, 3.0]),
        *rows("Mine", "1", mean_error=[1.0, 1.0], worst_error=[4.0, 4.0]),
    ]
    run = run_of(tmp_path, "table3", scores)
    found = ranks(run, {"table3": ""}, ["Mine"], {})
    found = found.set_index("method")
    ranks_of_mine = found.loc["Mine", ["rank", "worst_rank"]]
    assert ranks_of_mine.tolist() == [1, 2]


def test_crossed_seeds_count_as_their_data_sets(tmp_path: Path) -> None:
    """Three of them, however many weights and starts each has."""
    of_data = {"ERM": [0.4, 0.5, 0.6], "Mine": [0.5, 0.6, 0.9]}
    scores = []
    for method, means in of_data.items():
        for d, mean in enumerate(means):
            for n, noise in enumerate((-0.01, 0.01)):
                values = [mean + noise] * 2
                for row in accuracies(method, "1", values, values):
                    seed = f"data={d},network={n},clustering={row['seed']}"
                    scores.append(row | {"seed": seed})
    found = ranked(run_of(tmp_path, "table1", scores))
    found = found.set_index("method")
    assert {*found["n_seeds"]} == {3}
    assert found.loc["Mine", "mean"] == pytest.approx(2 / 3)
    expected = summarise(of_data["Mine"])
    for end in ("low", "high"):
        limit = pytest.approx(expected[f"ci_{end}"])
        assert found.loc["Mine", f"ci_{end}"] == limit
        assert found.loc["Mine", f"worst_{end}"] == limit


def test_seconds_of_all_jobs_over_all_fits() -> None:
    """A job of several criteria, iterations, and a learner under a shorter name."""
    places = ["d/erm", "d/k", "d/k/1", "d/k/2", "d", "d/unknown"]
    seconds = [8.0, 1.0, 2.0, 3.0, 9.0, 9.0]
    columns = {"place": places, "seconds": seconds}
    measured = pd.DataFrame(columns)
    rows = [
        Fits("d", "erm", "erm", 2),
        Fits("d", "erm+select=oracle", "erm", 2),
        Fits("d", "erm+select=none", "erm+select=none", 2),
        Fits("d", "k+n=2", "k", 3),
        Fits("d", "other", "other", 3),
    ]
    assert seconds_a_fit(measured, rows) == {
        ("d", "erm"): 2.0,
        ("d", "erm+select=oracle"): 2.0,
        ("d", "erm+select=none"): 2.0,
        ("d", "k+n=2"): 2.0,
    }


def test_published_seconds_are_those_of_published_fits(
    run: Run, tmp_path: Path
) -> None:
    """A criterion that has come later shares no seconds of the earlier job, and two
    tables share those of one."""
    (tmp_path / "config.yaml").write_text("preset: fresh\n")
    both = ["d1/erm", "d1/erm+select=oracle"]
    tables = {"table1": both, "table3": both}
    table3 = pd.DataFrame(rows("ERM", "1", mse=[1.0, 1.0]))
    table3["learner"] = "erm+select=oracle"
    table3.to_csv(tmp_path / "scores" / "table3.csv.gz", index=False)

    def row(cell: str) -> SimpleNamespace:
        data, learner = cell.split("/")
        return SimpleNamespace(data=data, learner=learner, trained=learner)

    def config(tables: Mapping[str, list[str]]) -> Any:
        views = {}
        for name, cells in tables.items():
            views[name] = SimpleNamespace(rows=list(map(row, cells)))
        cell = SimpleNamespace(n_seeds=2)
        return SimpleNamespace(tables=views, learner=lambda data, learner: cell)

    places = pd.DataFrame({"place": ["d1/erm"], "seconds": [8.0]})
    alone = {"table1": both}
    fits = published_fits(config(alone), run, "fresh")
    assert seconds_a_fit(places, fits) == {("d1", "erm"): 4.0}
    fits = published_fits(config(tables), run, "fresh")
    cells = {("d1", "erm"), ("d1", "erm+select=oracle")}
    assert seconds_a_fit(places, fits) == dict.fromkeys(cells, 2.0)
    assert published_fits(config(tables), run, "paper") == []


def results_of(found: pd.DataFrame, **more: Any) -> Results:
    facts: dict[str, Any] = {
        "titles": ["Mine"],
        "minutes": 0.5,
        "ranks": found,
        "tables": {"table1": "Table <1>", "peers": "Peers"},
        "comparisons": pd.DataFrame(),
        "candidates": pd.DataFrame(),
    }
    return Results(**(facts | more))


def test_the_page_begins_with_the_answer(run: Run) -> None:
    found = ranked(run)
    results = results_of(found, notices=["These are no findings: smoke sizes."])
    (line,) = sentences(results)
    assert line == (
        "table1: Mine is number 1 of 4 by test accuracy (0.700) and number 3 of 4 by "
        "worst accuracy (0.200)."
    )
    page = shown(results)
    first_line = page.find("li")
    heading = page.find("h2")
    assert first_line.get_text() == line
    assert heading.get_text() == "Table <1> (table1)"
    assert first_line.find("a")["href"] == f"#{heading['id']}"
    late = page.find("td", string=f"{LATE} (1)")
    assert "white-space: normal" in late["style"]
    text = page.get_text()
    for words in ("no findings", "at most 30 seconds", LATE, "0.600"):
        assert words in text
    links = {link["href"] for link in page.find_all("a")}
    assert {"tables/table1.html", "figures/peers.png"} <= links


def test_a_caution_stands_before_the_ranks(run: Run) -> None:
    """On the page and in a terminal."""
    caution = "Ranks at smoke sizes say nothing: --preset fresh ranks."
    results = results_of(ranked(run), caution=caution)
    first, second = sentences(results)
    assert first == caution
    page = shown(results)
    of_page = page.find("p")
    assert of_page.get_text() == caution
    answer = of_page.find_next("li")
    assert answer.get_text() == second


def test_a_method_without_a_result_has_its_reason(run: Run) -> None:
    found = ranked(run, "Late")
    results = results_of(found, titles=["Late"])
    (line,) = sentences(results)
    assert line == f"table1: Late has no rank: {LATE} (1)."


def test_two_seeds_have_no_interval(run: Run) -> None:
    found = ranked(run)
    text = shown(results_of(found)).get_text()
    assert "Mean over 2 settings and 2 seeds, no interval, as these" in text
    assert "[" not in text
    assert found[["ci_low", "ci_high", "worst_low", "worst_high"]].isna().all(axis=None)


def test_an_interval_from_three_seeds_on(run: Run) -> None:
    found = ranked(run)
    limits = {"ci_low": [None, 0.5, None, None], "ci_high": [None, 0.7, None, None]}
    many = found.assign(n_seeds=[2, 5, 5, 5], **limits)
    text = shown(results_of(many)).get_text()
    assert "and 2 or 5 seeds, 95 % interval from 3 seeds on;" in text
    assert "0.600 [0.500, 0.700]" in text  # of ERM
    assert "0.700 [" not in text


def test_too_few_seeds_have_no_finding(run: Run) -> None:
    """And a p-value is never 0."""
    columns = {
        "table": "table1",
        "metric": ["test_acc", "worst_acc", "mse"],
        "baseline": "Mine",
        "n_seeds": [2, 3, 2],
        "difference": [0.1, 0.2, float("nan")],
        "ci_low": [0.05, 0.15, float("nan")],
        "ci_high": [0.15, 0.25, float("nan")],
        "p_holm": [0.0, 0.0, float("nan")],
        "outcome": ["better", "worse", "failed"],
    }
    compared = pd.DataFrame(columns)
    page = shown(results_of(ranked(run), comparisons=compared))
    heading = page.find("h2", string="Compared with KerHRM")
    rows = heading.find_next("table").find_all("tr")[1:]
    cells = [[cell.get_text() for cell in row.find_all("td")[3:]] for row in rows]
    assert cells == [
        ["2", "0.1000", "", "", "", "too few seeds"],
        ["3", "0.2000", "0.1500", "0.2500", "< 0.0001", "worse"],
        ["2", "", "", "", "", "failed"],
    ]


def test_a_table_without_ranks_says_why_and_what_failed(run: Run) -> None:
    kinds = {"table1": "", "peers": "shift", "alone": ""}
    why = unranked(kinds, ["table1"])
    assert why["peers"].startswith("it shows each test environment by itself")
    assert why["alone"] == "no other method is in the settings of this one"
    failed = failures(run, "table1", ["Late", "Mine"])
    assert failed == {"Late": f"{LATE} (1)"}
    found = ranked(run)
    failures_of_page = {("peers", "Mine"): LATE}
    missing = {"table1": ["IRM", "JTT"]}
    results = results_of(
        found, unranked=why, failures=failures_of_page, missing=missing
    )
    assert sentences(results)[-1] == f"peers: Mine has failed: {LATE}."
    page = shown(results)
    link_of_peers = page.find("a", href="#peers")
    line_of_peers = link_of_peers.find_parent("li")
    assert line_of_peers.get_text().endswith(".")
    assert "each test environment" in page.find(id="peers").get_text()
    assert "leaves out IRM, JTT; --preset fresh has all." in page.get_text()


def test_candidates_of_the_search(run: Run) -> None:
    found = pd.DataFrame(
        {
            "learner": ["mine+a=1", "mine+a=2"],
            "options": ['{"a": 1}', '{"a": 2}'],
            "pooled": [0.5, float("-inf")],
            "oracle": [float("-inf")] * 2,
        }
    )
    table = candidates_table({"made": found})
    assert table["options"].tolist() == ["a=1", "a=2"]
    assert table["pooled"].tolist() == ["0.5000 \N{LEFTWARDS ARROW}", "failed"]
    assert table["oracle"].tolist() == ["failed", "failed"]
    line = "made: 1 of 2 candidates failed: timed out <."
    results = results_of(ranked(run), candidates=table, failed_candidates=[line])
    page = shown(results)
    reason = page.find("p", string=line)
    assert "a=1" in reason.find_next("table").get_text()
