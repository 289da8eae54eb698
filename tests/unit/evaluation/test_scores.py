"""From predictions on disk to rows of scores."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.evaluation.metrics import accuracy, divergence
from kerhrm_paper.evaluation.reference_scores import closed_forms
from kerhrm_paper.evaluation.score_rows import COLUMNS
from kerhrm_paper.evaluation.scores import score_table
from kerhrm_paper.runs.arrays import save_arrays, save_stacked

SIZES = {"train": 12, "validation": 7, "test": 9}
SEEDS = ["4", "0", "9"]
SIDE = 2
S = len(SEEDS)
INFERRED = "worst inferred environment"
POOLED = "pooled validation"
TASKS = {
    "accuracy": "classification",
    "iterations": "classification",
    "mean_error": "regression",
    "period": "regression",
}


def labels(task: str) -> dict[str, np.ndarray]:
    """Numbers, or their signs, by part."""
    rng = np.random.default_rng(100)
    y = {}
    for part, n in SIZES.items():
        values = rng.standard_normal((S, n))
        if task == "classification":
            values = np.sign(values)
        y[part] = values
    return y


def channels() -> np.ndarray:
    """Colour of every training image."""
    rng = np.random.default_rng(5)
    n = SIZES["train"]
    return rng.choice([0, 1], (S, n))


def write_data(folder: Path, task: str) -> None:
    y = labels(task)
    facts = {
        "source": "synthetic",
        "task": task,
        "test_environments": ["a", "b"],
        "n_headline": 2,
    }
    channel_of_image = channels()[..., None, None]
    both_channels = np.arange(2)[:, None]
    in_channel = channel_of_image == both_channels
    images = 0.8 * in_channel * np.ones(SIDE**2)
    x = images.reshape(S, SIZES["train"], -1)
    alternating = np.arange(9) % 2
    environment = np.stack([alternating] * S)
    test_labels = {
        "y": y["test"],
        "environment": environment,
        "unit": np.ones(S),
    }
    contents = {
        "train": {"x": x, "y": y["train"]},
        "validation": {"y": y["validation"]},
        "test_labels": test_labels,
    }
    for name, arrays in contents.items():
        path = folder / "data" / f"{name}.npz"
        save_arrays(path, arrays, **facts)


def outputs(seed: int, *names: str) -> dict[str, dict[str, np.ndarray]]:
    """Outputs (S, points) by name and part."""
    rng = np.random.default_rng(seed)
    made = {}
    for name in names:
        parts = {}
        for part, n in SIZES.items():
            parts[part] = rng.standard_normal((S, n))
        made[name] = parts
    return made


def save_predictions(
    path: Path, made: dict[str, dict[str, np.ndarray]], **more: np.ndarray
) -> None:
    """What a job that trains writes."""
    of_any_output = next(iter(made.values()))
    n_seeds = len(of_any_output["train"])
    units = []
    for s in range(n_seeds):
        unit = {
            "outputs": np.array([*made]),
            "chosen": np.array([], dtype=str),
            "choices": np.array([]),
        }
        for part in SIZES:
            of_seed = [parts[part][s] for parts in made.values()]
            unit[part] = np.stack(of_seed)
        for name, array in more.items():
            unit[name] = array[s]
        units.append(unit)
    save_stacked(path, units)


DATA = "d+s=1"
FACTS = {
    DATA: {"replicates": SEEDS, "generator": "colored_mnist", "options": {}},
}
BOTH = {"network": "KerHRM", "linear": "Linear"}
ROWS_OF_TABLE = (
    Row(DATA, "erm", "erm", "s,x=1", {"model": "ERM"}, POOLED),
    Row(DATA, "kerhrm", "kerhrm", "s,x=1", BOTH, INFERRED),
    Row(DATA, "kerhrm+select=pooled", "kerhrm+k=5", "s,x=1", BOTH, POOLED),
    Row(DATA, "kerhrm+select=oracle", "kerhrm", "s,x=1", BOTH, "oracle"),
)
N_SEEDS = {f"{row.data}/{row.learner}": S for row in ROWS_OF_TABLE}


def table(kind: str = "accuracy", **more: Any) -> TableView:
    values: dict[str, Any] = {
        "name": "t",
        "title": "T",
        "kind": kind,
        "in_all": True,
        "n_seeds": None,
        "labels": {DATA: "s,x=1"},
        "rows": ROWS_OF_TABLE,
    }
    return TableView(**values | more)


def scored(
    run: Path,
    shown: TableView | None = None,
    facts: Mapping[str, Any] = FACTS,
    n_seeds: Mapping[str, int] = N_SEEDS,
) -> pd.DataFrame:
    """Scores of a run; the table shows accuracies unless another is given."""
    return score_table(shown or table(), facts, n_seeds, run)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path, "classification")


def write(run: Path, task: str) -> Path:
    folder = run / DATA
    write_data(folder, task)
    save_predictions(folder / "erm/predictions.npz", outputs(0, "model"))
    own = outputs(1, "network", "linear")
    other = outputs(2, "network", "linear")
    save_predictions(folder / "kerhrm/predictions.npz", own)
    save_predictions(folder / "kerhrm+k=5/predictions.npz", other)
    return run


def test_every_output_under_every_criterion(run: Path) -> None:
    scores = scored(run)
    assert list(scores.columns) == COLUMNS
    pairs = zip(scores["method"], scores["selection"], strict=True)
    in_order = list(dict.fromkeys(pairs))
    assert in_order == [
        ("ERM", POOLED),
        ("KerHRM", INFERRED),
        ("Linear", INFERRED),
        ("KerHRM", POOLED),
        ("Linear", POOLED),
        ("KerHRM", "oracle"),
        ("Linear", "oracle"),
        ("ref: majority", "none"),
        ("ref: invariant ceiling", "none"),
    ]
    keys = ["learner", "method", "selection", "metric", "seed"]
    cells = scores.set_index(keys)["value"]
    assert len(cells) == 9 * 4 * S
    assert not cells.index.has_duplicates
    y = labels("classification")["test"]
    network = outputs(1, "network", "linear")["network"]
    linear = outputs(2, "network", "linear")["linear"]
    # the predictions of another name with the same options
    other_name = "kerhrm+select=pooled"
    for b, seed in enumerate(SEEDS):
        labels_of_seed = y[b]
        expected = accuracy(network["test"][b], labels_of_seed)
        of_network = cells["kerhrm", "KerHRM", INFERRED, "test_acc", seed]
        assert of_network == expected
        expected = accuracy(linear["test"][b], labels_of_seed)
        of_linear = cells[other_name, "Linear", POOLED, "test_acc", seed]
        assert of_linear == expected


def test_tables_choose_outputs_and_labels(run: Path) -> None:
    erm, kerhrm, *_ = ROWS_OF_TABLE
    linear = {"linear": "Linear"}
    rows = (
        replace(erm, setting="S"),
        replace(kerhrm, setting="S,K=2", titles=linear),
    )
    chosen = table(rows=rows, labels={DATA: "S"})
    scores = scored(run, chosen)
    keys = ["data", "setting", "learner", "method"]
    found = scores[keys].drop_duplicates().to_numpy()
    assert [tuple(row) for row in found] == [
        (DATA, "S", "erm", "ERM"),
        (DATA, "S,K=2", "kerhrm", "Linear"),
        (DATA, "S", "", "ref: majority"),
        (DATA, "S", "", "ref: invariant ceiling"),
    ]


@pytest.mark.parametrize("kind", ["mean_error", "period"])
def test_kinds_have_their_settings_and_constants(tmp_path: Path, kind: str) -> None:
    run = write(tmp_path, TASKS[kind])
    of_kind = table(kind)
    scores = scored(run, of_kind)
    settings = list(scores["setting"].unique())
    expected = {
        "mean_error": ["s,x=1"],
        "period": ["period=a,x=1", "period=b,x=1"],
    }
    assert settings == expected[kind]
    constant = {"mean_error": "predict zero", "period": "predict the mean"}
    assert f"ref: {constant[kind]}" in set(scores["method"])


def replicates_of(scores: pd.DataFrame) -> dict[tuple[str, str], int]:
    """Numbers of seeds by method and criterion."""
    accuracies = scores[scores["metric"] == "test_acc"]
    by_method = accuracies.groupby(["method", "selection"])
    return by_method["seed"].nunique().to_dict()


def test_replicates_are_the_first_ones_of_the_data(run: Path) -> None:
    """A learner with fewer seeds than others; reference rows have all."""
    whole = outputs(0, "model")["model"]
    few = {part: array[:2] for part, array in whole.items()}
    save_predictions(run / DATA / "erm/predictions.npz", {"model": few})
    n_seeds = N_SEEDS | {f"{DATA}/erm": 2}
    scores = scored(run, n_seeds=n_seeds)
    n = replicates_of(scores)
    assert n["ERM", POOLED] == 2
    assert n["KerHRM", INFERRED] == 3
    assert n["ref: majority", "none"] == 3


def test_a_table_may_show_the_first_replicates_alone(run: Path) -> None:
    whole = scored(run)
    shown = table(n_seeds=2)
    scores = scored(run, shown)
    n = replicates_of(scores)
    assert set(n.values()) == {2}
    first_seeds = SEEDS[:2]
    is_first = whole["seed"].isin(first_seeds)
    first = whole[is_first].reset_index(drop=True)
    assert_frame_equal(scores, first)


def test_predictions_that_are_not_complete_are_refused(run: Path) -> None:
    path = run / DATA / "erm/predictions.npz"
    whole = outputs(0, "model")["model"]
    few = {part: array[:2] for part, array in whole.items()}
    of_another_name = {"other": whole}
    for broken in (of_another_name, {"model": few}):
        save_predictions(path, broken)
        with refusal(r"erm.predictions\.npz"):
            scored(run)
    start = path.read_bytes()
    path.write_bytes(start[:100])
    with refusal(r"erm.predictions\.npz is damaged"):
        scored(run)
    path.unlink()
    with refusal("does not exist"):
        scored(run)


def test_a_diverged_seed_has_a_reason_and_no_value(run: Path) -> None:
    made = outputs(0, "model")
    validation = made["model"]["validation"]
    validation[1, 0] = math.nan  # no metric uses it
    save_predictions(run / DATA / "erm/predictions.npz", made)
    rows = scored(run)
    rows = rows[rows["method"] == "ERM"]
    failed = rows["seed"] == SEEDS[1]
    values_of_failed = rows.loc[failed, "value"]
    assert values_of_failed.isna().all()
    n_outputs = sum(SIZES.values())
    reasons = set(rows.loc[failed, "reason"])
    assert reasons == {f"diverged: 1 of {n_outputs} outputs are not finite"}
    other_values = rows.loc[~failed, "value"]
    assert other_values.notna().all()


@pytest.mark.parametrize("generator", ["colored_mnist", "classification"])
def test_iterations_have_rows_and_the_divergence(run: Path, generator: str) -> None:
    rng = np.random.default_rng(3)
    n = 3
    concentration = np.ones(2)
    n_train = SIZES["train"]
    members = rng.dirichlet(concentration, (S, n, n_train))
    after = {}
    for part in ("train", "test"):
        shape = (S, n, SIZES[part])
        after[part] = rng.standard_normal(shape)
    numbers = np.broadcast_to(np.arange(n), (S, n))
    save_predictions(
        run / DATA / "kerhrm/predictions.npz",
        outputs(1, "linear"),
        iterations=numbers,
        iteration_train=after["train"],
        iteration_test=after["test"],
        iteration_memberships=members,
    )
    kerhrm = ROWS_OF_TABLE[1]
    row = replace(kerhrm, titles={"linear": "Linear"})
    facts_of_data = FACTS[DATA] | {"generator": generator}
    facts = {DATA: facts_of_data}
    iterations = table("iterations", rows=(row,))
    scores = scored(run, iterations, facts)
    indexed = scores.set_index(["setting", "metric", "seed"])
    cells = indexed["value"]
    coloured = generator == "colored_mnist"
    n_metrics = 2 * n + coloured * (n - 1)
    assert len(cells) == n_metrics * S
    y = labels("classification")
    for t in range(n):
        setting = f"iteration={t},x=1"
        for b, seed in enumerate(SEEDS):
            for part in ("train", "test"):
                outputs_after = after[part][b, t]
                expected = accuracy(outputs_after, y[part][b])
                assert cells[setting, f"{part}_acc", seed] == expected
        if coloured and t:
            memberships = members[:, t]
            expected = divergence(memberships, y["train"], channels())
            found = []
            for seed in SEEDS:
                found.append(cells[setting, "d_kl", seed])
            assert_allclose(found, expected)


def test_closed_forms_have_a_row_per_seed(run: Path) -> None:
    options = {"r2": 0.8}
    changed = {"generator": "classification", "options": options}
    facts = {DATA: FACTS[DATA] | changed}
    rows = scored(run, facts=facts)
    is_reference = rows["learner"] == ""
    is_closed_form = is_reference & (rows["method"] != "ref: majority")
    closed_form_rows = rows[is_closed_form]
    indexed = closed_form_rows.set_index(["method", "metric", "seed"])
    closed = indexed["value"]
    expected = {}
    for name, values in closed_forms("classification", options).items():
        for (environment, metric), value in values.items():
            if environment:
                continue
            for seed in SEEDS:
                expected[name, metric, seed] = value
    assert closed.to_dict() == expected
