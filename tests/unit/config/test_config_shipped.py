"""The configuration of this repository: every preset resolves, and says
what it should."""

import csv
import json
import runpy
from pathlib import Path

import pytest
import yaml

from kerhrm.methods.registry import METHODS
from kerhrm.paper.config import CHECKOUT, Config, load_config
from kerhrm.paper.data.registry import DATA_SETS
from kerhrm.paper.evaluation.tables import PRINTED_AS

CONFIG = CHECKOUT / "config"
PRESETS = sorted(path.stem for path in (CONFIG / "presets").glob("*.yaml"))
HEADLINE = ("table1", "table2", "table3", "table4", "figure2", "figure3")


@pytest.fixture(scope="module", params=PRESETS)
def config(request: pytest.FixtureRequest) -> Config:
    return load_config({"preset": request.param})


@pytest.fixture(scope="module")
def paper() -> Config:
    return load_config({"preset": "paper"})


def cells(config: Config) -> set[tuple[str, str, str]]:
    return {cell for table in config.tables.values() for cell in table.cells}


def test_every_cell_of_every_preset_has_parameters(config: Config) -> None:
    for cell in cells(config):
        params = config.params(*cell)
        base = config.params(*cell[:2])
        assert set(params["shown"].values()) <= set(range(len(params["candidates"])))
        assert params["replicates"] == base["replicates"][: len(params["replicates"])]
        assert json.loads(json.dumps(params)) == params


def test_the_tables_of_the_paper_are_made_by_all(paper: Config) -> None:
    assert {name for name, table in paper.tables.items() if table.in_all} == set(
        HEADLINE
    )


def test_smoke_has_every_data_set_method_table_and_figure(paper: Config) -> None:
    smoke = load_config({"preset": "smoke"})
    in_all = {n for n, t in smoke.tables.items() if t.in_all}
    assert in_all == set(HEADLINE)
    assert set(paper.tables) <= set(smoke.tables)
    params = [
        smoke.params(*c)
        for name in (*in_all, "auxiliary", "mechanism")
        for c in smoke.tables[name].cells
    ]
    assert {one["method"] for one in params} == set(METHODS)
    assert {one["generator"] for one in params} == set(DATA_SETS)
    assert max(len(one["replicates"]) for one in params) == 2


def test_fresh_seeds_are_nobody_elses(paper: Config) -> None:
    fresh = load_config({"preset": "fresh"})
    assert cells(fresh) == cells(paper)
    for data, setting in {cell[:2] for cell in cells(paper)}:
        new, old = (c.params(data, setting)["seeds"] for c in (fresh, paper))
        for stream, seeds in new.items():
            assert min(seeds) >= 3000
            n = len(old[stream])
            assert [seed - 3000 for seed in seeds[:n]] == old[stream]


def test_every_method_is_tuned_with_as_many_candidates() -> None:
    tuning = load_config({"preset": "tuning"})
    found = []
    for data in tuning.data_sets:
        search = tuning.tuning(data)
        for setting in search["settings"] if search else ():
            for learner in search["learners"]:
                found.append(len(tuning.params(data, setting, learner)["candidates"]))
    assert set(found) == {8}
    assert len(found) > 40


def test_what_was_selected_is_among_the_candidates_and_has_the_best_score(
    paper: Config,
) -> None:
    tuning = load_config({"preset": "tuning"})
    for path in sorted((CONFIG / "selected").glob("*.yaml")):
        chosen = yaml.safe_load(path.read_text())
        with path.with_suffix(".csv").open() as file:
            rows = list(csv.DictReader(file))
        search = tuning.tuning(path.stem)
        assert set(chosen) == set(search["learners"])
        for learner, criteria in chosen.items():
            possible = METHODS[paper_method(paper, path.stem, learner)].criteria
            assert set(criteria) == {*possible, "oracle"}
            own = [row for row in rows if row["learner"] == learner]
            tried = tuning.params(path.stem, search["settings"][0], learner)[
                "candidates"
            ]
            for criterion, options in criteria.items():
                best = max(own, key=lambda row: float(row[criterion]))
                assert json.loads(best["options"]) == options, (
                    path.stem,
                    learner,
                    criterion,
                )
                assert options.items() <= tried[int(best["candidate"])].items()


def paper_method(config: Config, data: str, learner: str) -> str:
    return config.params(data, config.tuning(data)["settings"][0], learner)["method"]


def test_every_number_of_the_paper_has_its_cell(paper: Config) -> None:
    printed = yaml.safe_load((CONFIG / "paper_values.yaml").read_text())
    count = 0
    for name, settings in printed.items():
        table = paper.tables[name]
        rows = {
            (table.label(*cell), PRINTED_AS.get(title, title))
            for cell in table.cells
            for title in paper.params(*cell)["titles"].values()
        }
        for setting, methods in settings.items():
            for method, metrics in methods.items():
                assert (setting, method) in rows
                count += len(metrics)
    assert count == 161


def test_every_measured_choice_has_its_rows(paper: Config) -> None:
    tables = [
        table for name, table in paper.tables.items() if name.startswith("choices_")
    ]
    labels = {(cell[0], table.label(*cell)) for table in tables for cell in table.cells}
    for name, alternatives in paper.choices.items():
        for one in alternatives:
            for data in () if one["title"] else one["where"]:
                assert any(
                    d == data and t.endswith(f",{one['name']}") for d, t in labels
                ), name


def test_the_reference_has_every_key_of_every_method(tmp_path: Path) -> None:
    text = runpy.run_path(str(CHECKOUT / "docs" / "reference.py"))["reference"]()
    for name, method in METHODS.items():
        section = text.split(f"### {name}\n")[1].split("###")[0]
        assert all(f"| `{key}` |" in section for key in method.options.model_fields)
