"""Selection rules against plain loops, and what each of them may open."""

from pathlib import Path

import numpy as np
import pytest

from kerhrm.data.dataset import Task
from kerhrm.scoring.rules import RULES
from kerhrm.storage.arrays import save_arrays

B, C, SIZES = 3, 4, {"train": 13, "validation": 11, "test": 9}
N_ENVIRONMENTS = 3
OPENED = {
    "pooled validation": {"validation"},
    "worst validation environment": {"validation", "environments"},
    "worst learned environment": {"validation"},
    "oracle": {"test_labels"},
}
UNIT = np.array([1.0, 0.5, 3.0])  #: of each seed's test labels, in that of the tables
TASKS: tuple[Task, ...] = ("classification", "regression")


def draw_labels(task: Task) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    y = {part: rng.standard_normal((B, n)).astype(np.float32) for part, n in SIZES.items()}
    return y if task == "regression" else {part: np.sign(a) for part, a in y.items()}


def draw_environments() -> np.ndarray:
    """Every seed has its own; each environment has a point or more."""
    rng = np.random.default_rng(1)
    rows = [rng.permutation(np.arange(SIZES["validation"]) % N_ENVIRONMENTS) for _ in range(B)]
    return np.stack(rows).astype(np.int8)


def draw_outputs(part: str) -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.standard_normal((B, C, SIZES[part])).astype(np.float32)


def draw_inferred() -> np.ndarray:
    """Soft memberships of two environments with every option set, one of which is empty."""
    rng = np.random.default_rng(3)
    size = SIZES["train"] + SIZES["validation"]
    weights = rng.random((B, C, 2, size)).astype(np.float32)
    weights[:, 2, 1] = 0
    return weights


def draw_arrays() -> dict[str, np.ndarray]:
    """What a method leaves."""
    return {part: draw_outputs(part) for part in SIZES} | {"environments": draw_inferred()}


def write(folder: Path, task: Task, names: set[str]) -> dict[str, Path]:
    """The files that are named, and no other."""
    y, facts = draw_labels(task), {"task": task}
    contents = {
        "train": {"y": y["train"]},
        "validation": {"y": y["validation"]},
        "environments": {"validation": draw_environments()},
        "test_labels": {"y": y["test"], "unit": UNIT},
    }
    for name in names:
        save_arrays(folder / f"{name}.npz", contents[name], facts)
    return {name: folder / f"{name}.npz" for name in names}


def point(f: float, y: float, task: Task) -> float:
    """An output of 0 is the class -1."""
    return float((1 if f > 0 else -1) == y) if task == "classification" else -((f - y) ** 2)


def expected(name: str, task: Task, b: int, c: int, closed_form: bool = False) -> float:
    parts = RULES[name].samples
    if closed_form and name == "worst learned environment":
        parts = ("train", "validation")
    f = [v for part in parts for v in draw_outputs(part)[b, c].tolist()]
    y = [v for part in parts for v in draw_labels(task)[part][b].tolist()]
    scores = [point(*pair, task) for pair in zip(f, y, strict=True)]
    if name == "oracle" and task == "regression":
        scores = [s * UNIT[b] ** 2 for s in scores]
    if name == "worst learned environment":  # of any option set
        inferred = draw_inferred()[b, :, :, -len(y) :]  # behind the training points
        weights = [w for w in inferred.reshape(-1, len(y)).tolist() if sum(w)]
        return min(float(np.average(scores, weights=w)) for w in weights)
    if name != "worst validation environment":
        return sum(scores) / len(scores)
    of = draw_environments()[b].tolist()
    each = [[s for s, e in zip(scores, of, strict=True) if e == n] for n in range(N_ENVIRONMENTS)]
    return min(sum(own) / len(own) for own in each)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", OPENED)
