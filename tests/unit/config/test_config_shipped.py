"""The configuration of this repository: every preset resolves, and says
what it should."""

import csv
import itertools
import json
import re
import runpy
from pathlib import Path

import pytest
import yaml

from kerhrm.methods.registry import METHODS
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.spelling import LONGEST, base_of, spell, unselected
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation.tables import PRINTED_AS

CONFIG = CHECKOUT / "config"
PRESET_FILES = (CONFIG / "presets").glob("*.yaml")
PRESETS = sorted(path.stem for path in PRESET_FILES)
HEADLINE = (
    "table1",
    "table2",
    "table3",
    "table4",
    "figure2",
    "figure3",
    "overshoot",
    "peers",
)


@pytest.fixture(scope="module", params=PRESETS)
def config(request: pytest.FixtureRequest) -> Config:
    return load_config({"preset": request.param})


@pytest.fixture(scope="module")
def paper() -> Config:
    return load_config({"preset": "paper"})


def cells(config: Config) -> list[tuple[str, str]]:
    """Data and learner of every row, and of what is trained for it."""
    every = []
    for table in config.tables.values():
        every += table.cells
        every += [(row.data, row.learner) for row in table.rows]
    for search in config.searches.values():
        every += search.cells
    return sorted({*every})


def test_every_cell_of_every_preset_has_parameters(config: Config) -> None:
    assert len(cells(config)) > 100
    for data, learner in cells(config):
        made = config.data(data)
        cell = config.learner(data, learner)
        assert 0 < cell.n_seeds <= len(made.seeds)
        params_of_jobs = (cell.params(), made.replication.params())
        for params in params_of_jobs:
            assert json.loads(json.dumps(params)) == params


def test_every_name_is_the_one_spelling_of_its_options(config: Config) -> None:
    resolver = config.resolved.resolver
    schemas = resolver.schemas
    for data, learner in cells(config):
        base, values = schemas.parse_data(data)
        schema = schemas.data_schema(base)
        assert spell(base, values, schema) == data
        base, values = schemas.parse_learner(learner)
        schema = schemas.learner_schema(base)
        assert spell(base, values, schema) == learner
        assert len(data) <= LONGEST
        assert len(learner) <= LONGEST


def test_what_a_table_shows_has_the_options_of_what_is_trained(config: Config) -> None:
    for table in config.tables.values():
        for row in table.rows:
            shown = config.learner(row.data, row.learner)
            trained = config.learner(row.data, row.trained)
            assert shown.options == trained.options
            assert trained.n_seeds >= shown.n_seeds


def test_criteria_are_compared_on_the_same_seeds(config: Config) -> None:
    for table in config.tables.values():
        numbers: dict[tuple[str, str], set[int]] = {}
        for row in table.rows:
            learner = config.learner(row.data, row.learner)
            cell = (row.data, unselected(row.learner))
            numbers.setdefault(cell, set()).add(learner.n_seeds)
        uneven = {cell: n for cell, n in numbers.items() if len(n) > 1}
        assert uneven == {}


def test_the_tables_of_the_paper_are_made_by_all(paper: Config) -> None:
    in_all = {name for name, table in paper.tables.items() if table.in_all}
    assert in_all == set(HEADLINE)


def test_the_tables_of_the_band_have_its_grid(paper: Config) -> None:
    """Every pair of constants, on the data of the paper's tables with ten seeds."""
    band = load_endpoints(CONFIG / "endpoints.yaml").band
    constants = band.grid.values()
    pairs = list(itertools.product(*constants))
    for table, name in band.tables.items():
        grid = paper.tables[name]
        expected = {
            (
                f"{row.data}+seeds=10",
                f"{row.learner}+alpha={alpha}+cosine_weight={weight}",
                f"{row.setting},alpha={alpha},cosine_weight={weight}",
            )
            for row in paper.tables[table].rows
            if band.method in row.titles.values()
            for alpha, weight in pairs
        }
        found = {(row.data, row.learner, row.setting) for row in grid.rows}
        assert found == expected
        titles = set()
        for row in grid.rows:
            titles |= set(row.titles.values())
        assert titles == {band.method}


def test_smoke_has_every_data_set_method_table_and_figure(paper: Config) -> None:
    smoke = load_config({"preset": "smoke"})
    in_all = {name for name, table in smoke.tables.items() if table.in_all}
    assert in_all == set(HEADLINE)
    assert set(paper.tables) <= set(smoke.tables)
    shown = [
        cell
        for name in (*in_all, "auxiliary", "mechanism")
        for cell in smoke.tables[name].cells
    ]
    learners = [smoke.learner(*cell) for cell in shown]
    assert {one.method for one in learners} == set(METHODS)
    drawn = set()
    for data, _ in cells(smoke):
        drawn.add(smoke.data(data).generator)
    assert drawn == set(DATA_SETS)  # a new one needs a table, of `all` or not
    assert max(one.n_seeds for one in learners) == 2


