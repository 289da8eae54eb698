"""The configuration of this repository: every preset resolves, and says
what it should."""

import csv
import itertools
import json
import runpy
from pathlib import Path

import pytest
import yaml

from kerhrm.methods.registry import METHODS
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.spelling import LONGEST, base_of, spell
from kerhrm_paper.config.strict_yaml import read_yaml
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation.tables import PRINTED_AS

CONFIG = CHECKOUT / "config"
PRESETS = sorted(path.stem for path in (CONFIG / "presets").glob("*.yaml"))
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
    every = [cell for table in config.tables.values() for cell in table.cells]
    for table in config.tables.values():
        every += [(row.data, row.learner) for row in table.rows]
    for search in config.searches.values():
        every += search.cells
    return sorted({*every})


def test_every_cell_of_every_preset_has_parameters(config: Config) -> None:
    assert len(cells(config)) > 100
    for data, learner in cells(config):
        made, cell = config.data(data), config.learner(data, learner)
        assert 0 < cell.n_seeds <= len(made.seeds)
        for params in (cell.params(), made.replication.params()):
            assert json.loads(json.dumps(params)) == params


def test_every_name_is_the_one_spelling_of_its_options(config: Config) -> None:
    resolver = config.resolved.resolver
    for data, learner in cells(config):
        base, values = resolver.schemas.parse_data(data)
        assert spell(base, values, resolver.schemas.data_schema(base)) == data
        base, values = resolver.schemas.parse_learner(learner)
        assert spell(base, values, resolver.schemas.learner_schema(base)) == learner
        assert max(len(data), len(learner)) <= LONGEST


def test_what_a_table_shows_has_the_options_of_what_is_trained(config: Config) -> None:
    for table in config.tables.values():
        for row in table.rows:
            shown = config.learner(row.data, row.learner)
            trained = config.learner(row.data, row.trained)
            assert shown.options == trained.options
            assert trained.n_seeds >= shown.n_seeds


def test_the_tables_of_the_paper_are_made_by_all(paper: Config) -> None:
    assert {name for name, table in paper.tables.items() if table.in_all} == set(
        HEADLINE
    )


def test_the_tables_of_the_band_have_its_grid(paper: Config) -> None:
    """Every pair of constants, on the data of the paper's tables with ten seeds."""
    band = read_yaml(CONFIG / "endpoints.yaml")["band"]
    pairs = [*itertools.product(*band["grid"].values())]
    for table, name in band["tables"].items():
        grid = paper.tables[name]
        expected = {
            (
                f"{row.data}+seeds=10",
                f"{row.learner}+alpha={alpha}+cosine_weight={weight}",
                f"{row.setting},alpha={alpha},cosine_weight={weight}",
            )
            for row in paper.tables[table].rows
            if band["method"] in row.titles.values()
            for alpha, weight in pairs
        }
        found = {(row.data, row.learner, row.setting) for row in grid.rows}
        assert found == expected
        titles = {title for row in grid.rows for title in row.titles.values()}
        assert titles == {band["method"]}


def test_smoke_has_every_data_set_method_table_and_figure(paper: Config) -> None:
    smoke = load_config({"preset": "smoke"})
    in_all = {n for n, t in smoke.tables.items() if t.in_all}
    assert in_all == set(HEADLINE)
    assert set(paper.tables) <= set(smoke.tables)
    shown = [
        cell
        for name in (*in_all, "auxiliary", "mechanism")
        for cell in smoke.tables[name].cells
    ]
    learners = [smoke.learner(*cell) for cell in shown]
    assert {one.method for one in learners} == set(METHODS)
    drawn = {smoke.data(data).generator for data, _ in cells(smoke)}
    assert drawn == set(DATA_SETS)  # a new one needs a table, of `all` or not
    assert max(one.n_seeds for one in learners) == 2


def test_fresh_seeds_are_nobody_elses(paper: Config) -> None:
    fresh = load_config({"preset": "fresh"})
    assert cells(fresh) == cells(paper)
    for data in {data for data, _ in cells(paper)}:
        new, old = (one.data(data).seeds for one in (fresh, paper))
        for stream in ("data", "network", "clustering"):
            of_fresh, of_paper = getattr(new, stream), getattr(old, stream)
            assert min(of_fresh) >= 20000
            assert max(of_fresh) < 21000
            first = of_fresh[: len(of_paper)]
            assert [seed - 20000 for seed in first] == [*of_paper[: len(first)]]


def test_every_method_is_tuned_with_eight_different_trainings() -> None:
    tuning = load_config({"preset": "tuning"})
    trainings: dict[tuple[str, str], list[str]] = {}
    for search in tuning.searches.values():
        for data, learner in search.cells:
            options = tuning.learner(data, learner).options
            tried = trainings.setdefault((data, base_of(learner)), [])
            tried.append(repr(options))
    for tried in trainings.values():
        assert len(set(tried)) == len(tried) == 8
    assert len(trainings) > 60


def test_what_was_selected_is_a_candidate_and_has_the_best_score(
    paper: Config,
) -> None:
    tuning = load_config({"preset": "tuning"})
    for path in sorted((CONFIG / "selected").glob("*.yaml")):
        chosen = yaml.safe_load(path.read_text())
        with path.with_suffix(".csv").open() as file:
            rows = list(csv.DictReader(file))
        tried = {name for _, name in tuning.searches[path.stem].cells}
        assert {row["learner"] for row in rows} == tried
        assert {*chosen} == {name.partition("+")[0] for name in tried}
        for base, criteria in chosen.items():
            known = paper.resolved.resolver.schemas.criteria(base)
            assert {*criteria, "none"} == {*known}
            own = [row for row in rows if row["learner"].partition("+")[0] == base]
            for criterion, options in criteria.items():
                best = max(own, key=lambda row: float(row[criterion]))
                named = json.loads(best["options"])
                assert options.items() <= named.items(), (path.stem, base, criterion)
                _, of_name = tuning.resolved.resolver.schemas.parse_learner(
                    best["learner"]
                )
                assert of_name == named


def test_every_number_of_the_paper_has_its_cell(paper: Config) -> None:
    printed = yaml.safe_load((CONFIG / "paper_values.yaml").read_text())
    count = 0
    for name, settings in printed.items():
        rows = {
            (row.setting, PRINTED_AS.get(title, title))
            for row in paper.tables[name].rows
            for title in row.titles.values()
        }
        for setting, methods in settings.items():
            for method, metrics in methods.items():
                assert (setting, method) in rows
                count += len(metrics)
    assert count == 161


def test_every_measured_choice_has_its_rows(paper: Config) -> None:
    assert len(paper.choices) > 30
    for effect in paper.choices:
        rows = paper.tables[effect.table].rows
        if effect.changed_data:
            assert any(row.data == effect.changed_data for row in rows), effect
        if effect.changed_learner:
            changed = effect.data, effect.changed_learner
            assert any((row.data, row.learner) == changed for row in rows), effect
        titles = {title for row in rows for title in row.titles.values()}
        assert {effect.only, effect.title, effect.instead} - {None} <= titles, effect


def test_the_reference_has_every_key_of_every_method(tmp_path: Path) -> None:
    text = runpy.run_path(str(CHECKOUT / "docs" / "reference.py"))["reference"]()
    for name, method in METHODS.items():
        section = text.split(f"### {name}\n")[1].split("###")[0]
        assert all(f"| `{key}` |" in section for key in method.options.model_fields)
