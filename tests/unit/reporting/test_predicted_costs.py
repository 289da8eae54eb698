"""Costs of targets, from those of published jobs."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm_paper.config.config import load_config
from kerhrm_paper.reporting.predicted_costs import (
    START_SECONDS,
    count_fits,
    estimate,
    predict,
)
from kerhrm_paper.runs.costs import COLUMNS

#: a job of an hour beyond its start
ALONE = ("train", "colored_mnist+seeds=4/erm", 3600.0 + START_SECONDS, 500.0)


COSTS = pd.DataFrame(
    [
        ("train", "houses/erm", 10.0, 500.0),
        ("train", "houses/irm", 30.0, 700.0),
        ("train", "classification+r2=0.7/erm", 100.0, 300.0),
        ("score", "table1", 2.0, 100.0),
    ],
    columns=COLUMNS,
)


def test_the_nearest_job_counts() -> None:
    jobs = [
        ("train", "houses/erm"),  # known
        ("train", "houses/dro"),  # as those on houses
        ("train", "regression+r=1.5/erm"),  # as all of the rule
        ("score", "table2"),
        ("train_network", "houses/kerhrm"),
    ]
    known, unknown = estimate(jobs, COSTS)
    seconds = known["seconds"].tolist()
    memory = known["memory_mb"].tolist()
    assert seconds == pytest.approx([10, 20, 140 / 3, 2])
    assert memory == [500, 700, 700, 100]
    assert unknown == {"train_network": 1}
    assert estimate([], COSTS)[0].empty


def test_a_study_takes_its_declared_minutes() -> None:
    nothing = pd.DataFrame(columns=COLUMNS)
    jobs = [("study_drift", "studies"), ("score", "table1")]
    known, unknown = estimate(jobs, nothing, {"study_drift": 900.0})
    assert known["seconds"].tolist() == [900.0]
    assert unknown == {"score": 1}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("mnist+side=28/irm", 1),  # the same job
        ("mnist+side=28/irm+select=oracle", 1),  # by another criterion
        ("mnist+side=14/irm+select=pooled", 1),  # and on other data of the base
        ("mnist/irm+steps=20", 4),  # a learner of the base, on the same data
        ("mnist+side=7/irm+steps=20", 2.5),  # or on other data of the base: both
        ("mnist/dro", 22.0),  # any learner on the base of data
        ("houses/irm", 141.25),  # any
    ],
)
def test_the_most_alike_jobs_count(place: str, expected: float) -> None:
    rows = [
        ("train", "mnist+side=28/irm", 1.0, 0.0),
        ("train", "mnist/irm+steps=10", 4.0, 0.0),
        ("train", "mnist/erm", 61.0, 0.0),
        ("train", "adult/dro", 499.0, 0.0),
    ]
    known, _ = estimate([("train", place)], pd.DataFrame(rows, columns=COLUMNS))
    assert known["seconds"].item() == pytest.approx(expected)


def test_a_job_of_several_learners_has_the_fits_of_all() -> None:
    """Table 1 trains DRO by three criteria in one job; other options have one each."""
    count = count_fits(load_config({"preset": "fresh"}))
    first, alone = "dro", "dro+steps=7"
    assert count(f"classification+r2=0.7/{alone}") == 20
    assert count(f"classification+r2=0.7/{first}") == 60
    row = ("train", f"classification+r2=0.7/{alone}", START_SECONDS + 50.0, 0.0)
    costs = pd.DataFrame([row], columns=COLUMNS)
    jobs = [("train", f"classification+r2=0.7/{first}")]
    known, _ = estimate(jobs, costs, now=count, then=count)
    assert known["seconds"].item() == pytest.approx(START_SECONDS + 150.0)


def test_seconds_grow_with_the_seeds() -> None:
    count = count_fits(load_config({"preset": "paper"}))
    costs = pd.DataFrame([ALONE], columns=COLUMNS)
    jobs = [
        ("train", "colored_mnist+seeds=4/erm"),
        ("train", "colored_mnist+seeds=2/irm"),
        ("train", "colored_mnist+seeds=20/irm"),
    ]
    known, _ = estimate(jobs, costs, now=count, then=count)
    beyond_the_start = known["seconds"] - START_SECONDS
    assert beyond_the_start.tolist() == pytest.approx([3600.0, 1800.0, 18000.0])


def test_seeds_are_those_of_the_learner_else_of_the_data() -> None:
    count = count_fits(load_config({"preset": "fresh"}))
    assert count("colored_mnist/kerhrm/2") == 20
    assert count("colored_mnist/erm+steps=7") == 10
    assert count("colored_mnist+seeds=3/kerhrm+em_tol=0.01") == 3
    assert count("colored_mnist/method_of_an_older_version") == 20
    assert count("colored_mnist") == 20
    assert count("table1") == 1


def test_a_preset_with_costs_of_its_own_is_told_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(*_: object) -> list[tuple[str, str]]:
        return [("train", "colored_mnist/erm")]

    monkeypatch.setattr("kerhrm_paper.reporting.predicted_costs.planned", planned)
    header = "\t".join(COLUMNS)
    row = "train\tcolored_mnist/erm\t{}\t500\n"
    (tmp_path / "costs.tsv").write_text(f"{header}\n" + row.format(3603))
    own = tmp_path / "smoke"
    own.mkdir()
    (own / "costs.tsv").write_text(f"{header}\n" + row.format(7))

    def told(preset: str) -> str:
        text = predict(["table4"], tmp_path, config=[f"preset={preset}"])
        first, *_ = text.splitlines()
        return first

    assert told("smoke").startswith("1 jobs: 7 s ")
    assert told("fresh").startswith("1 jobs: 60 min ")
