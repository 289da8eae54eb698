"""Costs of jobs: measured, stored, and those of jobs that are to run."""

from pathlib import Path

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.paper.runs.costs import Cost, duration, estimate, measured, predict, store, stored

COSTS = {
    ("train", "houses/houses/erm"): Cost(10.0, 500.0),
    ("train", "houses/houses/irm"): Cost(30.0, 700.0),
    ("train", "classification/r2=0.70/erm"): Cost(100.0, 300.0),
    ("score", "table1"): Cost(2.0, 100.0),
}


def test_costs_are_read_from_benchmarks(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks/train/houses/h=1.5/erm.tsv"
    path.parent.mkdir(parents=True)
    path.write_text("s\th:m:s\tmax_rss\n12.5\t0:00:12\t345.6\n")
    path.with_name("irm.tsv").write_text("s\th:m:s\tmax_rss\n0.5\t0:00:00\tNA\n")
    assert measured(tmp_path) == {
        ("train", "houses/h=1.5/erm"): Cost(12.5, 345.6),
        ("train", "houses/h=1.5/irm"): Cost(0.5, 0.0),
    }


def test_costs_come_back(tmp_path: Path) -> None:
    store(COSTS, tmp_path / "costs.tsv")
    assert stored(tmp_path / "costs.tsv") == COSTS
    assert stored(tmp_path / "nothing.tsv") == {}
    (tmp_path / "costs.tsv").write_text("rule\tseconds\ntrain\tlong\n")
    with pytest.raises(KerhrmError, match="holds no costs of jobs"):
        stored(tmp_path / "costs.tsv")


def test_the_nearest_job_counts() -> None:
    jobs = [
        ("train", "houses/houses/erm"),  # known
        ("train", "houses/houses/dro"),  # as those on houses
        ("train", "regression/r=1.5/erm"),  # as all of the rule
        ("score", "table2"),
        ("train_network", "houses/houses/kerhrm"),
    ]
    found = estimate(jobs, COSTS)
    assert found.jobs == 5
    assert found.seconds == pytest.approx(10 + 20 + 140 / 3 + 2)
    assert found.longest == pytest.approx(140 / 3)
    assert found.memory_mb == 700
    assert found.unknown == {"train_network": 1}
    assert found.wall(1) == found.seconds
    assert found.wall(100) == found.longest
    assert estimate([], COSTS).wall(2) == 0


def test_cores_are_positive() -> None:
    with pytest.raises(KerhrmError, match="cores=-1: must be at least 1"):
        predict(["all"], cores=-1)


def test_durations() -> None:
    assert duration(90) == "90 seconds"
    assert duration(600) == "10 minutes"
    assert duration(9000) == "2.5 hours"