def test_a_rule_by_a_loop_over_points(tmp_path: Path, name: str, task: Task) -> None:
    """No file is there but those that the rule names."""
    rule = RULES[name]
    score = rule.score(draw_arrays(), write(tmp_path, task, OPENED[name]))
    assert score.shape == (B, C)
    assert score.dtype == np.float64
    for b in range(B):
        for c in range(C):
            assert float(score[b, c]) == pytest.approx(expected(name, task, b, c), rel=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_of_a_closed_form_training_points_count_for_learned_environments(
    tmp_path: Path, task: Task
) -> None:
    for name, rule in RULES.items():
        files = write(tmp_path, task, OPENED[name] | {"train"})
        score = rule.score(draw_arrays(), files, closed_form=True)
        for b in range(B):
            for c in range(C):
                value = expected(name, task, b, c, closed_form=True)
                assert float(score[b, c]) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", OPENED)
def test_a_rule_needs_the_files_that_it_names(tmp_path: Path, name: str) -> None:
    rule, files = RULES[name], write(tmp_path, "regression", set().union(*OPENED.values()))
    for needed in OPENED[name]:
        others = {n: p for n, p in files.items() if n != needed}
        with pytest.raises(KeyError, match=needed):
            rule.score(draw_arrays(), others)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", OPENED)
def test_a_diverged_candidate_comes_last(tmp_path: Path, name: str, task: Task, bad: float) -> None:
    rule, files = RULES[name], write(tmp_path, task, OPENED[name])
    arrays = draw_arrays()
    outputs = arrays[rule.samples[-1]]
    sound = rule.score(arrays, files)
    outputs[0, 1, 3] = bad  # one point of one candidate
    outputs[2] = bad  # all of a seed
    score = rule.score(arrays, files)
    spoilt = np.zeros((B, C), dtype=bool)
    spoilt[0, 1] = True
    spoilt[2] = True
    assert bool((score[spoilt] == -np.inf).all())
    assert np.array_equal(score[~spoilt], sound[~spoilt])


def test_the_worst_environment_is_no_better_than_the_pool(tmp_path: Path) -> None:
    files = write(tmp_path, "regression", {"validation", "environments"})
    arrays = draw_arrays()
    worst = RULES["worst validation environment"].score(arrays, files)
    assert bool((worst < RULES["pooled validation"].score(arrays, files)).all())


@pytest.mark.parametrize("task", TASKS)
def test_all_option_sets_are_measured_by_one_yardstick(tmp_path: Path, task: Task) -> None:
    """It does not matter which of them has inferred an environment."""
    rule = RULES["worst learned environment"]
    files = write(tmp_path, task, {"validation"})
    arrays = draw_arrays()
    there = rule.score(arrays, files)
    arrays["environments"] = arrays["environments"][:, ::-1]
    np.testing.assert_array_equal(rule.score(arrays, files), there)
    # where one environment holds all points, it is the pooled rule
    arrays["environments"] = np.ones((B, C, 1, SIZES["train"] + SIZES["validation"]), np.float32)
    pooled = RULES["pooled validation"].score(arrays, files)
    np.testing.assert_allclose(rule.score(arrays, files), pooled, rtol=1e-12)


def test_only_the_oracle_follows_the_test_labels(tmp_path: Path) -> None:
    """Candidate 0 is right on validation points, candidate 1 on test points."""
    needed = {"validation", "environments", "test_labels"}
    files = write(tmp_path, "classification", needed)
    y = draw_labels("classification")
    outputs = {
        "validation": np.stack([y["validation"], -y["validation"]], axis=1),
        "test": np.stack([-y["test"], y["test"]], axis=1),
        "environments": draw_inferred(),
    }
    best = {n: r.score(outputs, files).argmax(-1).tolist() for n, r in RULES.items()}
    assert best.pop("oracle") == [1] * B
    assert set(map(tuple, best.values())) == {(0,) * B}


def test_rules_are_found_by_name() -> None:
    assert {name: rule.name for name, rule in RULES.items()} == {n: n for n in OPENED}
    assert [n for n, rule in RULES.items() if "test" in rule.samples] == ["oracle"]
