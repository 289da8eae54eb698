"""What is told of the environments in a user's table."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from kerhrm.scoring.found import (
    BINS,
    TARGET,
    describe,
    read,
    responsibilities,
    shares_of_labels,
    slopes,
    tell_apart,
)
from kerhrm.storage.arrays import save_arrays

N = 400


def flipped(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points whose second column is the target, or minus it in a quarter of them."""
    random = np.random.default_rng(seed)
    y = random.normal(size=N)
    environment = (np.arange(N) % 4 == 0).astype(int)
    x = random.normal(size=(N, 3))
    x[:, 1] = np.where(environment, -y, y) + 0.01 * random.normal(size=N)
    return x, y, environment


def test_the_column_that_flips_tells_environments_apart() -> None:
    x, y, environment = flipped()
    column, importance = tell_apart(x, y, environment, 0)
    assert column == 1
    assert importance[[1, 3]].min() > 0.2  # itself and the target
    assert np.abs(importance[[0, 2]]).max() < 0.1


def test_a_single_environment_is_told_apart_by_nothing() -> None:
    x, y, _ = flipped()
    column, importance = tell_apart(x, y, np.zeros(N, dtype=int), 0)
    assert (column, *importance) == (0, 0, 0, 0, 0)


def test_slopes_of_hard_memberships_are_those_of_the_parts() -> None:
    x, y, environment = flipped()
    found = slopes(x, y, np.eye(2)[environment])
    for e in range(2):
        part = np.column_stack([x[environment == e], np.ones((environment == e).sum())])
        expected = np.linalg.lstsq(part, y[environment == e], rcond=None)[0][:3]
        np.testing.assert_allclose(found[e], expected, atol=1e-8)
    assert found[0][1] == pytest.approx(1, abs=0.01)
    assert found[1][1] == pytest.approx(-1, abs=0.01)


def test_shares_of_labels_by_fifths() -> None:
    column = np.arange(100.0)
    y = np.where(column < 40, -1.0, 1.0)
    r = np.column_stack([np.ones(100), np.zeros(100)])
    assert shares_of_labels(column, y, r) == [[0, 0, 1, 1, 1], [None] * BINS]
    assert len(shares_of_labels((column > 50) * 1.0, y, r)[0]) <= 3


def files(folder: Path, task: str, iteration: int) -> tuple[Path, list[Path], Path, Path]:
    """Of two seeds, two iterations and k = 5, 10, where the second iteration knows the truth."""
    x, y, environment = flipped()
    y = np.sign(y) if task == "classification" else y
    about = {"features": ["a", "b", "c"], "hidden": True}
    facts = {"about": about, "source": "file", "task": task}
    paths = [folder / f"{name}.npz" for name in ("train", "one", "two", "end", "truth")]
    save_arrays(paths[0], {"x": np.stack([x, x]), "y": np.stack([y, y])}, facts)
    truth = np.eye(3)[environment]  # the third one has no point
    wrong = np.roll(truth, 1, axis=0)
    k = np.array([[5, 10], [5, 10]])
    for path, right in zip(paths[1:3], (False, True), strict=True):
        train = np.stack([[wrong, truth if right else wrong]] * 2)
        save_arrays(path, {"k": k, "train": train, "held_out": np.array([[0.0, 1.0]] * 2)})
    save_arrays(paths[3], {"iteration": np.array([iteration] * 2), "k": np.array([10, 10])})
    save_arrays(paths[4], {"train": np.stack([environment] * 2)})
    return paths[0], paths[1:3], paths[3], paths[4]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_what_was_found_is_compared_with_the_truth(tmp_path: Path, task: str) -> None:
    train, learned, end, truth = files(tmp_path, task, 2)
    told = describe(train, learned, end, truth, [7, 9])
    path = tmp_path / "told.json"
    path.write_text(json.dumps(told))
    assert read(path) == told
    assert [one["seed"] for one in told["found"]] == [7, 9]
    for one in told["found"]:
        assert one["adjusted_rand"] == 1
        assert one["shares"] == [0.75, 0.25]
        assert set(one["importance"]) == {"a", "b", "c", TARGET}
    if task == "regression":
        assert told["found"][0]["column"] == "b"


def test_pooled_erm_shows_the_likeliest_of_the_first_iteration(tmp_path: Path) -> None:
    train, learned, end, truth = files(tmp_path, "regression", 0)
    _, _, environment = flipped()
    told = describe(train, learned, end, truth, [0, 1])
    expected = adjusted_rand_score(environment, np.roll(environment, 1))
    assert told["found"][0]["adjusted_rand"] == pytest.approx(expected)
    assert told["found"][0]["iteration"] == 0


def test_without_a_truth_or_without_kerhrm(tmp_path: Path) -> None:
    train, learned, end, _ = files(tmp_path, "regression", 2)
    assert "adjusted_rand" not in describe(train, learned, end, None, [0, 1])["found"][0]
    assert describe(train, [], None, None, [0, 1])["found"] == []


def test_environments_without_a_point_are_left_out() -> None:
    r = np.zeros((1, 1, 6, 3))
    r[..., 1:] = 0.5
    learned = [{"k": np.array([[5]]), "train": r, "held_out": np.zeros((1, 1))}]
    end = {"iteration": np.array([1]), "k": np.array([5])}
    assert responsibilities(learned, end, 0).shape == (6, 2)
