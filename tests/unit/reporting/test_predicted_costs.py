"""Costs of targets, from those of published jobs."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm_paper.config.config import load_config
from kerhrm_paper.reporting.predicted_costs import count_seeds, predict
from kerhrm_paper.runs.costs import COLUMNS, START_SECONDS, estimate

#: a job of an hour beyond its start
ALONE = ("train", "colored_mnist+seeds=4/erm", 3600.0 + START_SECONDS, 500.0)


def test_seconds_grow_with_the_seeds() -> None:
    count = count_seeds(load_config({"preset": "paper"}))
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
    count = count_seeds(load_config({"preset": "fresh"}))
    assert count("colored_mnist/kerhrm/2") == 20
    assert count("colored_mnist/erm") == 10
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

    assert told("smoke").startswith("1 jobs: 7 seconds")
    assert told("fresh").startswith("1 jobs: 60 minutes")
