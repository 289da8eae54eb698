"""From predictions on disk to rows of scores."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.methods.registry import ROWS
from kerhrm.scoring.metrics import (
    COLUMNS,
    Labels,
    Protocol,
    accuracy,
    environment_errors,
    load_labels,
    metrics,
    score_predictions,
)
from kerhrm.scoring.scores import CONSTANTS, closed_forms, oracle, score_setting
from kerhrm.storage.arrays import save_arrays

SIZES = {"train": 12, "validation": 7, "test": 9}
SEEDS, C = [4, 0, 9], 4  # names of the replicates
B = len(SEEDS)
ENVIRONMENT = np.array([0, 0, 1, 2, 1, 2, 2, 1, 1])  # of the test points
NAMES = ["1916-1918", "1919-1920", "1921-1927"]
UNIT = np.array([1.0, 0.5, 3.0])  # of y, one per replicate
SOURCE = "stand-in:some digits"
PROTOCOLS: dict[Protocol, str] = {
    "accuracy": "classification",
    "mean_error": "regression",
    "period": "regression",
}
DATA = {"generator": "colored_mnist"}  # of which no closed form is known


def draw(seed: int, *leading: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal((*leading, n)) for name, n in SIZES.items()}


def true_labels(task: str) -> dict[str, np.ndarray]:
    y = draw(100, B)
    return {p: np.sign(a) for p, a in y.items()} if task == "classification" else y


def labels(task: str = "classification") -> Labels:
    y = true_labels(task)
    return Labels(y["train"], y["test"], ENVIRONMENT, SEEDS, task, SOURCE, NAMES, UNIT)


def share(outputs: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of one predictor, point by point; an output of 0 is the class -1."""
    hits = [(f > 0) == (label == 1) for f, label in zip(outputs, y, strict=True)]
    return sum(hits) / len(hits)


def error(outputs: np.ndarray, y: np.ndarray) -> float:
    return sum((f - label) ** 2 for f, label in zip(outputs, y, strict=True)) / len(y)


def errors_of(outputs: np.ndarray, y: np.ndarray) -> list[float]:
    return [error(outputs[e == ENVIRONMENT], y[e == ENVIRONMENT]) for e in range(3)]


def expected(outputs: dict[str, np.ndarray], y: Labels, seed: int, metric: str) -> float:
    """One cell of ``accuracy`` or ``mean_error``; ``seed`` is the row."""
    if metric in ("train_acc", "test_acc", "generalisation_gap"):
        train = share(outputs["train"][seed], y.train[seed])
        test = share(outputs["test"][seed], y.test[seed])
        return {"train_acc": train, "test_acc": test}.get(metric, test - train)
    errors = [e * UNIT[seed] ** 2 for e in errors_of(outputs["test"][seed], y.test[seed])]
    return statistics.fmean(errors) if metric == "mean_error" else statistics.stdev(errors)


def scored(
    outputs: dict[str, np.ndarray], protocol: Protocol = "accuracy", setting: str = "a"
) -> pd.DataFrame:
    about = {"setting": setting, "method": "ERM", "selection": "pooled validation"}
    return score_predictions(outputs, labels(PROTOCOLS[protocol]), protocol, **about)


