"""Selection criteria against loops over points, and which files each of
them may open."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusal

from kerhrm_paper.evaluation.selection import CRITERIA, Candidates
from kerhrm_paper.runs.arrays import save_arrays

S = 3
C = 4
SIZES = {"train": 13, "validation": 11, "test": 9}
N_ENVIRONMENTS = 3
POOLED, TRUE, INFERRED, ORACLE = CRITERIA
OPENED = {
    POOLED: {"validation"},
    TRUE: {"validation", "environments"},
    INFERRED: {"validation"},
    ORACLE: {"test_labels"},
}
#: of the test points; those of environment 0 are the headline's
TEST_ENVIRONMENT = np.array([0, 1, 0, 0, 2, 1, 0, 0, 2])
UNIT = np.array([1.0, 0.5, 3.0])  #: of each seed's test labels, in that of the tables
TASKS = ("classification", "regression")


def draw_labels(task: str) -> dict[str, np.ndarray]:
    """Numbers, or their signs, by part."""
    rng = np.random.default_rng(0)
    y = {}
    for part, n in SIZES.items():
        draws = rng.standard_normal((S, n))
        labels = draws.astype(np.float32)
        if task == "classification":
            labels = np.sign(labels)
        y[part] = labels
    return y


def draw_environments() -> np.ndarray:
    """Every seed has its own; each environment has a point or more."""
    rng = np.random.default_rng(1)
    numbers = np.arange(SIZES["validation"]) % N_ENVIRONMENTS
    rows = [rng.permutation(numbers) for _ in range(S)]
    return np.stack(rows).astype(np.int8)


def draw_candidates(output: str = "model") -> Candidates:
    """Predictions, and soft memberships of two environments, one of which is empty
    once."""
    rng = np.random.default_rng(2)
    outputs = {}
    for part, n in SIZES.items():
        predictions = rng.standard_normal((S, C, n))
        outputs[output, part] = predictions.astype(np.float32)
    n_points = SIZES["train"] + SIZES["validation"]
    draws = rng.random((S, C, n_points, 2))
    weights = draws.astype(np.float32)
    weights[:, 2, :, 1] = 0
    return Candidates(outputs, weights)


def write(folder: Path, task: str, names: set[str]) -> Path:
    """The files that are named, and no other."""
    y = draw_labels(task)
    contents = {
        "train": {"y": y["train"]},
        "validation": {"y": y["validation"]},
        "environments": {"validation": draw_environments()},
        "test_labels": {
            "y": y["test"],
            "environment": np.stack([TEST_ENVIRONMENT] * S),
            "unit": UNIT,
        },
    }
    for name in names:
        path = folder / "data" / f"{name}.npz"
        save_arrays(path, contents[name], task=task, n_headline=1)
    return folder


def score_of_point(output: float, label: float, task: str) -> float:
    """A hit of a classification, the negative squared error of a regression."""
    if task == "regression":
        return -(float(output - label) ** 2)
    predicted = 1 if output > 0 else -1  # an output of 0 is the class -1
    return float(predicted == label)


def mean_of(values: list[float]) -> float:
    return sum(values) / len(values)


def worst_inferred(scores: list[float], memberships: np.ndarray) -> float:
    """Of any candidate, behind the training points."""
    inferred = memberships[:, -len(scores) :]
    means = []
    for candidate in inferred:
        for weights in candidate.T:
            if weights.sum():
                mean = np.average(scores, weights=weights)
                means.append(mean)
    return float(min(means))


def worst_true(scores: list[float], environments: np.ndarray) -> float:
    means = []
    for number in range(N_ENVIRONMENTS):
        scores_inside = []
        pairs = zip(scores, environments, strict=True)
        for score, environment in pairs:
            if environment == number:
                scores_inside.append(score)
        means.append(mean_of(scores_inside))
    return min(means)


def expected(name: str, task: str, b: int, c: int, output: str) -> float:
    """The criterion of candidate c of seed b, point by point."""
    drawn = draw_candidates(output)
    y = draw_labels(task)
    parts = ["test"] if name == ORACLE else ["validation"]
    if name == INFERRED and output == "linear":
        parts = ["train", "validation"]
    scores = []
    for part in parts:
        outputs = drawn.outputs[output, part][b, c]
        labels = y[part][b]
        for f, label in zip(outputs, labels, strict=True):
            scores.append(score_of_point(f, label, task))

    if name == ORACLE:
        unit = UNIT[b] ** 2 if task == "regression" else 1.0
        headline = []
        pairs = zip(scores, TEST_ENVIRONMENT, strict=True)
        for score, environment in pairs:
            if environment == 0:
                headline.append(score * unit)
        return mean_of(headline)
    if name == INFERRED:
        assert drawn.memberships is not None
        return worst_inferred(scores, drawn.memberships[b])
    if name == TRUE:
        return worst_true(scores, draw_environments()[b])
    return mean_of(scores)


@pytest.mark.parametrize("output", ["model", "linear"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", OPENED)
def test_a_criterion_by_a_loop_over_points(
    tmp_path: Path, name: str, task: str, output: str
) -> None:
    """Only the files that the criterion names exist."""
    files = set(OPENED[name])
    if output == "linear":
        files.add("train")
    folder = write(tmp_path, task, files)
    drawn = draw_candidates(output)
    criterion = CRITERIA[name]
    score = criterion.score(drawn, output, folder)
    assert score.shape == (S, C)
    assert score.dtype == np.float64
    for b in range(S):
        for c in range(C):
            value = expected(name, task, b, c, output)
            found = score[b, c]
            assert found == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", OPENED)
def test_a_criterion_needs_the_files_that_it_names(tmp_path: Path, name: str) -> None:
    every_file = set().union(*OPENED.values())
    criterion = CRITERIA[name]
    drawn = draw_candidates()
    write(tmp_path, "regression", every_file)
    for needed in OPENED[name]:
        path = tmp_path / "data" / f"{needed}.npz"
        content = path.read_bytes()
        path.unlink()
        with refusal(needed):
            criterion.score(drawn, "model", tmp_path)
        path.write_bytes(content)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", OPENED)
def test_a_diverged_candidate_comes_last(
    tmp_path: Path, name: str, task: str, bad: float
) -> None:
    criterion = CRITERIA[name]
    folder = write(tmp_path, task, OPENED[name])
    drawn = draw_candidates()
    part = criterion.parts[-1]
    outputs = drawn.outputs["model", part]
    sound = criterion.score(drawn, "model", folder)
    outputs[0, 1, 3] = bad  # one point of one candidate
    outputs[2] = bad  # all of a seed
    score = criterion.score(drawn, "model", folder)
    spoilt = np.zeros((S, C), dtype=bool)
    spoilt[0, 1] = True
    spoilt[2] = True
    assert np.isneginf(score[spoilt]).all()
    expected = sound[~spoilt]
    assert np.array_equal(score[~spoilt], expected)


@pytest.mark.parametrize("task", TASKS)
def test_all_candidates_are_measured_alike(tmp_path: Path, task: str) -> None:
    """It does not matter which of them has inferred an environment."""
    folder = write(tmp_path, task, {"validation"})
    drawn = draw_candidates()
    assert drawn.memberships is not None
    criterion = CRITERIA[INFERRED]
    before = criterion.score(drawn, "model", folder)
    in_reverse = drawn.memberships[:, ::-1]
    reverse = replace(drawn, memberships=in_reverse)
    after = criterion.score(reverse, "model", folder)
    assert_array_equal(after, before)
    # where one environment has all points, it is pooled validation
    of_first = drawn.memberships[..., :1]
    ones = np.ones_like(of_first)
    single = replace(drawn, memberships=ones)
    pooled = CRITERIA[POOLED].score(single, "model", folder)
    found = criterion.score(single, "model", folder)
    assert_allclose(found, pooled, rtol=1e-12)


def test_only_the_oracle_follows_the_test_labels(tmp_path: Path) -> None:
    """Candidate 0 is right on validation points, candidate 1 on test points."""
    files = {"validation", "environments", "test_labels"}
    folder = write(tmp_path, "classification", files)
    y = draw_labels("classification")
    on_validation = [y["validation"], -y["validation"]]
    on_test = [-y["test"], y["test"]]
    outputs = {
        ("model", "validation"): np.stack(on_validation, axis=1),
        ("model", "test"): np.stack(on_test, axis=1),
    }
    drawn = Candidates(outputs, draw_candidates().memberships)
    for name, criterion in CRITERIA.items():
        score = criterion.score(drawn, "model", folder)
        winner = 1 if name == ORACLE else 0
        winners = score.argmax(-1)
        assert winners.tolist() == [winner] * S
