"""From predictions on disk to rows of scores, and from these to tables."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.config import Table
from kerhrm.paper.evaluation.metrics import accuracy, divergence
from kerhrm.paper.evaluation.scores import COLUMNS, closed_forms, score_table
from kerhrm.paper.evaluation.tables import COLUMNS as CELL_COLUMNS
from kerhrm.paper.evaluation.tables import load_paper_values, make_table
from kerhrm.paper.runs.arrays import save_arrays

SIZES = {"train": 12, "validation": 7, "test": 9}
SEEDS, C, SIDE = ["4", "0", "9"], 3, 2
S = len(SEEDS)
INFERRED, POOLED = "worst inferred environment", "pooled validation"
TASKS = {
    "accuracy": "classification",
    "iterations": "classification",
    "mean_error": "regression",
    "period": "regression",
}


def labels(task: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(100)
    y = {part: rng.standard_normal((S, n)) for part, n in SIZES.items()}
    return {p: np.sign(a) for p, a in y.items()} if task == "classification" else y


def channels() -> np.ndarray:
    return np.random.default_rng(5).choice([0, 1], (S, SIZES["train"]))


def write_data(folder: Path, task: str) -> None:
    y, facts = (
        labels(task),
        {"source": "synthetic", "task": task, "test_environments": ["a", "b"]},
    )
    images = (
        0.8 * (channels()[..., None, None] == np.arange(2)[:, None]) * np.ones(SIDE**2)
    )
    x = images.reshape(S, SIZES["train"], -1)
    environment = np.stack([np.arange(9) % 2] * S)
    contents = {
        "train": {"x": x, "y": y["train"]},
        "validation": {"y": y["validation"]},
        "test_labels": {"y": y["test"], "environment": environment, "unit": np.ones(S)},
    }
    for name, arrays in contents.items():
        save_arrays(folder / "data" / f"{name}.npz", arrays, **facts)


def outputs(seed: int, *names: str, candidates: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        f"{name}/{part}": rng.standard_normal((S, candidates, n))
        for name in names
        for part, n in SIZES.items()
    }


PARAMS = {
    "replicates": SEEDS,
    "generator": "colored_mnist",
    "options": {},
    "candidates": [{}],
}
ERM = PARAMS | {"titles": {"model": "ERM"}, "shown": {POOLED: 0}}
KERHRM = PARAMS | {
    "titles": {"network": "KerHRM", "linear": "Linear"},
    "shown": {INFERRED: 0},
}
TUNED = KERHRM | {"shown": {POOLED: 2, "oracle": 1}, "candidates": [{}, {}, {}]}


def table(kind: str = "accuracy", **more: Any) -> Table:
    cells = [
        ("d", "s,x=1", "erm"),
        ("d", "s,x=1", "kerhrm"),
        ("d", "s,x=1", "kerhrm_tuned"),
    ]
    values = {
        "name": "t",
        "title": "T",
        "kind": kind,
        "in_all": True,
        "criteria": "all",
        "outputs": None,
        "cells": cells,
        "labels": {"d/s,x=1": "s,x=1"},
    }
    return Table(**values | more)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path, "classification")


def write(run: Path, task: str) -> Path:
    folder = run / "d" / "s,x=1"
    write_data(folder, task)
    save_arrays(folder / "erm/predictions.npz", outputs(0, "model"))
    save_arrays(folder / "kerhrm/predictions.npz", outputs(1, "network", "linear"))
    tuned = outputs(2, "network", "linear", candidates=C)
    save_arrays(folder / "kerhrm_tuned/predictions.npz", tuned)
    return run


CELLS = {"d/s,x=1/erm": ERM, "d/s,x=1/kerhrm": KERHRM, "d/s,x=1/kerhrm_tuned": TUNED}


def test_every_output_under_every_criterion(run: Path) -> None:
    scores = score_table(table(), CELLS, run)
    assert list(scores.columns) == COLUMNS
    assert list(
        dict.fromkeys(zip(scores["method"], scores["selection"], strict=True))
    ) == [
        ("ERM", POOLED),
        ("KerHRM", INFERRED),
        ("Linear", INFERRED),
        ("KerHRM", POOLED),
        ("KerHRM", "oracle"),
        ("Linear", POOLED),
        ("Linear", "oracle"),
        ("ref: majority", "none"),
    ]
    cells = scores.set_index(["learner", "method", "selection", "metric", "seed"])[
        "value"
    ]
    assert len(cells) == 8 * 4 * S
    assert not cells.index.has_duplicates
    y, tuned = (
        labels("classification")["test"],
        outputs(2, "network", "linear", candidates=C),
    )
    reached = accuracy(tuned["linear/test"], y[:, None])
    for b, seed in enumerate(SEEDS):
        own = accuracy(outputs(1, "network", "linear")["network/test"][b, 0], y[b])
        assert cells["kerhrm", "KerHRM", INFERRED, "test_acc", seed] == own
        assert (
            cells["kerhrm_tuned", "Linear", POOLED, "test_acc", seed] == reached[b, 2]
        )
        assert (
            cells["kerhrm_tuned", "Linear", "oracle", "test_acc", seed] == reached[b, 1]
        )


def test_tables_choose_outputs_criteria_and_labels(run: Path) -> None:
    chosen = table(
        criteria="own",
        outputs={"kerhrm": ["linear"], "kerhrm_tuned": ["network"]},
        labels={"d/s,x=1": "S"},
        marks={"kerhrm": "K=2"},
    )
    scores = score_table(chosen, CELLS, run)
    rows = scores[["setting", "learner", "method", "selection"]].drop_duplicates()
    assert [tuple(row) for row in rows.to_numpy()] == [
        ("S", "erm", "ERM", POOLED),
        ("S,K=2", "kerhrm", "Linear", INFERRED),
        ("S", "kerhrm_tuned", "KerHRM", POOLED),
        ("S", "", "ref: majority", "none"),
    ]


@pytest.mark.parametrize("kind", ["mean_error", "period"])
def test_kinds_have_their_settings_and_constants(tmp_path: Path, kind: str) -> None:
    scores = score_table(table(kind), CELLS, write(tmp_path, TASKS[kind]))
    settings = list(scores["setting"].unique())
    expected = {"mean_error": ["s,x=1"], "period": ["period=a,x=1", "period=b,x=1"]}
    assert settings == expected[kind]
    constant = {"mean_error": "predict zero", "period": "predict the mean"}
    assert f"ref: {constant[kind]}" in set(scores["method"])


def test_replicates_are_the_first_ones_of_the_settings(run: Path) -> None:
    """A learner with fewer seeds than others; reference rows have all."""
    few = ERM | {"replicates": SEEDS[:2]}
    arrays = {name: array[:2] for name, array in outputs(0, "model").items()}
    save_arrays(run / "d/s,x=1/erm/predictions.npz", arrays)
    scores = score_table(table(), CELLS | {"d/s,x=1/erm": few}, run)
    n = (
        scores[scores["metric"] == "test_acc"]
        .groupby(["method", "selection"])["seed"]
        .nunique()
    )
    assert (n["ERM", POOLED], n["KerHRM", INFERRED], n["ref: majority", "none"]) == (
        2,
        3,
        3,
    )


def test_predictions_that_are_not_complete_are_refused(run: Path) -> None:
    path, arrays = run / "d/s,x=1/erm/predictions.npz", outputs(0, "model")
    for broken in (
        {n: a for n, a in arrays.items() if n != "model/test"},
        {n: a[:2] for n, a in arrays.items()},
        {n: np.repeat(a, 2, axis=1) for n, a in arrays.items()},
    ):
        save_arrays(path, broken)
        with pytest.raises(KerhrmError, match=r"erm.predictions\.npz"):
            score_table(table(), CELLS, run)
    path.unlink()
    with pytest.raises(KerhrmError, match="does not exist"):
        score_table(table(), CELLS, run)


def test_a_diverged_seed_has_a_reason_and_no_value(run: Path) -> None:
    arrays = outputs(0, "model")
    arrays["model/validation"][1, 0, 0] = math.nan  # no metric uses it
    save_arrays(run / "d/s,x=1/erm/predictions.npz", arrays)
    rows = score_table(table(), CELLS, run)
    rows = rows[rows["method"] == "ERM"]
    failed = rows["seed"] == SEEDS[1]
    assert rows.loc[failed, "value"].isna().all()
    assert set(rows.loc[failed, "reason"]) == {
        f"diverged: 1 of {sum(SIZES.values())} outputs are not finite"
    }
    assert rows.loc[~failed, "value"].notna().all()


@pytest.mark.parametrize("generator", ["colored_mnist", "classification"])
def test_iterations_have_rows_and_the_divergence(run: Path, generator: str) -> None:
    rng, n = np.random.default_rng(3), 3
    members = rng.dirichlet(np.ones(2), (S, 1, n, SIZES["train"]))
    arrays = outputs(1, "linear") | {
        "iterations/number": np.broadcast_to(np.arange(n), (S, 1, n)),
        "iterations/memberships": members,
        **{
            f"iterations/{p}": rng.standard_normal((S, 1, n, SIZES[p]))
            for p in ("train", "test")
        },
    }
    save_arrays(run / "d/s,x=1/kerhrm/predictions.npz", arrays)
    params = KERHRM | {"titles": {"linear": "Linear"}, "generator": generator}
    chosen = table("iterations", cells=[("d", "s,x=1", "kerhrm")])
    scores = score_table(chosen, {"d/s,x=1/kerhrm": params}, run)
    cells = scores.set_index(["setting", "metric", "seed"])["value"]
    coloured = generator == "colored_mnist"
    assert len(cells) == (2 * n + coloured * (n - 1)) * S
    y = labels("classification")
    for t in range(n):
        for b, seed in enumerate(SEEDS):
            for part in ("train", "test"):
                expected = accuracy(arrays[f"iterations/{part}"][b, 0, t], y[part][b])
                assert cells[f"iteration={t},x=1", f"{part}_acc", seed] == expected
        if coloured and t:
            expected = divergence(members[:, 0, t], y["train"], channels())
            found = [cells[f"iteration={t},x=1", "d_kl", seed] for seed in SEEDS]
            np.testing.assert_allclose(found, expected)


def test_closed_forms_have_a_row_per_seed(run: Path) -> None:
    known = {"generator": "classification", "options": {"r2": 0.8}}
    rows = score_table(
        table(), {name: cell | known for name, cell in CELLS.items()}, run
    )
    rows = rows[(rows["learner"] == "") & (rows["method"] != "ref: majority")]
    assert rows.set_index(["method", "metric", "seed"])["value"].to_dict() == {
        (name, metric, seed): value
        for name, values in closed_forms("classification", {"r2": 0.8}).items()
        for (environment, metric), value in values.items()
        for seed in SEEDS
        if not environment
    }


# tables

PAPER = {("t", "s", "ERM", "test_acc"): 0.7, ("t", "s", "KerHRM-s", "test_acc"): 0.6}
ROWS = [
    ("s", "erm", "ERM", POOLED),
    ("s", "erm", "ERM", "oracle"),
    ("s,H=I", "erm", "ERM", POOLED),
    ("s", "kerhrm", "KerHRM (first iteration)", INFERRED),
    ("s", "", "ref: majority", "none"),
]


def seeds_of(
    values: dict[str, list[float]] | None = None, source: str = "mnist"
) -> pd.DataFrame:
    rows = [
        ("d", setting, learner, method, seed, "test_acc", value, selection, source, "")
        for setting, learner, method, selection in ROWS
        for seed, value in enumerate(
            (values or {}).get(method, [0.70, 0.71, 0.69, 0.70])
        )
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def cell(
    cells: pd.DataFrame, setting: str, method: str, selection: str = POOLED
) -> pd.Series:
    here = (cells["setting"] == setting) & (cells["method"] == method)
    return cells[here & (cells["selection"] == selection)].iloc[0]


def test_cells_with_the_papers_values() -> None:
    cells = make_table(seeds_of(), "t", "", PAPER)
    assert list(cells.columns) == CELL_COLUMNS
    assert len(cells) == len(ROWS)
    own = cell(cells, "s", "ERM")
    assert (own["mean"], own["n_seeds"], own["paper"]) == (pytest.approx(0.7), 4, 0.7)
    assert (own["verdict"], own["reason"]) == ("", "")
    assert cell(cells, "s,H=I", "ERM")["paper"] == 0.7  # the paper does not name H
    other = cell(cells, "s", "ERM", "oracle")
    assert (other["verdict"], other["paper"]) == ("not comparable", 0.7)
    assert cell(cells, "s", "KerHRM (first iteration)", INFERRED)["paper"] == 0.6
    reference = cell(cells, "s", "ref: majority", "none")
    assert (reference["verdict"], math.isnan(reference["paper"])) == ("", True)


@pytest.mark.parametrize(
    ("mark", "source"), [("smoke sizes", "mnist"), ("", "fallback:digits")]
)
def test_other_sizes_and_fallback_data_are_not_compared(mark: str, source: str) -> None:
    cells = make_table(seeds_of(source=source), "t", mark, PAPER)
    assert cells["paper"].isna().all()
    assert set(cells["verdict"]) == {"", "not comparable"}


def test_a_single_seed_has_no_interval() -> None:
    cells = make_table(seeds_of({m: [0.7] for _, _, m, _ in ROWS}), "t", "", PAPER)
    assert cells[["std", "ci_low", "ci_high"]].isna().all(axis=None)


def test_a_failed_seed_fails_its_cell() -> None:
    scores = seeds_of({"ERM": [0.7, float("nan"), 0.7, 0.7]})
    found = cell(make_table(scores, "t", "", PAPER), "s", "ERM")
    assert (found["verdict"], found["reason"]) == ("failed", "no value (1 of 4 seeds)")
    assert math.isnan(found["mean"])


@pytest.mark.parametrize(
    "text", ["table1: {r2=0.70: {ERM: 3}}", "a: [", "- 1", "a: {b: {c: {d: x}}}"]
)
def test_malformed_values_of_the_paper_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "paper.yaml").write_text(text)
    with pytest.raises(KerhrmError, match=r"paper\.yaml"):
        load_paper_values(tmp_path / "paper.yaml")
