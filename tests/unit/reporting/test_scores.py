"""From predictions on disk to rows of scores."""

import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from kerhrm.arrays import save_arrays
from kerhrm.methods.predictions import Predictions
from kerhrm.reporting.scores import (
    COLUMNS,
    Labels,
    accuracy,
    choose_candidates,
    score_predictions,
    score_setting,
)

SIZES = {"train": 12, "validation": 7, "test": 9}
B, C = 3, 4


def draw(seed: int, *leading: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal((*leading, n)) for name, n in SIZES.items()}


ENVIRONMENT = np.array([0, 0, 1, 2, 1, 2, 2, 1, 1])  # of the test points


def labels(task: str = "classification") -> Labels:
    y = draw(100, B)
    if task == "classification":
        y = {name: np.sign(values) for name, values in y.items()}
    return Labels(**y, test_environment=ENVIRONMENT, task=task)


def share(outputs: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of one predictor, point by point; an output of 0 is the class -1."""
    hits = [(f > 0) == (label == 1) for f, label in zip(outputs, y, strict=True)]
    return sum(hits) / len(hits)


def test_accuracy_is_the_share_of_right_signs() -> None:
    outputs = np.array([[0.1, -3.0, 2.0, 0.0], [-0.1, -3.0, -2.0, 0.0]])
    y = np.array([[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(accuracy(outputs, y), [0.75, 0.0])
    # candidates against one set of labels
    assert accuracy(np.ones((B, C, 5)), np.ones((B, 1, 5))).shape == (B, C)


def test_one_row_a_seed_and_metric() -> None:
    outputs, y = draw(0, B), labels()
    rows = score_predictions(
        outputs,
        y,
        setting="r2=0.70",
        method="ERM",
        selection="pooled validation",
        data_source="synthetic",
    )
    assert list(rows.columns) == COLUMNS
    assert len(rows) == 2 * B
    assert set(rows["setting"]) == {"r2=0.70"}
    assert set(rows["method"]) == {"ERM"}
    assert set(rows["selection"]) == {"pooled validation"}
    assert set(rows["data_source"]) == {"synthetic"}
    cells = rows.set_index(["metric", "seed"])["value"]
    for part in ("train", "test"):
        for seed in range(B):
            expected = share(outputs[part][seed], getattr(y, part)[seed])
            assert cells[f"{part}_acc", seed] == pytest.approx(expected)


def error(outputs: np.ndarray, y: np.ndarray) -> float:
    return sum((f - label) ** 2 for f, label in zip(outputs, y, strict=True)) / len(y)


def environment_errors(outputs: np.ndarray, y: np.ndarray) -> list[float]:
    return [error(outputs[e == ENVIRONMENT], y[e == ENVIRONMENT]) for e in range(3)]


def test_a_regression_has_errors_over_its_test_environments() -> None:
    outputs, y = draw(0, B), labels("regression")
    rows = score_predictions(
        outputs, y, setting="r=1.5", method="ERM", selection="x", data_source="synthetic"
    )
    cells = rows.set_index(["metric", "seed"])["value"]
    assert len(cells) == 2 * B
    for seed in range(B):
        errors = environment_errors(outputs["test"][seed], y.test[seed])
        assert cells["mean_error", seed] == pytest.approx(statistics.fmean(errors))
        assert cells["std_error", seed] == pytest.approx(statistics.stdev(errors))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_other_rules_choose_among_the_same_candidates(task: str) -> None:
    candidates, y = draw(1, B, C), labels(task)
    chosen = choose_candidates(candidates, y)
    assert list(chosen) == ["pooled validation", "oracle"]
    picks = {}
    for rule, part in (("pooled validation", "validation"), ("oracle", "test")):
        for seed in range(B):
            pairs = [(candidates[part][seed, c], getattr(y, part)[seed]) for c in range(C)]
            values = [share(*p) if task == "classification" else -error(*p) for p in pairs]
            best = values.index(max(values))
            picks[rule, seed] = best
            for name in ("train", "test"):
                np.testing.assert_array_equal(
                    chosen[rule][name][seed], candidates[name][seed, best]
                )
    assert any(picks["oracle", s] != picks["pooled validation", s] for s in range(B))
    assert len(set(picks.values())) > 1


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """What the workflow leaves of one setting."""
    y = labels()
    facts = {"source": "stand-in:some digits", "task": y.task}
    paths = {name: tmp_path / f"{name}.npz" for name in ("train", "validation", "test_labels")}
    save_arrays(paths["train"], {"y": y.train}, facts)
    save_arrays(paths["validation"], {"y": y.validation}, facts)
    environment = np.stack([ENVIRONMENT] * B)
    save_arrays(paths["test_labels"], {"y": y.test, "environment": environment}, facts)
    for i, name in enumerate(("erm", "kerhrm-s", "kerhrm-ntf", "kerhrm-network")):
        outputs = Predictions(*(torch.from_numpy(a) for a in draw(i, B).values()))
        outputs.save(tmp_path / "predictions" / f"{name}.npz")
    for i, name in enumerate(("kerhrm-ntf", "kerhrm-network")):
        outputs = Predictions(*(torch.from_numpy(a) for a in draw(10 + i, B, C).values()))
        outputs.save(tmp_path / "candidates" / f"{name}.npz")
    return paths


def test_a_setting_has_every_predictor_under_every_rule(
    files: dict[str, Path], tmp_path: Path
) -> None:
    names = ["erm", "kerhrm-s", "kerhrm-ntf", "kerhrm-network"]
    scores = score_setting(
        "cmnist",
        [tmp_path / "predictions" / f"{name}.npz" for name in names],
        [tmp_path / "candidates" / f"{name}.npz" for name in names[2:]],
        files,
    )
    assert list(scores.columns) == COLUMNS
    assert list(scores.index) == list(range(len(scores)))
    assert set(scores["setting"]) == {"cmnist"}
    assert set(scores["data_source"]) == {"stand-in:some digits"}
    found = list(dict.fromkeys(zip(scores["method"], scores["selection"], strict=True)))
    own = "worst learned environment"
    assert found == [
        ("ERM", "pooled validation"),
        ("KerHRM-s", own),
        ("KerHRM (NTF)", own),
        ("KerHRM (network)", own),
        ("KerHRM (NTF)", "pooled validation"),
        ("KerHRM (NTF)", "oracle"),
        ("KerHRM (network)", "pooled validation"),
        ("KerHRM (network)", "oracle"),
    ]
    y = labels()
    cells = scores.set_index(["method", "selection", "metric", "seed"])["value"]
    assert len(cells) == 8 * 2 * B
    assert not cells.index.has_duplicates
    for seed in range(B):
        expected = share(draw(2, B)["test"][seed], y.test[seed])
        assert cells["KerHRM (NTF)", own, "test_acc", seed] == pytest.approx(expected)
        best = max(share(f, y.test[seed]) for f in draw(11, B, C)["test"][seed])
        assert cells["KerHRM (network)", "oracle", "test_acc", seed] == pytest.approx(best)


def test_scores_survive_their_file(files: dict[str, Path], tmp_path: Path) -> None:
    scores = score_setting("a,b", [tmp_path / "predictions" / "erm.npz"], [], files)
    scores.to_csv(tmp_path / "scores.csv", index=False)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "scores.csv"), scores)