def test_accuracy_is_the_share_of_right_signs() -> None:
    outputs = np.array([[0.1, -3.0, 2.0, 0.0], [-0.1, -3.0, -2.0, 0.0]])
    y = np.array([[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(accuracy(outputs, y), [0.75, 0.0])
    # candidates against one set of labels
    assert accuracy(np.ones((B, C, 5)), np.ones((B, 1, 5))).shape == (B, C)


def test_errors_are_those_of_double_precision() -> None:
    outputs = np.full((1, 4), 1e25, dtype=np.float32)  # its square is beyond single precision
    found = environment_errors(outputs, np.zeros((1, 4), np.float32), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(found, [[1e50, 1e50]], rtol=1e-6)


# the three protocols


@pytest.mark.parametrize(
    ("protocol", "names"),
    [
        ("accuracy", ["train_acc", "test_acc", "generalisation_gap"]),
        ("mean_error", ["mean_error", "std_error"]),
    ],
)
def test_one_row_a_seed_and_metric(protocol: Protocol, names: list[str]) -> None:
    outputs, y = draw(0, B), labels(PROTOCOLS[protocol])
    rows = scored(outputs, protocol, "r2=0.70")
    assert list(rows.columns) == COLUMNS
    assert list(zip(rows["metric"], rows["seed"], strict=True)) == [
        (metric, seed) for metric in names for seed in SEEDS
    ]
    for column, value in (
        ("setting", "r2=0.70"),
        ("method", "ERM"),
        ("selection", "pooled validation"),
        ("data_source", SOURCE),
        ("reason", ""),
    ):
        assert set(rows[column]) == {value}
    cells = rows.set_index(["metric", "seed"])["value"]
    for metric in names:
        for b, seed in enumerate(SEEDS):
            assert cells[metric, seed] == pytest.approx(expected(outputs, y, b, metric))


@pytest.mark.parametrize(
    ("setting", "mark"),
    [("houses", ""), ("houses,scale=all", ",scale=all"), ("a,b=1,c=2", ",b=1,c=2")],
)
def test_a_period_is_a_setting_of_its_own(setting: str, mark: str) -> None:
    outputs, y = draw(0, B), labels("regression")
    rows = scored(outputs, "period", setting)
    assert set(rows["metric"]) == {"mse"}
    cells = rows.set_index(["setting", "seed"])["value"]
    assert list(cells.index) == [(f"period={n}{mark}", s) for n in NAMES for s in SEEDS]
    for b, seed in enumerate(SEEDS):
        errors = [e * UNIT[b] ** 2 for e in errors_of(outputs["test"][b], y.test[b])]
        found = [cells[f"period={name}{mark}", seed] for name in NAMES]
        assert found == pytest.approx(errors)


def test_a_single_test_environment_has_no_spread() -> None:
    y = labels("regression")
    one = Labels(y.train, y.test, np.zeros(9, int), SEEDS, y.task, SOURCE, ["r=-2"], UNIT)
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        found = metrics(draw(0, B), one, "mean_error")
    assert np.isnan(found["", "std_error"]).all()
    assert np.isfinite(found["", "mean_error"]).all()


# seeds that diverged


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", SIZES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_diverged_seed_has_a_reason_and_no_value(
    protocol: Protocol, part: str, bad: float
) -> None:
    """Even where the part at fault is not what the metric looks at."""
    outputs = draw(0, B)
    sound = scored(outputs, protocol)
    outputs[part][1, [0, 3]] = bad
    with np.errstate(invalid="ignore"):
        rows = scored(outputs, protocol)
    spoilt = rows["seed"] == SEEDS[1]
    assert rows.loc[spoilt, "value"].isna().all()
    expected = f"diverged: 2 of {SIZES[part]} outputs are not finite"
    assert set(rows.loc[spoilt, "reason"]) == {expected}
    pd.testing.assert_frame_equal(rows[~spoilt], sound[~spoilt])


# candidates


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return write_labels(tmp_path, "classification")


def write_labels(folder: Path, task: str) -> dict[str, Path]:
    """The data set's files of one setting."""
    facts = {"source": SOURCE, "task": task, "test_environments": NAMES}
    paths = {name: folder / f"{name}.npz" for name in ("train", "validation", "test_labels")}
    for (part, y), path in zip(true_labels(task).items(), paths.values(), strict=True):
        more = {"environment": np.stack([ENVIRONMENT] * B), "unit": UNIT} if part == "test" else {}
        save_arrays(path, {"y": y} | more, facts)
    return paths


def test_labels_come_back_from_the_files(tmp_path: Path) -> None:
    for task in ("classification", "regression"):
        found, y = load_labels(write_labels(tmp_path, task), SEEDS), labels(task)
        np.testing.assert_array_equal(found.train, y.train)
        np.testing.assert_array_equal(found.test, y.test)
        np.testing.assert_array_equal(found.test_environment, ENVIRONMENT)
        assert (found.seeds, found.task, found.source, found.names) == (SEEDS, task, SOURCE, NAMES)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_oracle_takes_one_option_set_for_all_seeds(tmp_path: Path, task: str) -> None:
    """The best on average; no choice of one is better."""
    outputs, y = draw(1, B, C), true_labels(task)
    means = []
    for c in range(C):
        pairs = [(outputs["test"][b, c], y["test"][b]) for b in range(B)]
        if task == "classification":
            means.append(np.mean([share(*p) for p in pairs]))
        else:  # in the tables' unit
            means.append(-np.mean([error(*p) * u**2 for p, u in zip(pairs, UNIT, strict=True)]))
    assert oracle(outputs, write_labels(tmp_path, task)) == int(np.argmax(means))


def test_an_oracle_does_not_take_what_diverged(files: dict[str, Path]) -> None:
    outputs = draw(1, B, C)
    best = oracle(outputs, files)
    outputs["test"][1, best, 0] = math.nan
    assert oracle(outputs, files) != best


# whole settings


def write_outputs(path: Path, outputs: dict[str, np.ndarray], **meta: Any) -> Path:
    save_arrays(path, outputs, meta)
    return path


def score(
    files: dict[str, Path],
    predictions: Sequence[Path] = (),
    protocol: Protocol = "accuracy",
    data: dict[str, Any] = DATA,
    shown: dict[str, dict[str, int]] | None = None,
    bounds: Sequence[str] = (),
) -> pd.DataFrame:
    return score_setting(
        "a", files | {"predictions": predictions}, protocol=protocol, seeds=SEEDS, data=data,
        shown=shown or {}, bounds=bounds,
    )  # fmt: skip


def kinds(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Methods and their selection rules, in order of appearance."""
    return list(dict.fromkeys(zip(rows["method"], rows["selection"], strict=True)))


def test_a_setting_has_every_predictor_under_every_rule(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """KerHRM's own rows are its steps'; other rules chose among its option sets."""
    steps = ["kerhrm-s", "kerhrm-ntf", "kerhrm-network"]
    sets = ["irm", "kerhrm_grid", "kerhrm_grid-ntf"]
    paths = [write_outputs(tmp_path / f"{n}.npz", draw(i, B)) for i, n in enumerate(steps)]
    paths += [write_outputs(tmp_path / f"{n}.npz", draw(10 + i, B, C)) for i, n in enumerate(sets)]
    own, worst, pooled = (
        "worst learned environment", "worst validation environment", "pooled validation"
    )  # fmt: skip
    shown = {"irm": {worst: 0, pooled: 1}, **{n: {own: 0, pooled: 1} for n in sets[1:]}}
    scores = score(files, paths, shown=shown, bounds=["irm", "kerhrm_grid"])
    assert list(scores.columns) == COLUMNS
    assert list(scores.index) == list(range(len(scores)))
    assert kinds(scores) == [
        ("KerHRM-s", own),
        ("KerHRM (NTF)", own),
        ("KerHRM (network)", own),
        ("IRM", worst),
        ("IRM", pooled),
        ("IRM", "oracle"),
        ("KerHRM (network)", pooled),
        ("KerHRM (network)", "oracle"),
        ("KerHRM (NTF)", pooled),
        ("ref: majority", "none"),
    ]
    cells = scores.set_index(["method", "selection", "metric", "seed"])["value"]
    assert len(cells) == 10 * 3 * B
    assert not cells.index.has_duplicates
    y = labels()
    best = np.mean([[share(f, y.test[b]) for f in draw(10, B, C)["test"][b]] for b in range(B)], 0)
    for b, seed in enumerate(SEEDS):
        expected = share(draw(1, B)["test"][b], y.test[b])
        assert cells["KerHRM (NTF)", own, "test_acc", seed] == pytest.approx(expected)
        expected = share(draw(12, B, C)["test"][b, 1], y.test[b])
        assert cells["KerHRM (NTF)", pooled, "test_acc", seed] == pytest.approx(expected)
        expected = share(draw(10, B, C)["test"][b, best.argmax()], y.test[b])
        assert cells["IRM", "oracle", "test_acc", seed] == pytest.approx(expected)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_constant_tells_what_no_look_at_the_inputs_gives(
    tmp_path: Path, protocol: Protocol
) -> None:
    task = PROTOCOLS[protocol]
    rows = score(write_labels(tmp_path, task), protocol=protocol)
    y = true_labels(task)
    name = {"accuracy": "majority", "mean_error": "zero", "period": "the mean"}[protocol]
    assert set(rows["method"]) == {f"ref: {'predict ' * (name != 'majority')}{name}"}
    assert set(rows["selection"]) == {"none"}
    assert set(rows["method"]) == {ROWS[CONSTANTS[protocol]].title}
    cells = rows.set_index(["setting", "metric", "seed"])["value"]
    for b, seed in enumerate(SEEDS):
        if protocol == "accuracy":
            label = statistics.mode(y["train"][b])
            for part in ("train", "test"):
                value = (y[part][b] == label).mean()
                assert cells["a", f"{part}_acc", seed] == pytest.approx(value)
        elif protocol == "mean_error":
            errors = [e * UNIT[b] ** 2 for e in errors_of(np.zeros(9), y["test"][b])]
            assert cells["a", "mean_error", seed] == pytest.approx(statistics.fmean(errors))
        else:
            errors = errors_of(np.full(9, y["train"][b].mean()), y["test"][b])
            errors = [e * UNIT[b] ** 2 for e in errors]
            found = [cells[f"period={n}", "mse", seed] for n in NAMES]
            assert found == pytest.approx(errors)


def test_closed_forms_have_a_row_a_seed(files: dict[str, Path]) -> None:
    data = {"generator": "classification", "r2": 0.8}
    rows = score(files, data=data)
    rows = rows[rows["method"] != "ref: majority"]
    assert set(rows["selection"]) == {"none"}
    assert set(rows["reason"]) == {""}
    cells = rows.set_index(["method", "metric", "seed"])["value"].to_dict()
    assert cells == {
        (name, metric, seed): value
        for name, values in closed_forms(data).items()
        for metric, value in values.items()
        for seed in SEEDS
    }


def test_scores_survive_their_file(files: dict[str, Path], tmp_path: Path) -> None:
    outputs = draw(0, B)
    outputs["validation"][1, 0] = math.nan  # which no metric looks at
    scores = score(files, [write_outputs(tmp_path / "erm.npz", outputs)])
    scores.to_csv(tmp_path / "scores.csv", index=False)
    again = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False, na_values={"value": [""]})
    assert scores["value"].dtype == np.float64
    pd.testing.assert_frame_equal(again, scores)
    assert int(again["value"].isna().sum()) == 3
