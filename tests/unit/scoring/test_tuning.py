"""The search scores every option set by every rule; the choices are configuration."""

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
from kerhrm.methods.kerhrm.options import Choice
from kerhrm.scoring.tuning import COLUMNS, best, configuration, edges, save_choice, search
from kerhrm.storage.arrays import save_arrays

SHIPPED = Path(__file__).resolve().parents[3] / "config"
B, M = 2, 8
SETTINGS = ["r2=0.70", "r2=0.75"]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "dro": [DRO(rho=rho).model_dump(mode="json") for rho in (0.1, 0.5, 1.0)],
    "irm": [IRM(weight=weight).model_dump(mode="json") for weight in (1e3, 1e4)],
}
POOLED, WORST = "pooled validation", "worst validation environment"
RULES = {"dro": [POOLED], "irm": [WORST, POOLED]}


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


#: predictions by setting, method and row, data files by setting
Files = tuple[dict[tuple[str, str, str], Path], dict[str, dict[str, Path]]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """What `tune` leaves of two settings."""
    facts = {"task": "classification"}
    environment = np.stack([np.arange(M) // (M // 2)] * B)
    contents = {"validation": {"y": np.ones((B, M))}, "environments": {"validation": environment}}
    data = {s: {name: tmp_path / f"{s}-{name}" for name in contents} for s in SETTINGS}
    predictions = {(s, m, m): tmp_path / f"{s}-{m}" for m in OPTIONS for s in SETTINGS}
    for paths in data.values():
        for name, path in paths.items():
            save_arrays(path, contents[name], facts)
    for (setting, method, _), path in predictions.items():
        arrays = {"validation": outputs(hits(method, setting)), "test": np.zeros((B, 3, 1))}
        save_arrays(path, arrays, {})
    return predictions, data


def mean(method: str, setting: str, candidate: int, rule: str) -> float:
    count = hits(method, setting)[:, candidate]
    if rule == WORST:  # the worst environment is the one with all misses
        return float(np.mean((count - M / 2) / (M / 2)))
    return float(np.mean(count / M))


def test_a_row_a_method_rule_setting_and_candidate(files: Files) -> None:
    scores = search(*files, OPTIONS)
    assert list(scores.columns) == COLUMNS
    keys = ["method", "setting", "rule", "candidate"]
    assert [tuple(row) for row in scores[keys].to_numpy()] == [
        (m, s, r, c) for m in OPTIONS for s in SETTINGS for r in RULES[m]
        for c in range(len(OPTIONS[m]))
    ]  # fmt: skip
    assert set(scores["n_seeds"]) == {B}
    for row in scores.itertuples():
        assert json.loads(row.options) == OPTIONS[row.method][row.candidate]
        expected = mean(row.method, row.setting, row.candidate, row.rule)
        assert row.score == pytest.approx(expected)
    dro = scores[(scores["method"] == "dro") & (scores["setting"] == "r2=0.75")]
    spread = [abs(a - b) / M / 2**0.5 for a, b in hits("dro", "r2=0.75").T]
    np.testing.assert_allclose(dro["std"], spread)


def test_the_best_mean_over_settings_wins(files: Files) -> None:
    found = best(search(*files, OPTIONS))
    for method, options in OPTIONS.items():
        for rule in RULES[method]:
            means = [
                np.mean([mean(method, s, c, rule) for s in SETTINGS]) for c in range(len(options))
            ]
            assert found[method][rule] == options[int(np.argmax(means))]
    # neither candidate is the best in every setting
    second = {
        "dro": {POOLED: OPTIONS["dro"][1]},
        "irm": dict.fromkeys(RULES["irm"], OPTIONS["irm"][1]),
    }
    assert found == second


def test_an_option_set_serves_both_rows_of_a_method(files: Files, tmp_path: Path) -> None:
    """Its score is the mean of both; training points count for the closed form alone."""
    data = files[1]["r2=0.70"] | {"train": tmp_path / "train"}
    save_arrays(data["train"], {"y": np.ones((B, M))}, {"task": "classification"})
    both, held_out = [[8, 0], [0, 8]], [[4, 6], [2, 8]]  # right of M, by row and option set
    predictions = {}
    for i, stem in enumerate(("kerhrm_grid", "kerhrm_grid-ntf")):
        counts = {"train": both[i], "validation": held_out[i]}
        arrays = {p: np.stack([outputs(np.array(c))] * B) for p, c in counts.items()}
        arrays["environments"] = np.ones((B, 2, 1, 2 * M))
        predictions["r2=0.70", "kerhrm_grid", stem] = tmp_path / f"{stem}.npz"
        save_arrays(tmp_path / f"{stem}.npz", arrays, {})
    sets = [Choice(k=k).model_dump() for k in (10, 20)]
    scores = search(predictions, {"r2=0.70": data}, {"kerhrm_grid": sets})
    found = {rule: list(part["score"]) for rule, part in scores.groupby("rule")}
    assert found[POOLED] == pytest.approx([(4 + 2) / 2 / M, (6 + 8) / 2 / M])
    learned = [(4 + (0 + 2) / 2) / 2 / M, (6 + (8 + 8) / 2) / 2 / M]
    assert found["worst learned environment"] == pytest.approx(learned)


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
    assert best(rows(values)) == {"dro": {POOLED: OPTIONS["dro"][winner]}}


def test_the_order_of_the_rows_does_not_matter() -> None:
    scores = rows([[0.5, 0.75, 0.75], [0.5, 0.75, 0.75]])
    expected = {"dro": {POOLED: OPTIONS["dro"][1]}}
    assert best(scores.iloc[::-1]) == best(scores) == expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "config"))


def test_a_choice_is_configuration(files: Files, folder: Path) -> None:
    """Read back by the next run, for this experiment alone."""
    shutil.rmtree(folder / "tuned", ignore_errors=True)
    before = resolve({}, folder).experiments
    scores = search(*files, OPTIONS)
    choice, grid = (folder / "tuned" / f"classification.{end}" for end in ("yaml", "csv"))
    save_choice(scores, choice, grid)
    after = resolve({}, folder).experiments
    for setting in after["classification"].settings.values():
        chosen = {m: getattr(setting.methods, m) for m in OPTIONS}
        assert chosen["dro"].selected == DRO(rho=0.5)
        assert chosen["dro"].rules == {}
        assert chosen["irm"].selected == IRM(weight=1e4)
        assert chosen["irm"].rules == {POOLED: IRM(weight=1e4)}
    assert after["regression"] == before["regression"]


def test_kerhrms_steps_take_over_what_was_chosen(folder: Path) -> None:
    own, other = Choice(k=20, alpha=10.0, penalty=1e4), Choice(k=10, alpha=0.0, penalty=10.0)
    chosen = {"worst learned environment": own.model_dump(), POOLED: other.model_dump()}
    text = yaml.safe_dump({**configuration({"kerhrm_grid": chosen})})
    (folder / "tuned" / "classification.yaml").write_text(text)
    experiments = resolve({}, folder).experiments
    for name in ("classification", "clusters"):
        for label, setting in experiments[name].settings.items():
            methods = setting.methods
            told = own.of(methods.per_seed)
            assert methods.kerhrm == told
            assert methods.kerhrm_grid.selected == own
            assert experiments[name].trained(label, "kerhrm_grid")[:2] == [own, other]
            first = experiments[name].choices(label, "kerhrm_grid")[0]
            assert first == told.model_dump(mode="json")


def test_numbers_at_an_end_are_told() -> None:
    """Of what was on trial with several values; a choice of words has no end."""
    sets = [{"rho": rho, "steps": 7, "loss": loss} for rho in (1, 2, 3) for loss in ("a", "b")]
    grid = pd.DataFrame({"method": "dro", "options": list(map(json.dumps, sets))})
    for rho, expected in ((1, ["dro.rho = 1 (x)"]), (2, []), (3, ["dro.rho = 3 (x)"])):
        assert edges(grid, {"dro": {"x": {"rho": rho, "steps": 7, "loss": "a"}}}) == expected


def test_the_choice_tells_its_edges_and_the_whole_grid(files: Files, tmp_path: Path) -> None:
    scores = search(*files, OPTIONS)
    save_choice(scores, tmp_path / "a.yaml", tmp_path / "a.csv")
    head = [line for line in (tmp_path / "a.yaml").read_text().splitlines() if line[0] == "#"]
    assert "a.csv" in head[1]
    assert [line for line in head if "irm.weight = 10000" in line]
    assert not [line for line in head if "dro.rho" in line]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), scores)
