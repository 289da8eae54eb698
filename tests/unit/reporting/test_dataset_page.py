"""The page of a user's table."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from kerhrm.methods.registry import ROWS
from kerhrm.reporting.datasets import (
    environments_table,
    groups_table,
    methods_table,
    picture,
    reading,
    relations_table,
    verdict,
)
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table
from kerhrm.scoring.metrics import Labels, metrics, score_predictions

GROUPS = ["north", "south", "others"]


def told(task: str = "regression", **changed: Any) -> dict[str, Any]:
    relation = [[0.5, -1.0], [0.5, 2.0]] if task == "regression" else [[0.0, 1.0], [1.0, None]]
    found = {
        "seed": 3, "iteration": 2, "k": 10, "shares": [0.8, 0.2], "target": [0.1, -0.4],
        "importance": {"size": 0.4, "the target": 0.3, "age": 0.0}, "column": "size",
        "relation": relation, "adjusted_rand": 0.9312,
        "points": {"x": [0.0, 1.0], "y": [1.0, -1.0], "environment": [0, 1]},
    }  # fmt: skip
    about = {
        "path": "mine.csv", "rows": 100, "complete": 97, "target": "price", "deviation": 12.5,
        "positive": 0.25, "class": "yes", "features": ["age", "size"], "unused": [],
        "missing": {"age": 3},
        "encodings": {"town": "0 and 1"}, "categories": {"town": 4},
        "sizes": {"train": 50, "validation": 12, "test": 35},
        "groups": [["north", 20], ["south", 10], ["others", 5]],
    }  # fmt: skip
    return {"about": about, "source": "file", "task": task, "found": [found]} | changed


@pytest.fixture
def scores() -> pd.DataFrame:
    """Of two methods and three seeds."""
    labels = Labels(
        np.zeros((3, 4)), np.zeros((3, 6)), np.array([0, 0, 1, 1, 2, 2]), [0, 1, 2],
        "regression", "file", GROUPS, np.array([1.0, 2.0, 1.0]),
    )  # fmt: skip
    rows = []
    for stem, level in (("erm", 2.0), ("kerhrm-network", 1.0)):
        test = level * np.array([[1, 1, 2, 2, 0, 0]] * 3, dtype=float)
        row = ROWS[stem]
        rows.append(
            score_predictions(
                {"train": labels.train, "test": test}, labels, "groups", setting="mine",
                method=row.title, selection=row.rule,
            )
        )  # fmt: skip
    return pd.concat(rows, ignore_index=True)


@pytest.fixture
def table(scores: pd.DataFrame) -> pd.DataFrame:
    return build_table(scores, "dataset_mine", "paper", PaperValues({}))


def test_errors_overall_in_the_worst_group_and_in_each(scores: pd.DataFrame) -> None:
    first = scores[(scores["seed"] == 0) & (scores["method"] == "ERM")]
    found = dict(zip(first["setting"] + " " + first["metric"], first["value"], strict=True))
    assert found == {
        "mine overall_error": pytest.approx(20 / 3),
        "mine worst_error": 16,
        "group=north group_error": 4,
        "group=south group_error": 16,
        "group=others group_error": 0,
    }
    second = scores[(scores["seed"] == 1) & (scores["method"] == "ERM")]
    assert second["value"].tolist() == pytest.approx((4 * first["value"]).tolist())  # unit 2


def test_errors_of_classes_are_shares() -> None:
    labels = Labels(
        np.ones((1, 2)), np.array([[1, 1, -1, -1.0]]), np.array([0, 0, 1, 1]), [0],
        "classification", "file", ["a", "b"], np.ones(1),
    )  # fmt: skip
    found = metrics({"test": np.array([[5.0, 0.1, 3.0, -1.0]])}, labels, "groups")
    assert {key: float(value[0]) for key, value in found.items()} == {
        ("", "overall_error"): 0.25,
        ("", "worst_error"): 0.5,
        ("a", "group_error"): 0.0,
        ("b", "group_error"): 0.5,
    }


def test_tables_of_the_page(table: pd.DataFrame) -> None:
    lines = methods_table(table).splitlines()
    assert "error over all test rows" in lines[0]
    assert "error in the worst group" in lines[0]
    assert "ERM" in lines[2]
    assert "[" in lines[2]
    groups = groups_table(table)
    assert all(group in groups.splitlines()[0] for group in GROUPS)


def test_what_was_read() -> None:
    text = reading(told())
    for part in (
        "`mine.csv`", "100 rows, of which 97", "50 training and 12 validation", "12.5", "`age` 3",
        "`town`: 4 values, encoded as 0 and 1", "| north", "Columns that are not used: none",
    ):  # fmt: skip
        assert part in text
    assert "Class +1 is `yes`: 25.0% of the rows" in reading(told("classification"))


@pytest.mark.parametrize(
    ("iterations", "words"),
    [
        ([1, 3], "**Environments found**, in every seed"),
        (
            [0, 0],
            "**No environments found beyond noise** (p-values from 0.05 to 0.40 over 2 seeds)",
        ),
        ([0, 1], "**Undecided**: environments found in 1 of 2 seeds"),
    ],
)
def test_the_verdict_in_words(iterations: list[int], words: str) -> None:
    choices = pd.DataFrame({"iteration": iterations, "p": [0.05, 0.4]})
    assert verdict(told(), choices).startswith(words)


def test_of_labels_the_assumption_is_told() -> None:
    choices = pd.DataFrame({"iteration": [1], "p": [np.nan]})
    assert "no test can tell" in verdict(told("classification"), choices)
    assert "were not tested" in verdict(told(), choices)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_environments_and_relations(task: str) -> None:
    text = environments_table(told(task))
    assert "0.80, 0.20" in text
    assert "size 0.40, the target 0.30" in text
    assert "0.931" in text
    relations = relations_table(told(task))
    assert "environment 1" in relations
    if task == "regression":  # what differs most comes first
        assert "size" in relations.splitlines()[2]
    assert "not among" in environments_table(told(task, found=[]))
    assert relations_table(told(task, found=[])) == ""


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_picture(scores: pd.DataFrame, task: str) -> None:
    figure = picture(told(task), scores, "Mine")
    axes = figure.axes
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["ERM", "KerHRM (network)"]
    assert [text.get_text() for text in axes[2].get_yticklabels()] == ["age", "the target", "size"]
    assert len(axes[1].lines) == 2
    classifies = task == "classification"
    label = "P(price = yes | part, environment)" if classifies else "price, standardised"
    assert axes[1].get_ylabel() == label
    assert len(picture(told(task, found=[]), scores, "Mine").axes) == 1
    plt.close("all")
