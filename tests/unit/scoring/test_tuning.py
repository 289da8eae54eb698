"""The search scores every candidate by the method's rule; the choice is configuration."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from kerhrm.config.resolve import resolve
from kerhrm.methods.dro.options import DRO
from kerhrm.methods.irm.options import IRM
from kerhrm.scoring.tuning import COLUMNS, best, save_choice, search
from kerhrm.storage.arrays import save_arrays

SHIPPED = Path(__file__).resolve().parents[3] / "config"
B, M = 2, 8
SETTINGS = ["r2=0.70", "r2=0.75"]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "dro": [DRO(rho=rho).model_dump(mode="json") for rho in (0.1, 0.5, 1.0)],
    "irm": [IRM(weight=weight).model_dump(mode="json") for weight in (1e3, 1e4)],
}
RULES = {"dro": "pooled validation", "irm": "worst validation environment"}


def hits(method: str, setting: str) -> np.ndarray:
    """How many of the points every seed's candidates get right, (B, C)."""
    table = {
        ("dro", "r2=0.70"): [[3, 5, 4], [4, 4, 4]],
        ("dro", "r2=0.75"): [[8, 7, 7], [5, 7, 8]],
        # only environment 0, the first half of the points, is ever missed
        ("irm", "r2=0.70"): [[8, 7], [8, 7]],
        ("irm", "r2=0.75"): [[4, 7], [7, 7]],
    }
    return np.array(table[method, setting])


def outputs(count: np.ndarray) -> np.ndarray:
    """(..., M) for labels of 1: the last ``count`` points are right."""
    return np.where(np.arange(M) >= M - count[..., None], 1.0, -1.0)


#: predictions by setting and method, data files by setting
Files = tuple[dict[tuple[str, str], Path], dict[str, dict[str, Path]]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """What `tune` leaves of two settings."""
    facts = {"task": "classification"}
    environment = np.stack([np.arange(M) // (M // 2)] * B)
    contents = {"validation": {"y": np.ones((B, M))}, "environments": {"validation": environment}}
    data = {s: {name: tmp_path / f"{s}-{name}" for name in contents} for s in SETTINGS}
    predictions = {(s, m): tmp_path / f"{s}-{m}" for m in OPTIONS for s in SETTINGS}
    for paths in data.values():
        for name, path in paths.items():
            save_arrays(path, contents[name], facts)
    for (setting, method), path in predictions.items():
        arrays = {"validation": outputs(hits(method, setting)), "test": np.zeros((B, 3, 1))}
        save_arrays(path, arrays, {"options": OPTIONS[method]})
    return predictions, data


def mean(method: str, setting: str, candidate: int) -> float:
    count = hits(method, setting)[:, candidate]
    if method == "irm":  # the worst environment is the one with all misses
        return float(np.mean((count - M / 2) / (M / 2)))
    return float(np.mean(count / M))


def test_a_row_a_method_setting_and_candidate(files: Files) -> None:
    scores = search(*files, RULES)
    assert list(scores.columns) == COLUMNS
    found = list(zip(scores["method"], scores["setting"], scores["candidate"], strict=True))
    assert found == [(m, s, c) for m in OPTIONS for s in SETTINGS for c in range(len(OPTIONS[m]))]
    assert set(scores["n_seeds"]) == {B}
    for row in scores.itertuples():
        assert row.rule == RULES[row.method]
        assert json.loads(row.options) == OPTIONS[row.method][row.candidate]
        assert row.score == pytest.approx(mean(row.method, row.setting, row.candidate))
    dro = scores[(scores["method"] == "dro") & (scores["setting"] == "r2=0.75")]
    spread = [abs(a - b) / M / 2**0.5 for a, b in hits("dro", "r2=0.75").T]
    np.testing.assert_allclose(dro["std"], spread)


def test_the_best_mean_over_settings_wins(files: Files) -> None:
    scores = search(*files, RULES)
    for method, options in OPTIONS.items():
        means = [np.mean([mean(method, s, c) for s in SETTINGS]) for c in range(len(options))]
        assert best(scores)[method] == options[int(np.argmax(means))]
    # neither candidate is the best in every setting
    assert best(scores) == {"dro": OPTIONS["dro"][1], "irm": OPTIONS["irm"][1]}


def test_an_oracle_looks_at_test_points_alone(tmp_path: Path) -> None:
    predictions = {(s, "dro"): tmp_path / s for s in SETTINGS}
    for path in predictions.values():
        test = np.stack([outputs(np.array([1, 2, 3]))] * B)
        save_arrays(path, {"test": test}, {"options": OPTIONS["dro"]})
    labels = {"test_labels": tmp_path / "test_labels"}  # which settings may share
    save_arrays(labels["test_labels"], {"y": np.ones((B, M))}, {"task": "classification"})
    scores = search(predictions, dict.fromkeys(SETTINGS, labels), {"dro": "oracle"})
    np.testing.assert_allclose(scores["score"], [1 / M, 2 / M, 3 / M] * 2)
    assert set(scores["rule"]) == {"oracle"}
    assert best(scores) == {"dro": OPTIONS["dro"][2]}


def rows(values: list[list[float]]) -> pd.DataFrame:
    """Scores of one method: settings x candidates."""
    return pd.DataFrame(
        [
            ("dro", "pooled validation", s, c, json.dumps(OPTIONS["dro"][c]), value, 0.0, 1)
            for s, setting in enumerate(values)
            for c, value in enumerate(setting)
        ],
        columns=COLUMNS,
    )


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
def test_equals_go_to_the_first_candidate(values: list[list[float]], winner: int) -> None:
    assert best(rows(values)) == {"dro": OPTIONS["dro"][winner]}


def test_the_order_of_the_rows_does_not_matter() -> None:
    scores = rows([[0.5, 0.75, 0.75], [0.5, 0.75, 0.75]])
    assert best(scores.iloc[::-1]) == best(scores) == {"dro": OPTIONS["dro"][1]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "config"))


@pytest.mark.parametrize("key", ["selected", "oracle"])
def test_a_choice_is_configuration(files: Files, folder: Path, key: str) -> None:
    """Read back by the next run, for this experiment alone."""
    shutil.rmtree(folder / "tuned", ignore_errors=True)
    before = resolve({}, folder).experiments
    scores = search(*files, RULES)
    name = "classification" if key == "selected" else "classification-oracle"
    choice, grid = folder / "tuned" / f"{name}.yaml", folder / "tuned" / f"{name}.csv"
    save_choice(scores, choice, grid, key)
    assert yaml.safe_load(choice.read_text()) == {
        m: {key: options} for m, options in best(scores).items()
    }
    after = resolve({}, folder).experiments
    for setting in after["classification"].settings.values():
        chosen = {m: getattr(getattr(setting.methods, m), key) for m in OPTIONS}
        assert chosen == {"dro": DRO(rho=0.5), "irm": IRM(weight=1e4)}
    assert after["regression"] == before["regression"]


def test_the_choice_tells_its_rules_and_the_whole_grid(files: Files, tmp_path: Path) -> None:
    scores = search(*files, RULES)
    save_choice(scores, tmp_path / "a.yaml", tmp_path / "a.csv", "selected")
    head = (tmp_path / "a.yaml").read_text().splitlines()[:2]
    assert all(line.startswith("# ") for line in head)
    assert all(rule in head[0] for rule in RULES.values())
    assert "a.csv" in head[1]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), scores)
