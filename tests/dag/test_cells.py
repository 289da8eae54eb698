"""Every cell of every table, again, from the configuration, the predictions and the labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from expected import (
    EXPERIMENTS,
    METRICS,
    TABLES,
    cells,
    chosen,
    of_table,
    place,
    rows,
    searched,
    stage_of,
)

from kerhrm.config.schema import Experiment
from kerhrm.methods.registry import METHODS, NONE, ORACLE, ROWS
from kerhrm.reporting.tables import COLUMNS, read_scores, read_table
from kerhrm.storage.arrays import load_arrays

pytestmark = pytest.mark.dag

KEYS = ["setting", "method", "selection", "metric"]
SOURCES = {
    "classification": {"synthetic"},
    "regression": {"synthetic"},
    "colored_mnist": {"mnist", "stand-in:digits"},
    "houses": {"king_county", "stand-in:simulated-houses"},
}
#: the larger the better
MERIT = {"test_acc": 1, "mean_error": -1}
COUNTS = ["n_label_split", "n_empty", "n_unconverged"]
SCORED = [name for name, e in EXPERIMENTS.items() if e.table != "figure2"]


@pytest.fixture(params=TABLES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def table(results: Path, name: str) -> pd.DataFrame:
    return read_table(results / "tables" / f"{name}.csv")


@pytest.fixture
def scores(results: Path, name: str) -> pd.DataFrame:
    return read_scores(results / "scores" / f"{experiment}.csv" for experiment in of_table(name))


def test_columns(results: Path, table: pd.DataFrame, name: str) -> None:
    text = (results / "tables" / f"{name}.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert set(table["table"]) == {name}
    tests = ["paper", "p_agrees", "p_differs", "margins"]  # of which a preset has none
    assert not table.drop(columns=tests).isna().any(axis=None)


def test_every_cell_is_there_once(table: pd.DataFrame, name: str) -> None:
    found = list(table[KEYS].itertuples(index=False, name=None))
    assert len(found) == len(set(found))
    assert set(found) == cells(name)


def test_settings_come_in_the_order_of_the_configuration(table: pd.DataFrame, name: str) -> None:
    found = list(dict.fromkeys(table["setting"]))
    if all(s in found for e in of_table(name).values() for s in e.settings):
        assert found == [s for e in of_table(name).values() for s in e.settings]
    else:  # periods or iterations, whose names sort
        assert found == sorted(found)


def test_tracks_and_sources(table: pd.DataFrame, name: str) -> None:
    by_title = {method.title: method for method in ROWS.values()}
    assert list(table["track"]) == [by_title[method].track for method in table["method"]]
    generators = {s.data.generator for e in of_table(name).values() for s in e.settings.values()}
    assert len(set(table["data_source"])) == 1
    assert set(table["data_source"]) <= set.union(*(SOURCES[g] for g in generators))


def test_a_presets_numbers_are_compared_with_nothing(table: pd.DataFrame) -> None:
    assert table["paper"].isna().all()
    assert set(table["verdict"]) <= {"", "not comparable"}
    assert set(table["reason"]) <= {"", "preset smoke"}


@pytest.mark.parametrize("name", ["table1", "table3", "table4"], indirect=True)
def test_the_oracle_is_a_bound(table: pd.DataFrame, name: str) -> None:
    """All other rules' choices are among the option sets that it has.

    KerHRM's own rows are not: what its steps are told, a preset may tell otherwise.
    """
    alone = {row.title: row.rule for row in ROWS.values() if not row.chosen}
    own = table["method"].map(alone) == table["selection"]
    test = table[table["metric"].isin(MERIT) & ~own]
    merit = test["mean"] * test["metric"].map(MERIT)
    wide = test.assign(merit=merit).pivot(
        index=["setting", "method"], columns="selection", values="merit"
    )
    bound = wide[wide[ORACLE].notna()]
    expected = {
        (label, title)
        for experiment in of_table(name).values()
        for label in experiment.settings
        for title, rule in rows(experiment, label)
        if rule == ORACLE
    }
    assert set(bound.index) == expected
    assert len(bound) > 1
    compared = bound.drop(columns=ORACLE)
    assert compared.notna().any(axis=None)
    for rule in compared:
        values = compared[rule].dropna()
        assert (bound.loc[values.index, ORACLE] >= values).all()


def test_scores_have_every_seed(scores: pd.DataFrame, name: str) -> None:
    (seeds,) = {tuple(e.seeds.names) for e in of_table(name).values()}
    assert len(seeds) > 1
    for _, group in scores.groupby(KEYS):
        assert tuple(group["seed"]) == seeds
    accuracies = scores["metric"].str.endswith("_acc")
    assert scores.loc[accuracies, "value"].between(0, 1).all()
    gaps = scores["metric"] == "generalisation_gap"
    assert scores.loc[gaps, "value"].between(-1, 1).all()
    assert (scores.loc[~gaps, "value"] >= 0).all()


def test_statistics_again(table: pd.DataFrame, scores: pd.DataFrame) -> None:
    groups = dict(iter(scores.groupby(KEYS)))
    assert len(groups) == len(table)
    for row in table.to_dict("records"):
        values = groups[tuple(row[key] for key in KEYS)]["value"].to_numpy()
        n = len(values)
        mean = sum(values) / n
        assert row["n_seeds"] == n
        assert row["mean"] == pytest.approx(mean, abs=1e-12)
        assert row["std"] == pytest.approx((sum((values - mean) ** 2) / (n - 1)) ** 0.5, abs=1e-12)
        half = scipy.stats.t.ppf(0.975, n - 1) * row["std"] / n**0.5
        ends = mean - half, mean + half
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends, abs=1e-9)
    assert (table["std"] > 0).any()  # otherwise ddof would not matter


def values_again(
    protocol: str, outputs: dict[str, np.ndarray], folder: Path, seed: int
) -> dict[tuple[str, str], float]:
    """Metrics of one seed by the paper's formulas, by (test environment or "", metric)."""
    labels, _ = load_arrays(folder / "test_labels.npz")
    train, facts = load_arrays(folder / "train.npz")
    if protocol == "accuracy":
        before, after = (
            float(((outputs[part][seed] > 0) == (y[seed] > 0)).mean())
            for part, y in (("train", train["y"]), ("test", labels["y"]))
        )
        values = dict(zip(METRICS[protocol], (before, after, after - before), strict=True))
        return {("", metric): value for metric, value in values.items()}
    where = labels["environment"][seed]
    squares = (outputs["test"][seed].astype(float) - labels["y"][seed]) ** 2
    unit = float(labels["unit"][seed]) ** 2  # of training prices, in that of all houses
    errors = [unit * float(np.mean(squares[where == e])) for e in range(where.max() + 1)]
    if protocol == "period":
        return {(n, "mse"): e for n, e in zip(facts["test_environments"], errors, strict=True)}
    mean = sum(errors) / len(errors)
    spread = (sum((e - mean) ** 2 for e in errors) / (len(errors) - 1)) ** 0.5
    return {("", "mean_error"): mean, ("", "std_error"): spread}


