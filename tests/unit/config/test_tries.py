"""What is tried of a learner: a grid or candidates, of which the later place counts."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from refusals import refusal
from small_config import ERM, A, B, Load

from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.written import sources_of_run

GRID = {"grid": {"steps": [1, 2]}}
TRIED_OF_GRID = ["new+steps=1", "new+steps=2"]
CANDIDATES = {"candidates": [{"steps": 3}, {"learning_rate": 0.5}]}
TRIED = ["new+steps=3", "new+learning_rate=0.5"]
OTHERS = {"candidates": [{"steps": 7}]}
SHIPPED: dict[str, Any] = {
    "a grid": {"grid": {"learning_rate": [0.1, 0.2]}},
    "candidates": {"candidates": [{"steps": 8}, {"steps": 9}]},
    "a grid, and another at the data": {
        "grid": {"learning_rate": [0.1]},
        "at": {A: {"grid": {"steps": [5]}}},
    },
    "candidates, and others at the data": {**OTHERS, "at": {A: OTHERS}},
    "a grid, and candidates at the data": {**GRID, "at": {A: OTHERS}},
    "candidates, and a grid at the data": {**OTHERS, "at": {A: GRID}},
    "candidates at two conditions": {"at": {A: OTHERS, "made": OTHERS}},
}


def tried(config: Config, data: str = A) -> list[str]:
    """Candidates of the learner ``new``."""
    grids = config.resolved.resolver.grids
    return [*grids.candidates(config.data(data), "new")]


@pytest.mark.parametrize("shipped", SHIPPED)
@pytest.mark.parametrize("place", ["presets/paper.yaml", "config.yaml", "--config"])
def test_candidates_of_a_later_file_replace_all_that_was_tried(
    load: Load, shipped: str, place: str
) -> None:
    learner = {"learners": {"new": CANDIDATES}}
    changes: dict[str, Any] = {"learners.yaml": {"new": ERM | SHIPPED[shipped]}}
    if place == "--config":
        config = load(changes, **learner)
    else:
        config = load(changes | {place: learner})
    assert tried(config) == TRIED
    assert tried(config, B) == TRIED


@pytest.mark.parametrize("shipped", [name for name in SHIPPED if "a grid" not in name])
def test_a_grid_of_a_later_file_replaces_candidates(load: Load, shipped: str) -> None:
    changes = {"learners.yaml": {"new": ERM | SHIPPED[shipped]}}
    config = load(changes, learners={"new": GRID})
    assert tried(config) == TRIED_OF_GRID
    assert tried(config, B) == TRIED_OF_GRID


@pytest.mark.parametrize("shipped", SHIPPED)
def test_at_some_data_a_later_file_replaces_what_is_tried_there(
    load: Load, shipped: str
) -> None:
    changes = {"learners.yaml": {"new": ERM | SHIPPED[shipped]}}
    config = load(changes, learners={"new": {"at": {A: CANDIDATES}}})
    assert tried(config) == TRIED
    assert tried(config, B) == tried(load(changes), B)


def test_a_grid_at_some_data_replaces_candidates_there(load: Load) -> None:
    changes = {"learners.yaml": {"new": ERM | CANDIDATES}}
    config = load(changes, learners={"new": {"at": {A: GRID}}})
    assert tried(config) == TRIED_OF_GRID
    assert tried(config, B) == TRIED


@pytest.mark.parametrize("grid", [{}, {"learning_rate": None}])
def test_a_grid_that_leaves_options_out_leaves_candidates(
    load: Load, grid: dict[str, Any]
) -> None:
    changes = {"learners.yaml": {"new": ERM | SHIPPED["a grid"]}}
    config = load(changes, learners={"new": CANDIDATES | {"grid": grid}})
    assert tried(config) == TRIED


def test_of_further_files_the_last_one_counts(load: Load, tmp_path: Path) -> None:
    load({"learners.yaml": {"new": ERM | SHIPPED["a grid"]}})
    files = []
    for number, content in enumerate([GRID, CANDIDATES, {"at": {A: GRID}}]):
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump({"learners": {"new": content}}))
        files.append(file)
    config = load_config({}, files, tmp_path)
    assert tried(config) == TRIED_OF_GRID
    assert tried(config, B) == TRIED
    noted = sources_of_run("config.yaml", config.written).tree()
    assert noted["learners"]["new"] == config.written["learners"]["new"]


def test_one_file_gives_one_of_them(load: Load) -> None:
    new = {"new": ERM | GRID}
    with refusal("--config: learners.new: it has grid and candidates"):
        load({"learners.yaml": new}, learners={"new": GRID | CANDIDATES})
    both = {"at": {A: GRID | CANDIDATES}}
    with refusal(r"it has at made\+r2=0.7 a grid and candidates; delete one"):
        load({"learners.yaml": new}, learners={"new": both})


def test_the_users_candidates_are_tried_on_all_that_is_shipped() -> None:
    """Also where learners.yaml has others: of EIIL on two data sets."""
    candidates = [{"penalty_weight": 7.0}, {"penalty_weight": 8.0}]
    eiil = {"candidates": candidates}
    config = load_config(
        {"preset": "tuning", "learners": {"eiil": eiil}}, root=CHECKOUT
    )
    expected = {"eiil+penalty_weight=7.0", "eiil+penalty_weight=8.0"}
    n_searched = 0
    for search in config.searches.values():
        names = {name for _, name in search.cells if name.startswith("eiil")}
        assert names in (set(), expected)
        n_searched += bool(names)
    assert n_searched > 5
