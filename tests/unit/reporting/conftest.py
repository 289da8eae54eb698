"""A small run's folder in the layout of the workflow."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from kerhrm.files import write_text
from kerhrm_paper.evaluation.comparisons import compare
from kerhrm_paper.evaluation.statistics import summarise

EVIL = '<img src=x onerror="document.title=1">'
COLUMNS = [
    "data",
    "setting",
    "learner",
    "method",
    "seed",
    "metric",
    "value",
    "selection",
    "data_source",
    "reason",
]


def cells_of(scores: pd.DataFrame, table: str, paper: float = 0.4) -> pd.DataFrame:
    """Cells as the evaluation makes them; every one has the same value of the paper."""
    keys = ["setting", "method", "metric", "data_source", "selection"]
    rows = []
    for values, group in scores.groupby(keys, sort=False):
        cell = dict(zip(keys, values, strict=True))
        row = cell | summarise(group["value"])
        failed = group["value"].isna().any()
        row |= {"table": table, "paper": paper, "reason": ""}
        rows.append(row | {"verdict": "failed" if failed else ""})
    return pd.DataFrame(rows)


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish without making the page, which has a test of its own."""

    def write_report(target: Path, _: Path) -> None:
        write_text(target / "report.html", "page")

    for module in ("publish", "publish_again"):
        name = f"kerhrm_paper.reporting.{module}.write_report"
        monkeypatch.setattr(name, write_report)


@pytest.fixture
def scores() -> pd.DataFrame:
    """Two settings, two methods with two criteria, three seeds, and a reference row."""
    rng = np.random.default_rng(0)
    methods = [
        ("erm", "ERM", "pooled validation"),
        ("erm+select=oracle", "ERM", "oracle"),
        ("kerhrm", "KerHRM", "worst inferred environment"),
        ("", "ref: majority", "none"),
    ]
    rows = [
        (
            f"classification+{setting}",
            setting,
            learner,
            method,
            seed,
            metric,
            rng.uniform(),
            selection,
            "synthetic",
            "",
        )
        for setting in ("r2=0.7", "r2=0.8")
        for learner, method, selection in methods
        for metric in ("train_acc", "test_acc")
        for seed in range(3)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run's folder of such scores."""

    def make(
        scores: pd.DataFrame,
        preset: str = "fresh",
        table: str = "table1",
        name: str = "",
    ) -> Path:
        folder = tmp_path / (name or preset)
        for part in ("tables", "scores"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        tables = folder / "tables"
        of_scores = folder / "scores"
        cells = cells_of(scores, table)
        comparisons = compare(scores)
        scores.to_csv(of_scores / f"{table}.csv.gz", index=False)
        cells.to_csv(tables / f"{table}.csv", index=False)
        comparisons.to_csv(tables / f"{table}-comparisons.csv", index=False)
        about = {
            "title": f"Title {EVIL}",
            "about": f"About {EVIL} [k](javascript:alert(1))",
        }
        config = {"preset": preset, "tables": {table: about}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        return folder

    return make