def test_fresh_seeds_are_nobody_elses(paper: Config) -> None:
    fresh = load_config({"preset": "fresh"})
    assert cells(fresh) == cells(paper)
    names_of_data = {data for data, _ in cells(paper)}
    for data in names_of_data:
        new = fresh.data(data).seeds
        old = paper.data(data).seeds
        for stream in ("data", "network", "clustering"):
            of_fresh = getattr(new, stream)
            of_paper = getattr(old, stream)
            assert min(of_fresh) >= 20000
            assert max(of_fresh) < 21000
            n_both = min(len(of_fresh), len(of_paper))
            shifted = [seed - 20000 for seed in of_fresh[:n_both]]
            assert shifted == list(of_paper[:n_both])


def test_every_method_is_tuned_with_eight_different_trainings() -> None:
    tuning = load_config({"preset": "tuning"})
    trainings: dict[tuple[str, str], list[str]] = {}
    for search in tuning.searches.values():
        for data, learner in search.cells:
            options = tuning.learner(data, learner).options
            key = (data, base_of(learner))
            tried = trainings.setdefault(key, [])
            tried.append(repr(options))
    for tried in trainings.values():
        assert len(tried) == 8
        assert len(set(tried)) == 8
    assert len(trainings) > 60


def test_what_was_selected_is_a_candidate_and_has_the_best_score(
    paper: Config,
) -> None:
    tuning = load_config({"preset": "tuning"})
    files = sorted((CONFIG / "selected").glob("*.yaml"))
    for path in files:
        chosen = yaml.safe_load(path.read_text())
        with path.with_suffix(".csv").open() as file:
            rows = list(csv.DictReader(file))
        search = tuning.searches[path.stem]
        tried = {name for _, name in search.cells}
        assert {row["learner"] for row in rows} == tried
        bases = {name.partition("+")[0] for name in tried}
        assert set(chosen) == bases
        for base, criteria in chosen.items():
            known = paper.resolved.resolver.schemas.criteria(base)
            assert {*criteria, "none"} == {*known}
            own = []
            for row in rows:
                base_of_row, _, _ = row["learner"].partition("+")
                if base_of_row == base:
                    own.append(row)
            for criterion, options in criteria.items():
                best = max(own, key=lambda row: float(row[criterion]))
                named = json.loads(best["options"])
                assert options.items() <= named.items(), (path.stem, base, criterion)
                _, of_name = tuning.resolved.resolver.schemas.parse_learner(
                    best["learner"]
                )
                assert of_name == named


def test_every_number_of_the_paper_has_its_cell(paper: Config) -> None:
    text = (CONFIG / "paper_values.yaml").read_text()
    printed = yaml.safe_load(text)
    count = 0
    for name, settings in printed.items():
        table = paper.tables[name]
        rows = {
            (row.setting, PRINTED_AS.get(title, title))
            for row in table.rows
            for title in row.titles.values()
        }
        for setting, methods in settings.items():
            if table.kind == "shift":  # its rows have environments in front of a comma
                environment, _, rest = setting.partition(",")
                assert re.fullmatch(r"[er]_test=0\.\d\d", environment)
                base = table.rows[0].setting.partition(",")[0]
                setting = f"{base},{rest}"
            for method, metrics in methods.items():
                assert (setting, method) in rows
                count += len(metrics)
    # EDNIL's paper has 15 of Colored MNIST, and 15 of incomes, which two tables show
    assert count == 161 + 15 + 2 * 15


def test_every_measured_choice_has_its_rows(paper: Config) -> None:
    assert len(paper.choices) > 30
    for effect in paper.choices:
        rows = paper.tables[effect.table].rows
        if effect.changed_data:
            assert effect.changed_data in {row.data for row in rows}, effect
        if effect.changed_learner:
            changed = (effect.data, effect.changed_learner)
            pairs = {(row.data, row.learner) for row in rows}
            assert changed in pairs, effect
        titles = set()
        for row in rows:
            titles |= set(row.titles.values())
        named = {effect.only, effect.title, effect.instead}
        assert named - {None} <= titles, effect


def test_the_reference_has_every_key_of_every_method(tmp_path: Path) -> None:
    script = runpy.run_path(str(CHECKOUT / "docs" / "reference.py"))
    text = script["reference"]()
    for name, method in METHODS.items():
        _, _, from_method = text.partition(f"### {name}\n")
        section, _, _ = from_method.partition("###")
        for key in method.options.model_fields:
            assert f"| `{key}` |" in section
