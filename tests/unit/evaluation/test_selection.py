"""Selection criteria against loops over points, and which files each of
them may open."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm_paper.evaluation.selection import CRITERIA, Candidates, best, search
from kerhrm_paper.runs.arrays import load_arrays, save_arrays, save_stacked

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
    rng = np.random.default_rng(0)
    y = {
        part: rng.standard_normal((S, n)).astype(np.float32)
        for part, n in SIZES.items()
    }
    return y if task == "regression" else {part: np.sign(a) for part, a in y.items()}


def draw_environments() -> np.ndarray:
    """Every seed has its own; each environment has a point or more."""
    rng = np.random.default_rng(1)
    rows = [
        rng.permutation(np.arange(SIZES["validation"]) % N_ENVIRONMENTS)
        for _ in range(S)
    ]
    return np.stack(rows).astype(np.int8)


def draw_candidates(output: str = "model") -> Candidates:
    """Predictions, and soft memberships of two environments, one of which is empty
    once."""
    rng = np.random.default_rng(2)
    outputs = {
        (output, part): rng.standard_normal((S, C, n)).astype(np.float32)
        for part, n in SIZES.items()
    }
    weights = rng.random((S, C, SIZES["train"] + SIZES["validation"], 2)).astype(
        np.float32
    )
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


def expected(name: str, task: str, b: int, c: int, output: str) -> float:
    drawn = draw_candidates(output)
    y = draw_labels(task)
    parts = ["test"] if name == ORACLE else ["validation"]
    if name == INFERRED and output == "linear":
        parts = ["train", "validation"]
    scores = []
    for part in parts:
        for f, label in zip(drawn.outputs[output, part][b, c], y[part][b], strict=True):
            # an output of 0 is the class -1
            right = float((1 if f > 0 else -1) == label)
            scores.append(
                right if task == "classification" else -(float(f - label) ** 2)
            )
    if name == ORACLE:
        scores = [
            score
            for score, number in zip(scores, TEST_ENVIRONMENT, strict=True)
            if number == 0
        ]
        if task == "regression":
            scores = [s * UNIT[b] ** 2 for s in scores]
    if name == INFERRED:  # of any candidate, behind the training points
        assert drawn.memberships is not None
        inferred = drawn.memberships[b, :, -len(scores) :]
        weights = [w for candidate in inferred for w in candidate.T if w.sum()]
        return min(float(np.average(scores, weights=w)) for w in weights)
    if name != TRUE:
        return sum(scores) / len(scores)
    each = [
        [s for s, e in zip(scores, draw_environments()[b], strict=True) if e == n]
        for n in range(N_ENVIRONMENTS)
    ]
    return min(sum(own) / len(own) for own in each)


@pytest.mark.parametrize("output", ["model", "linear"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", OPENED)
def test_a_criterion_by_a_loop_over_points(
    tmp_path: Path, name: str, task: str, output: str
) -> None:
    """Only the files that the criterion names exist."""
    needed = OPENED[name] | ({"train"} if output == "linear" else set())
    folder = write(tmp_path, task, needed)
    score = CRITERIA[name].score(draw_candidates(output), output, folder)
    assert (score.shape, score.dtype) == ((S, C), np.float64)
    for b in range(S):
        for c in range(C):
            value = expected(name, task, b, c, output)
            assert float(score[b, c]) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", OPENED)
def test_a_criterion_needs_the_files_that_it_names(tmp_path: Path, name: str) -> None:
    write(tmp_path, "regression", set().union(*OPENED.values()))
    for needed in OPENED[name]:
        path = tmp_path / "data" / f"{needed}.npz"
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(KerhrmError, match=needed):
            CRITERIA[name].score(draw_candidates(), "model", tmp_path)
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
    outputs = drawn.outputs["model", criterion.parts[-1]]
    sound = criterion.score(drawn, "model", folder)
    outputs[0, 1, 3] = bad  # one point of one candidate
    outputs[2] = bad  # all of a seed
    score = criterion.score(drawn, "model", folder)
    spoilt = np.zeros((S, C), dtype=bool)
    spoilt[0, 1] = True
    spoilt[2] = True
    assert (score[spoilt] == -np.inf).all()
    assert np.array_equal(score[~spoilt], sound[~spoilt])


@pytest.mark.parametrize("task", TASKS)
def test_all_candidates_are_measured_alike(tmp_path: Path, task: str) -> None:
    """It does not matter which of them has inferred an environment."""
    folder = write(tmp_path, task, {"validation"})
    drawn = draw_candidates()
    assert drawn.memberships is not None
    before = CRITERIA[INFERRED].score(drawn, "model", folder)
    reverse = replace(drawn, memberships=drawn.memberships[:, ::-1])
    np.testing.assert_array_equal(
        CRITERIA[INFERRED].score(reverse, "model", folder), before
    )
    # where one environment has all points, it is pooled validation
    ones = np.ones_like(drawn.memberships[..., :1])
    single = replace(drawn, memberships=ones)
    pooled = CRITERIA[POOLED].score(single, "model", folder)
    found = CRITERIA[INFERRED].score(single, "model", folder)
    np.testing.assert_allclose(found, pooled, rtol=1e-12)


def test_only_the_oracle_follows_the_test_labels(tmp_path: Path) -> None:
    """Candidate 0 is right on validation points, candidate 1 on test points."""
    folder = write(
        tmp_path, "classification", {"validation", "environments", "test_labels"}
    )
    y = draw_labels("classification")
    outputs = {
        ("model", "validation"): np.stack([y["validation"], -y["validation"]], axis=1),
        ("model", "test"): np.stack([-y["test"], y["test"]], axis=1),
    }
    drawn = Candidates(outputs, draw_candidates().memberships)
    scores = {name: c.score(drawn, "model", folder) for name, c in CRITERIA.items()}
    assert {n: s.argmax(-1).tolist() for n, s in scores.items()} == {
        n: [int(n == ORACLE)] * S for n in CRITERIA
    }


M = 8
DATA = ("d+r2=0.7", "d+r2=0.75")
CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "dro": [{"rho": 0.1}, {"rho": 0.5}, {"rho": 1.0}],
    "irm": [{"penalty_weight": 1e3}, {"penalty_weight": 1e4}],
}
HAVE = {"dro": ["pooled"], "irm": ["worst_true", "pooled"]}
#: how many of the points every seed's candidates get right, (S, C)
HITS = {
    ("dro", "d+r2=0.7"): np.array([[3, 5, 4], [4, 4, 4]]),
    ("dro", "d+r2=0.75"): np.array([[8, 7, 7], [5, 7, 8]]),
    # only environment 0, the first half of the points, is ever missed
    ("irm", "d+r2=0.7"): np.array([[8, 7], [8, 7]]),
    ("irm", "d+r2=0.75"): np.array([[4, 7], [7, 7]]),
}


def right(count: np.ndarray) -> np.ndarray:
    """(..., M) for labels of 1: the last ``count`` points are right."""
    return np.where(np.arange(M) >= M - count[..., None], 1.0, -1.0)


def named(learner: str, candidate: int) -> str:
    (option,) = CANDIDATES[learner][candidate].items()
    return f"{learner}+{option[0]}={option[1]}"


def save_predictions(path: Path, outputs: dict[str, dict[str, np.ndarray]]) -> None:
    """Outputs (S, points) by name and part."""
    parts = ("train", "validation", "test")
    n_seeds = len(next(iter(outputs.values()))["train"])
    memberships = np.ones((n_seeds, 2 * M, 1))
    units = [
        {
            "outputs": np.array([*outputs]),
            **{p: np.stack([one[p][s] for one in outputs.values()]) for p in parts},
            "chosen": np.array([], dtype=str),
            "choices": np.array([]),
            "memberships": memberships[s],
        }
        for s in range(n_seeds)
    ]
    save_stacked(path, units)


def save_test_labels(folder: Path, label: float) -> None:
    arrays = {
        "y": np.full((2, M), label),
        "environment": np.zeros((2, M), dtype=int),
        "unit": np.ones(2),
    }
    path = folder / "data/test_labels.npz"
    save_arrays(path, arrays, task="classification", n_headline=1)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of the preset tuning on two data."""
    for data in DATA:
        folder = tmp_path / data
        environment = np.stack([np.arange(M) // (M // 2)] * 2)
        save_arrays(
            folder / "data/validation.npz",
            {"y": np.ones((2, M))},
            task="classification",
        )
        save_arrays(
            folder / "data/train.npz", {"y": np.ones((2, M))}, task="classification"
        )
        save_arrays(folder / "data/environments.npz", {"validation": environment})
        save_test_labels(folder, 1.0)
        for learner, tried in CANDIDATES.items():
            for c in range(len(tried)):
                hits = right(HITS[learner, data][:, c])
                reverse = right(HITS[learner, data][:, ::-1][:, c])
                parts = {"train": hits, "validation": hits, "test": reverse}
                path = folder / named(learner, c) / "predictions.npz"
                save_predictions(path, {"model": parts})
    return tmp_path


def cells() -> dict[str, dict[str, Any]]:
    return {
        f"{data}/{named(learner, c)}": {
            "outputs": ["model"],
            "criteria": HAVE[learner],
            "options": options,
        }
        for learner, tried in CANDIDATES.items()
        for data in DATA
        for c, options in enumerate(tried)
    }


def mean(learner: str, data: str, candidate: int, criterion: str) -> float:
    hits = HITS[learner, data]
    count = (hits[:, ::-1] if criterion == ORACLE else hits)[:, candidate]
    if criterion == "worst_true":  # the worst environment is the one with all misses
        return float(np.mean((count - M / 2) / (M / 2)))
    return float(np.mean(count / M))


def test_the_search_has_a_row_per_candidate(run: Path) -> None:
    scores = search(cells(), run)
    assert [tuple(row) for row in scores[["learner", "options"]].to_numpy()] == [
        (named(learner, c), json.dumps(options))
        for learner, tried in CANDIDATES.items()
        for c, options in enumerate(tried)
    ]
    rows = scores.to_dict("records")
    numbers = [(m, c) for m, every in CANDIDATES.items() for c in range(len(every))]
    for row, (learner, c) in zip(rows, numbers, strict=True):
        for criterion in (*HAVE[learner], ORACLE):
            each = [mean(learner, data, c, criterion) for data in DATA]
            assert row[criterion] == pytest.approx(np.mean(each))


def test_the_best_mean_over_data_is_selected(run: Path) -> None:
    found = best(search(cells(), run))
    for learner, tried in CANDIDATES.items():
        for criterion in (*HAVE[learner], ORACLE):
            means = [
                np.mean([mean(learner, data, c, criterion) for data in DATA])
                for c in range(len(tried))
            ]
            assert found[learner][criterion] == tried[int(np.argmax(means))]
    assert found["dro"]["pooled"] == CANDIDATES["dro"][1]  # the best on no data


def test_a_permutation_of_the_test_labels_leaves_every_choice_but_the_oracles(
    run: Path,
) -> None:
    """The oracle's flips, so that the permutation is one that matters."""
    before = best(search(cells(), run))
    for data in DATA:
        save_test_labels(run / data, -1.0)
    after = best(search(cells(), run))
    for learner in CANDIDATES:
        oracles = before[learner].pop(ORACLE), after[learner].pop(ORACLE)
        assert oracles[0] != oracles[1]
    assert after == before


def test_a_candidate_serves_both_outputs_of_a_learner(run: Path) -> None:
    """Its score is the mean of both; training points count for the linear one alone."""
    # right of M, by output and candidate
    both = [[8, 0], [0, 8]]
    held_out = [[4, 6], [2, 8]]
    params = {}
    for c, k in enumerate((10, 20)):
        outputs = {}
        for i, output in enumerate(("network", "linear")):
            validation = np.stack([right(np.array(held_out[i][c]))] * 2)
            train = np.stack([right(np.array(both[i][c]))] * 2)
            outputs[output] = {
                "train": train,
                "validation": validation,
                "test": validation,
            }
        cell = f"d+r2=0.7/kerhrm+k={k}"
        save_predictions(run / cell / "predictions.npz", outputs)
        params[cell] = {
            "options": {"k": [k]},
            "outputs": ["network", "linear"],
            "criteria": ["worst_inferred", "pooled"],
        }
    scores = search(params, run)
    assert list(scores["pooled"]) == pytest.approx([(4 + 2) / 2 / M, (6 + 8) / 2 / M])
    inferred = [(4 + (0 + 2) / 2) / 2 / M, (6 + (8 + 8) / 2) / 2 / M]
    assert list(scores["worst_inferred"]) == pytest.approx(inferred)


def test_candidates_may_infer_different_numbers_of_environments(tmp_path: Path) -> None:
    ones = {part: np.ones((2, M)) for part in ("train", "validation", "test")}
    paths = [tmp_path / f"{number}.npz" for number in range(2)]
    for path in paths:
        save_predictions(path, {"model": ones})
    arrays, _ = load_arrays(paths[1])
    arrays["memberships"] = np.repeat(arrays["memberships"], 3, axis=-1)
    save_arrays(paths[1], arrays)
    found = Candidates.load(paths).memberships
    assert found is not None
    assert found.shape == (2, 2, 2 * M, 3)
    assert found.sum((0, 2)).tolist() == [[4 * M, 0, 0], [4 * M] * 3]


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
    values: list[list[float]], winner: int
) -> None:
    means = np.mean(values, axis=0)
    options = [json.dumps(one) for one in CANDIDATES["dro"]]
    names = [named("dro", c) for c in range(3)]
    table = pd.DataFrame({"learner": names, "options": options, "pooled": means})
    assert best(table) == {"dro": {"pooled": CANDIDATES["dro"][winner]}}
