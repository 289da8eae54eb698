"""From predictions on disk to rows of scores, and from these to tables."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.views import Row, TableView
from kerhrm_paper.evaluation.metrics import accuracy, divergence
from kerhrm_paper.evaluation.scores import COLUMNS, closed_forms, score_table
from kerhrm_paper.evaluation.tables import COLUMNS as CELL_COLUMNS
from kerhrm_paper.evaluation.tables import load_paper_values, make_table
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
    rng = np.random.default_rng(100)
    y = {part: rng.standard_normal((S, n)) for part, n in SIZES.items()}
    return {p: np.sign(a) for p, a in y.items()} if task == "classification" else y


def channels() -> np.ndarray:
    return np.random.default_rng(5).choice([0, 1], (S, SIZES["train"]))


def write_data(folder: Path, task: str) -> None:
    y = labels(task)
    facts = {
        "source": "synthetic",
        "task": task,
        "test_environments": ["a", "b"],
        "n_headline": 2,
    }
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


def outputs(seed: int, *names: str) -> dict[str, dict[str, np.ndarray]]:
    """Outputs (S, points) by name and part."""
    rng = np.random.default_rng(seed)
    return {
        name: {part: rng.standard_normal((S, n)) for part, n in SIZES.items()}
        for name in names
    }


def save_predictions(
    path: Path, made: dict[str, dict[str, np.ndarray]], **more: np.ndarray
) -> None:
    """What a job that trains writes."""
    n_seeds = len(next(iter(made.values()))["train"])
    units = [
        {
            "outputs": np.array([*made]),
            **{p: np.stack([one[p][s] for one in made.values()]) for p in SIZES},
            "chosen": np.array([], dtype=str),
            "choices": np.array([]),
            **{name: array[s] for name, array in more.items()},
        }
        for s in range(n_seeds)
    ]
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
    scores = score_table(table(), FACTS, N_SEEDS, run)
    assert list(scores.columns) == COLUMNS
    assert list(
        dict.fromkeys(zip(scores["method"], scores["selection"], strict=True))
    ) == [
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
    cells = scores.set_index(["learner", "method", "selection", "metric", "seed"])[
        "value"
    ]
    assert len(cells) == 9 * 4 * S
    assert not cells.index.has_duplicates
    y = labels("classification")["test"]
    own = outputs(1, "network", "linear")
    other = outputs(2, "network", "linear")
    for b, seed in enumerate(SEEDS):
        expected = accuracy(own["network"]["test"][b], y[b])
        assert cells["kerhrm", "KerHRM", INFERRED, "test_acc", seed] == expected
        # the predictions of another name with the same options
        expected = accuracy(other["linear"]["test"][b], y[b])
        named = "kerhrm+select=pooled"
        assert cells[named, "Linear", POOLED, "test_acc", seed] == expected


def test_tables_choose_outputs_and_labels(run: Path) -> None:
    rows = (
        replace(ROWS_OF_TABLE[0], setting="S"),
        replace(ROWS_OF_TABLE[1], setting="S,K=2", titles={"linear": "Linear"}),
    )
    chosen = table(rows=rows, labels={DATA: "S"})
    scores = score_table(chosen, FACTS, N_SEEDS, run)
    found = scores[["data", "setting", "learner", "method"]].drop_duplicates()
    assert [tuple(row) for row in found.to_numpy()] == [
        (DATA, "S", "erm", "ERM"),
        (DATA, "S,K=2", "kerhrm", "Linear"),
        (DATA, "S", "", "ref: majority"),
        (DATA, "S", "", "ref: invariant ceiling"),
    ]


@pytest.mark.parametrize("kind", ["mean_error", "period"])
def test_kinds_have_their_settings_and_constants(tmp_path: Path, kind: str) -> None:
    run = write(tmp_path, TASKS[kind])
    scores = score_table(table(kind), FACTS, N_SEEDS, run)
    settings = list(scores["setting"].unique())
    expected = {"mean_error": ["s,x=1"], "period": ["period=a,x=1", "period=b,x=1"]}
    assert settings == expected[kind]
    constant = {"mean_error": "predict zero", "period": "predict the mean"}
    assert f"ref: {constant[kind]}" in set(scores["method"])


def replicates_of(scores: pd.DataFrame) -> dict[tuple[str, str], int]:
    of = scores[scores["metric"] == "test_acc"].groupby(["method", "selection"])
    return of["seed"].nunique().to_dict()


def test_replicates_are_the_first_ones_of_the_data(run: Path) -> None:
    """A learner with fewer seeds than others; reference rows have all."""
    few = {part: a[:2] for part, a in outputs(0, "model")["model"].items()}
    save_predictions(run / DATA / "erm/predictions.npz", {"model": few})
    scores = score_table(table(), FACTS, N_SEEDS | {f"{DATA}/erm": 2}, run)
    n = replicates_of(scores)
    assert (n["ERM", POOLED], n["KerHRM", INFERRED]) == (2, 3)
    assert n["ref: majority", "none"] == 3


def test_a_table_may_show_the_first_replicates_alone(run: Path) -> None:
    whole = score_table(table(), FACTS, N_SEEDS, run)
    scores = score_table(table(n_seeds=2), FACTS, N_SEEDS, run)
    assert {*replicates_of(scores).values()} == {2}
    first = whole[whole["seed"].isin(SEEDS[:2])].reset_index(drop=True)
    pd.testing.assert_frame_equal(scores, first)


def test_predictions_that_are_not_complete_are_refused(run: Path) -> None:
    path = run / DATA / "erm/predictions.npz"
    made = outputs(0, "model")
    few = {"model": {part: array[:2] for part, array in made["model"].items()}}
    for broken in ({"other": made["model"]}, few):
        save_predictions(path, broken)
        with pytest.raises(KerhrmError, match=r"erm.predictions\.npz"):
            score_table(table(), FACTS, N_SEEDS, run)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(KerhrmError, match=r"erm.predictions\.npz is damaged"):
        score_table(table(), FACTS, N_SEEDS, run)
    path.unlink()
    with pytest.raises(KerhrmError, match="does not exist"):
        score_table(table(), FACTS, N_SEEDS, run)


def test_a_diverged_seed_has_a_reason_and_no_value(run: Path) -> None:
    made = outputs(0, "model")
    made["model"]["validation"][1, 0] = math.nan  # no metric uses it
    save_predictions(run / DATA / "erm/predictions.npz", made)
    rows = score_table(table(), FACTS, N_SEEDS, run)
    rows = rows[rows["method"] == "ERM"]
    failed = rows["seed"] == SEEDS[1]
    assert rows.loc[failed, "value"].isna().all()
    assert set(rows.loc[failed, "reason"]) == {
        f"diverged: 1 of {sum(SIZES.values())} outputs are not finite"
    }
    assert rows.loc[~failed, "value"].notna().all()


@pytest.mark.parametrize("generator", ["colored_mnist", "classification"])
def test_iterations_have_rows_and_the_divergence(run: Path, generator: str) -> None:
    rng = np.random.default_rng(3)
    n = 3
    members = rng.dirichlet(np.ones(2), (S, n, SIZES["train"]))
    after = {p: rng.standard_normal((S, n, SIZES[p])) for p in ("train", "test")}
    save_predictions(
        run / DATA / "kerhrm/predictions.npz",
        outputs(1, "linear"),
        iterations=np.broadcast_to(np.arange(n), (S, n)),
        iteration_train=after["train"],
        iteration_test=after["test"],
        iteration_memberships=members,
    )
    row = replace(ROWS_OF_TABLE[1], titles={"linear": "Linear"})
    facts = {DATA: FACTS[DATA] | {"generator": generator}}
    scores = score_table(table("iterations", rows=(row,)), facts, N_SEEDS, run)
    cells = scores.set_index(["setting", "metric", "seed"])["value"]
    coloured = generator == "colored_mnist"
    assert len(cells) == (2 * n + coloured * (n - 1)) * S
    y = labels("classification")
    for t in range(n):
        for b, seed in enumerate(SEEDS):
            for part in ("train", "test"):
                expected = accuracy(after[part][b, t], y[part][b])
                assert cells[f"iteration={t},x=1", f"{part}_acc", seed] == expected
        if coloured and t:
            expected = divergence(members[:, t], y["train"], channels())
            found = [cells[f"iteration={t},x=1", "d_kl", seed] for seed in SEEDS]
            np.testing.assert_allclose(found, expected)


def test_closed_forms_have_a_row_per_seed(run: Path) -> None:
    known = {"generator": "classification", "options": {"r2": 0.8}}
    rows = score_table(table(), {DATA: FACTS[DATA] | known}, N_SEEDS, run)
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
    "text", ["table1: {r2=0.7: {ERM: 3}}", "a: [", "- 1", "a: {b: {c: {d: x}}}"]
)
def test_malformed_values_of_the_paper_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "paper.yaml").write_text(text)
    with pytest.raises(KerhrmError, match=r"paper\.yaml"):
        load_paper_values(tmp_path / "paper.yaml")
