"""The search over candidates: scores of each, and the best mean over data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm_paper.config.criteria import ORACLE
from kerhrm_paper.evaluation.selection import Candidates, best, search
from kerhrm_paper.runs.arrays import load_arrays, save_arrays, save_stacked

M = 8
DATA = ("d+r2=0.7", "d+r2=0.75")
CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "dro": [
        {"rho": 0.1},
        {"rho": 0.5},
        {"rho": 1.0},
    ],
    "irm": [
        {"penalty_weight": 1e3},
        {"penalty_weight": 1e4},
    ],
}
HAVE = {"dro": ["pooled"], "irm": ["worst_true", "pooled"]}
#: how many of the points every seed's candidates get right, (seeds, candidates)
HITS = {
    ("dro", "d+r2=0.7"): np.array([[3, 5, 4], [4, 4, 4]]),
    ("dro", "d+r2=0.75"): np.array([[8, 7, 7], [5, 7, 8]]),
    # only environment 0, the first half of the points, is ever missed
    ("irm", "d+r2=0.7"): np.array([[8, 7], [8, 7]]),
    ("irm", "d+r2=0.75"): np.array([[4, 7], [7, 7]]),
}


def right(count: np.ndarray) -> np.ndarray:
    """(..., M) for labels of 1: the last ``count`` points are right."""
    first_right = M - count[..., None]
    is_right = np.arange(M) >= first_right
    return np.where(is_right, 1.0, -1.0)


def named(learner: str, candidate: int) -> str:
    """The learner with the option of one candidate."""
    options = CANDIDATES[learner][candidate]
    ((name, value),) = options.items()
    return f"{learner}+{name}={value}"


def save_predictions(path: Path, outputs: dict[str, dict[str, np.ndarray]]) -> None:
    """Outputs (S, points) by name and part."""
    of_any_output = next(iter(outputs.values()))
    n_seeds = len(of_any_output["train"])
    units = []
    for s in range(n_seeds):
        unit = {
            "outputs": np.array([*outputs]),
            "chosen": np.array([], dtype=str),
            "choices": np.array([]),
            "memberships": np.ones((2 * M, 1)),
        }
        for part in ("train", "validation", "test"):
            of_seed = [arrays[part][s] for arrays in outputs.values()]
            unit[part] = np.stack(of_seed)
        units.append(unit)
    save_stacked(path, units)


def save_labels(folder: Path, part: str) -> None:
    """Labels of 1 for two seeds."""
    labels = {"y": np.ones((2, M))}
    path = folder / f"data/{part}.npz"
    save_arrays(path, labels, task="classification")


def save_test_labels(folder: Path, label: float) -> None:
    arrays = {
        "y": np.full((2, M), label),
        "environment": np.zeros((2, M), dtype=int),
        "unit": np.ones(2),
    }
    path = folder / "data/test_labels.npz"
    save_arrays(path, arrays, task="classification", n_headline=1)


def save_candidate(folder: Path, learner: str, data: str, candidate: int) -> None:
    """Its hits on training and validation points, in reverse on test points."""
    counts = HITS[learner, data]
    hits = right(counts[:, candidate])
    in_reverse = counts[:, ::-1]
    hits_on_test = right(in_reverse[:, candidate])
    parts = {
        "train": hits,
        "validation": hits,
        "test": hits_on_test,
    }
    path = folder / named(learner, candidate) / "predictions.npz"
    save_predictions(path, {"model": parts})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of the preset tuning on two data."""
    halves = np.arange(M) // (M // 2)
    of_both_seeds = np.stack([halves, halves])
    environments = {"validation": of_both_seeds}
    for data in DATA:
        folder = tmp_path / data
        save_labels(folder, "train")
        save_labels(folder, "validation")
        save_test_labels(folder, 1.0)
        save_arrays(folder / "data/environments.npz", environments)
        for learner, tried in CANDIDATES.items():
            for c in range(len(tried)):
                save_candidate(folder, learner, data, c)
    return tmp_path


def cells() -> dict[str, dict[str, Any]]:
    """What the search is given of every cell, by its path."""
    params = {}
    for learner, tried in CANDIDATES.items():
        for data in DATA:
            for c, options in enumerate(tried):
                path = f"{data}/{named(learner, c)}"
                params[path] = {
                    "outputs": ["model"],
                    "criteria": HAVE[learner],
                    "options": options,
                }
    return params


def mean_over_seeds(learner: str, data: str, candidate: int, criterion: str) -> float:
    hits = HITS[learner, data]
    if criterion == ORACLE:
        hits = hits[:, ::-1]
    count = hits[:, candidate]
    if criterion == "worst_true":  # the worst environment is the one with all misses
        half = M / 2
        of_worst = (count - half) / half
        return float(np.mean(of_worst))
    return float(np.mean(count / M))


def mean_over_data(learner: str, candidate: int, criterion: str) -> float:
    means = []
    for data in DATA:
        mean = mean_over_seeds(learner, data, candidate, criterion)
        means.append(mean)
    return float(np.mean(means))