@pytest.mark.parametrize("experiment", SCORED)
def test_scores_are_those_of_the_predictions(results: Path, experiment: str) -> None:
    options = EXPERIMENTS[experiment]
    seeds = options.seeds.names
    scores = read_scores([results / "scores" / f"{experiment}.csv"])
    found: dict[tuple[Any, ...], float] = scores.set_index([*KEYS, "seed"])["value"].to_dict()
    checked = 0
    for label, setting in options.settings.items():
        data = results / place(experiment, label, "data") / "data"
        for name in setting.run:
            for row in METHODS[name].rows:
                made = results / place(experiment, label, stage_of(row.stem)) / "predictions"
                outputs, facts = load_arrays(made / f"{row.stem}.npz")
                for rule, number in numbers(options, label, name, outputs, facts, data).items():
                    if rule == row.rule and not row.chosen:
                        continue
                    # methods of one job keep an axis of option sets
                    one = (
                        outputs if number is None else {p: a[:, number] for p, a in outputs.items()}
                    )
                    for seed, called in enumerate(seeds):
                        again = values_again(options.protocol, one, data, seed)
                        for (where, metric), value in again.items():
                            mark = "".join(label.partition(",")[1:])
                            column = f"period={where}{mark}" if where else label
                            cell = (column, row.title, rule, metric, called)
                            assert found.pop(cell) == pytest.approx(value, rel=1e-6, abs=1e-9), cell
                            checked += 1
    assert checked >= len(seeds) * len(options.settings) * len(METRICS[options.protocol])
    # nothing else is there but what no method has learned
    assert {(method, rule) for _, method, rule, *_ in found} <= {
        (row.title, NONE) for row in ROWS.values()
    }


def numbers(
    experiment: Experiment,
    label: str,
    method: str,
    outputs: dict[str, np.ndarray],
    facts: dict[str, Any],
    data: Path,
) -> dict[str, int | None]:
    """By selection rule the number of its option set in a file of predictions."""
    sets = chosen(experiment, label, method)
    if outputs["test"].ndim == 2:
        return dict.fromkeys(sets)
    told = experiment.settings[label].option_sets(method, sets.values())
    found: dict[str, int | None] = {
        rule: facts["options"].index(one) for rule, one in zip(sets, told, strict=True)
    }
    assert next(iter(found.values())) == 0
    if METHODS[method].grid and searched(experiment, label):
        assert len(facts["options"]) >= experiment.budget
        labels, _ = load_arrays(data / "test_labels.npz")
        y, f = labels["y"][:, None], outputs["test"].astype(float)
        hits = (f > 0) == (y > 0) if experiment.protocol == "accuracy" else -((f - y) ** 2)
        found[ORACLE] = int(hits.mean(-1).mean(0).argmax())
    return found


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_restarts_are_reported(results: Path, experiment: str) -> None:
    report = pd.read_csv(results / "restarts" / f"{experiment}.csv")
    settings = {n: s for n, s in EXPERIMENTS[experiment].settings.items() if "kerhrm" in s.run}
    assert list(dict.fromkeys(report["setting"])) == list(settings)
    for kind in COUNTS:
        assert report[kind].between(0, report["n_starts"]).all()
    for setting, group in report.groupby("setting"):
        options = settings[str(setting)].methods.kerhrm
        clustering = options.clustering
        assert set(group["n_starts"]) == {clustering.restarts * len(clustering.ridge)}
        # The first iteration tries every k, later ones keep one for each seed.
        tried = {t: set(here.groupby("seed").size()) for t, here in group.groupby("iteration")}
        assert tried == {
            t: {len(options.k) if t == 1 else 1} for t in range(1, options.iterations + 1)
        }