def test_the_search_has_a_row_per_candidate(run: Path) -> None:
    rows = search(cells(), run).to_dict("records")
    expected = []
    for learner, tried in CANDIDATES.items():
        for c, options in enumerate(tried):
            candidate = (learner, c, options)
            expected.append(candidate)
    found = zip(rows, expected, strict=True)
    for row, (learner, c, options) in found:
        assert row["learner"] == named(learner, c)
        assert row["options"] == json.dumps(options)
        for criterion in (*HAVE[learner], ORACLE):
            mean = mean_over_data(learner, c, criterion)
            assert row[criterion] == pytest.approx(mean)


def test_the_best_mean_over_data_is_selected(run: Path) -> None:
    selected = best(search(cells(), run))
    for learner, tried in CANDIDATES.items():
        for criterion in (*HAVE[learner], ORACLE):
            means = []
            for c in range(len(tried)):
                means.append(mean_over_data(learner, c, criterion))
            winner = int(np.argmax(means))
            assert selected[learner][criterion] == tried[winner]
    best_on_no_data = CANDIDATES["dro"][1]
    assert selected["dro"]["pooled"] == best_on_no_data


def test_a_permutation_of_the_test_labels_leaves_every_choice_but_the_oracles(
    run: Path,
) -> None:
    """The oracle's flips, so that the permutation is one that matters."""
    before = best(search(cells(), run))
    for data in DATA:
        save_test_labels(run / data, -1.0)
    after = best(search(cells(), run))
    for learner in CANDIDATES:
        oracle_before = before[learner].pop(ORACLE)
        oracle_after = after[learner].pop(ORACLE)
        assert oracle_before != oracle_after
    assert after == before


def test_a_candidate_serves_both_outputs_of_a_learner(run: Path) -> None:
    """Its score is the mean of both; training points count for the linear one alone."""
    # right of M, by output and candidate
    hits_on_training = {"network": [8, 0], "linear": [0, 8]}
    hits_held_out = {"network": [4, 6], "linear": [2, 8]}
    params = {}
    for c, k in enumerate((10, 20)):
        outputs = {}
        for output in ("network", "linear"):
            n_right = hits_on_training[output][c]
            counts = np.full(2, n_right)
            train = right(counts)
            n_right = hits_held_out[output][c]
            counts = np.full(2, n_right)
            held_out = right(counts)
            outputs[output] = {
                "train": train,
                "validation": held_out,
                "test": held_out,
            }
        cell = f"d+r2=0.7/kerhrm+k={k}"
        path = run / cell / "predictions.npz"
        save_predictions(path, outputs)
        params[cell] = {
            "options": {"k": [k]},
            "outputs": ["network", "linear"],
            "criteria": ["worst_inferred", "pooled"],
        }
    scores = search(params, run)
    pooled_scores = scores["pooled"].tolist()
    inferred_scores = scores["worst_inferred"].tolist()
    pooled = [(4 + 2) / 2 / M, (6 + 8) / 2 / M]
    # of the linear output the mean of its training and its validation points
    linear = [(0 + 2) / 2, (8 + 8) / 2]
    inferred = [(4 + linear[0]) / 2 / M, (6 + linear[1]) / 2 / M]
    assert pooled_scores == pytest.approx(pooled)
    assert inferred_scores == pytest.approx(inferred)


def test_candidates_may_infer_different_numbers_of_environments(tmp_path: Path) -> None:
    ones = {}
    for part in ("train", "validation", "test"):
        ones[part] = np.ones((2, M))
    one = tmp_path / "0.npz"
    three = tmp_path / "1.npz"
    save_predictions(one, {"model": ones})
    save_predictions(three, {"model": ones})
    arrays, _ = load_arrays(three)
    memberships = arrays["memberships"]
    arrays["memberships"] = np.repeat(memberships, 3, axis=-1)
    save_arrays(three, arrays)
    candidates = Candidates.load([one, three])
    memberships = candidates.memberships
    assert memberships is not None
    assert memberships.shape == (2, 2, 2 * M, 3)
    by_candidate = memberships.sum((0, 2))
    of_one = [4 * M, 0, 0]
    of_three = [4 * M] * 3
    assert by_candidate.tolist() == [of_one, of_three]


@pytest.mark.parametrize(
    ("values", "winner"),
    [
        ([[0.5, 0.75, 0.75]], 1),
        ([[0.5, 0.75, 1.0], [1.0, 0.75, 0.5]], 0),
        ([[-np.inf, 0.1, 0.2], [0.9, 0.1, 0.2]], 2),  # diverged somewhere
        ([[-np.inf, -3.0, -4.0], [-np.inf, -3.0, -np.inf]], 1),
        ([[-np.inf] * 3, [-np.inf] * 3], 0),
    ],
)
def test_equals_go_to_the_first_candidate(
    values: list[list[float]], winner: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With a line in the log, where none has a score."""
    tried = CANDIDATES["dro"]
    columns = {
        "learner": [named("dro", candidate) for candidate in range(3)],
        "options": [json.dumps(options) for options in tried],
        "pooled": np.mean(values, axis=0),
    }
    table = pd.DataFrame(columns)
    selected = {"pooled": tried[winner]}
    assert best(table) == {"dro": selected}
    are_failures = not np.isfinite(table["pooled"]).any()
    line = "dro: all candidates failed by pooled; the first one is kept"
    assert caplog.messages == [line] * are_failures
