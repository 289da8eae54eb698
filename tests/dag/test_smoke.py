"""The whole DAG on tiny sizes keeps the contract that other work relies on."""

import itertools
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from dagtools import Checkout, Job

from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Config
from kerhrm.features.mlp import init_mlp
from kerhrm.features.ntf import load_ntf
from kerhrm.reporting.tables import METRIC_NAMES

pytestmark = pytest.mark.dag

HEADER = "table,setting,method,metric,mean,std,n_seeds,ci_low,ci_high,paper,data_source,selection"
METHODS = ["ERM", "KerHRM-s", "KerHRM (NTF)", "KerHRM (network)"]
# Methods of a table by the names that the configuration has for them, in the tables' order.
RUN = {"erm": METHODS[:1], "kerhrm": METHODS[1:3], "igd": METHODS[3:]}
METRICS = {
    "table1": ["train_acc", "test_acc"],
    "table3": ["mean_error", "std_error"],
    "table4": ["train_acc", "test_acc"],
}
EXPERIMENTS = {"table1": "classification", "table3": "regression", "table4": "colored_mnist"}
SOURCES = {
    "table1": {"synthetic"},
    "table3": {"synthetic"},
    "table4": {"mnist", "stand-in:digits"},
}
TABLES = list(EXPERIMENTS)
RESTARTS = ["setting", "iteration", "seed", "k", "n_starts", "n_label_split", "n_empty"]


@pytest.fixture(params=TABLES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def experiments(results: Path) -> dict[str, Any]:
    """The experiments' part of the resolved configuration."""
    return yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))["experiments"]


@pytest.fixture
def experiment(experiments: dict[str, Any], name: str) -> dict[str, Any]:
    return experiments[EXPERIMENTS[name]]


@pytest.fixture
def expected(experiment: dict[str, Any]) -> dict[str, list[str]]:
    """Methods by setting, as they have to appear."""
    return {
        setting: [method for key in options["run"] for method in RUN[key]]
        for setting, options in experiment["settings"].items()
    }


@pytest.fixture
def table(results: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(results / "tables" / f"{name}.csv")


@pytest.fixture
def scores(results: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(results / "scores" / f"{EXPERIMENTS[name]}.csv")


def test_the_copys_own_package_ran(smoke: Checkout) -> None:
    found = smoke.python("-c", "import kerhrm; print(kerhrm.__file__)").strip()
    assert Path(found).is_relative_to(smoke.folder)


def test_files_of_the_contract(results: Path) -> None:
    expected = ["config.yaml"]
    for table, experiment in EXPERIMENTS.items():
        expected += [f"tables/{table}.{suffix}" for suffix in ("csv", "md", "tex")]
        expected += [f"notebooks/{table}.ipynb"]
        expected += [f"scores/{experiment}.csv", f"restarts/{experiment}.csv"]
    assert [name for name in expected if not (results / name).is_file()] == []


def test_every_file_is_a_rules(results: Path, smoke: Checkout, dag: list[Job]) -> None:
    declared = {file for job in dag for file in job.output}
    declared |= {
        job.fields[key] for job in dag for key in ("log", "benchmark") if key in job.fields
    }
    found = {str(p.relative_to(smoke.folder)) for p in results.rglob("*") if p.is_file()}
    assert found == declared  # no temporary file is left, and nothing is written in secret


def test_every_job_has_log_benchmark_and_resources(smoke: Checkout, dag: list[Job]) -> None:
    working = [job for job in dag if job.output]
    assert len(working) > 50
    for key in ("log", "benchmark"):
        missing = {j.rule for j in working if not (smoke.folder / j.fields.get(key, "-")).is_file()}
        assert not missing, f"rules without {key}"
    unlimited = {
        job.rule
        for job in working
        if not re.search(r"\bmem_mb=.*\bruntime=|\bruntime=.*\bmem_mb=", job.fields["resources"])
    }
    assert not unlimited, "rules without mem_mb and runtime"


def test_logs_say_how_long_it_took_and_nothing_went_wrong(smoke: Checkout, dag: list[Job]) -> None:
    for job in dag:
        if job.output:
            log = (smoke.folder / job.fields["log"]).read_text(encoding="utf-8")
            assert re.search(rf" {job.rule}: computed in \d+\.\d+ s$", log, re.MULTILINE), job.name
            assert "error" not in log, job.name


def test_columns(results: Path, table: pd.DataFrame, name: str) -> None:
    text = (results / "tables" / f"{name}.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == HEADER
    assert set(table["table"]) == {name}
    assert not table.drop(columns="paper").isna().any(axis=None)
    assert not table.duplicated(["setting", "method", "metric", "selection"]).any()


def test_the_contracts_settings(experiments: dict[str, Any]) -> None:
    first, second = (experiments[EXPERIMENTS[table]] for table in ("table1", "table4"))
    assert list(first["settings"]) == ["r2=0.70", "r2=0.75", "r2=0.80"]
    assert list(second["settings"])[:2] == ["cmnist", "cmnist,k=extended"]
    for setting in (*first["settings"].values(), second["settings"]["cmnist"]):
        assert setting["run"] == ["erm", "kerhrm", "igd"]


def test_names(table: pd.DataFrame, name: str, expected: dict[str, list[str]]) -> None:
    assert list(dict.fromkeys(table["setting"])) == list(expected)
    assert list(dict.fromkeys(table["metric"])) == METRICS[name]
    assert len(set(table["data_source"])) == 1
    assert set(table["data_source"]) <= SOURCES[name]
    for (setting, _), rows in table.groupby(["setting", "metric"]):
        assert list(dict.fromkeys(rows["method"])) == expected[setting]


def test_selection_rules_and_the_bound(table: pd.DataFrame) -> None:
    for method, rows in table.groupby("method"):
        rules = set(rows["selection"])
        if method == "ERM":
            assert rules == {"pooled validation"}
        elif method == "KerHRM-s":
            assert rules == {"worst learned environment"}
        else:
            assert rules == {"worst learned environment", "pooled validation", "oracle"}
    test = table[table["metric"].isin(["test_acc", "mean_error"])].copy()
    test.loc[test["metric"] == "mean_error", "mean"] *= -1  # the larger the better
    test = test[test["method"].str.startswith("KerHRM (")]
    wide = test.pivot(index=["setting", "method"], columns="selection", values="mean")
    # The other rules' choices are among the candidates that the oracle has.
    assert (wide["oracle"] >= wide["worst learned environment"]).all()
    assert (wide["oracle"] >= wide["pooled validation"]).all()


def test_presets_numbers_are_compared_with_nothing(table: pd.DataFrame) -> None:
    assert table["paper"].isna().all()


def test_scores_have_every_seed(
    scores: pd.DataFrame, experiment: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    assert {"setting", "method", "seed", "metric", "value"} <= set(scores.columns)
    assert list(dict.fromkeys(scores["setting"])) == list(expected)
    assert experiment["seeds"] > 1
    accuracies = scores["metric"].isin(["train_acc", "test_acc"])
    assert scores.loc[accuracies, "value"].between(0, 1).all()
    assert (scores["value"] >= 0).all()
    for _, group in scores.groupby(["setting", "method", "metric", "selection"]):
        assert list(group["seed"]) == list(range(experiment["seeds"]))


def test_statistics_again(table: pd.DataFrame, scores: pd.DataFrame) -> None:
    keys = ["setting", "method", "metric", "selection", "data_source"]
    groups = dict(iter(scores.groupby(keys)))
    assert len(groups) == len(table)
    for row in table.to_dict("records"):
        values = groups[tuple(row[key] for key in keys)]["value"].to_numpy()
        n = len(values)
        mean = sum(values) / n
        # All n^n resamples instead of a few hundred random ones.
        means = [np.mean(drawn) for drawn in itertools.product(values, repeat=n)]
        low, high = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
        assert row["n_seeds"] == n
        assert row["mean"] == pytest.approx(mean, abs=1e-12)
        assert row["std"] == pytest.approx((sum((values - mean) ** 2) / (n - 1)) ** 0.5, abs=1e-12)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=1e-12)
    assert (table["std"] > 0).any()  # otherwise ddof would not matter


def test_scores_are_those_of_the_predictions(
    results: Path,
    scores: pd.DataFrame,
    name: str,
    experiment: dict[str, Any],
    expected: dict[str, list[str]],
) -> None:
    stems = {
        "ERM": "erm",
        "KerHRM-s": "kerhrm-s",
        "KerHRM (NTF)": "kerhrm-ntf",
        "KerHRM (network)": "kerhrm-network",
    }
    # The headline rows come first, before those of the other selection rules.
    own = scores.drop_duplicates(["setting", "method", "seed", "metric"])
    assert len(own) == sum(map(len, expected.values())) * experiment["seeds"] * len(METRICS[name])
    for setting, method, seed, metric, value in own.iloc[:, :5].itertuples(index=False):
        folder = results / EXPERIMENTS[name] / setting
        part = "train" if metric == "train_acc" else "test"
        labels = np.load(folder / "data" / {"train": "train.npz", "test": "test_labels.npz"}[part])
        truth = labels["y"][seed]
        predicted = np.load(folder / "predictions" / f"{stems[method]}.npz")[part][seed]
        assert value == pytest.approx(score_again(metric, predicted, truth, labels), rel=1e-6)


def score_again(metric: str, predicted: np.ndarray, truth: np.ndarray, labels: Any) -> float:
    """A metric of one seed, by the paper's formula."""
    if metric.endswith("_acc"):
        return float(((predicted > 0) == (truth > 0)).mean())
    where = labels["environment"][0]
    difference = predicted.astype(float) - truth
    errors = [np.mean(difference[where == e] ** 2) for e in range(where.max() + 1)]
    mean = sum(errors) / len(errors)
    if metric == "mean_error":
        return float(mean)
    return float((sum((e - mean) ** 2 for e in errors) / (len(errors) - 1)) ** 0.5)


def test_restarts_are_reported(results: Path, name: str, experiment: dict[str, Any]) -> None:
    report = pd.read_csv(results / "restarts" / f"{EXPERIMENTS[name]}.csv")
    assert list(report.columns[: len(RESTARTS)]) == RESTARTS
    assert list(dict.fromkeys(report["setting"])) == list(experiment["settings"])
    for kind in ("n_label_split", "n_empty", "n_unconverged"):
        assert report[kind].between(0, report["n_starts"]).all()
    for setting, rows in report.groupby("setting"):
        options = experiment["settings"][setting]["methods"]["kerhrm"]
        clustering = options["clustering"]
        assert set(rows["n_starts"]) == {clustering["restarts"] * len(clustering["ridge"])}
        # The first iteration tries every k, later ones keep one for each seed.
        tried = {t: set(here.groupby("seed").size()) for t, here in rows.groupby("iteration")}
        assert tried == {
            t: {len(options["k"]) if t == 1 else 1} for t in range(1, options["iterations"] + 1)
        }


def heading(table: pd.DataFrame) -> list[str]:
    """What a title has to name besides the table."""
    sources = [s for s in set(table["data_source"]) if s.startswith("stand-in:")]
    return ["preset smoke", *sources]


def test_titles(results: Path, table: pd.DataFrame, name: str) -> None:
    notebook = nbformat.read(results / "notebooks" / f"{name}.ipynb", as_version=4)
    shown = [
        output["data"]["text/markdown"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/markdown" in output.get("data", {})
    ]
    markdown = (results / "tables" / f"{name}.md").read_text(encoding="utf-8")
    latex = (results / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    titles = [
        markdown.splitlines()[0],
        shown[0].splitlines()[0],
        re.search(r"\\caption\{([^.]*)\.", latex)[1],  # type: ignore[index]
    ]
    assert titles[0] == titles[1]
    for title in titles:
        assert f"Table {name[-1]}" in title
        for part in heading(table):
            assert part in title
        assert ("stand-in" in title) == any("stand-in" in part for part in heading(table))


def test_markdown_shows_every_cell(
    results: Path, table: pd.DataFrame, name: str, expected: dict[str, list[str]]
) -> None:
    text = (results / "tables" / f"{name}.md").read_text(encoding="utf-8")
    for mean, std in zip(table["mean"], table["std"], strict=True):
        assert f"{mean:.3f} ± {std:.3f}" in text
    for setting in expected:
        for metric in METRICS[name]:
            assert f"{setting} {METRIC_NAMES[metric]}" in text


def environments_of(latex: str) -> list[str]:
    """Environments in the order of their beginnings; fails unless they nest."""
    order, stack = [], []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", latex):
        if kind == "begin":
            order.append(name)
            stack.append(name)
        else:
            assert stack, f"\\end{{{name}}} without a beginning"
            assert stack.pop() == name
    assert not stack
    return order


def width(row: str) -> int:
    """Columns that a row of a tabular fills."""
    cells = re.split(r"(?<!\\)&", row)
    spans = [re.match(r"\s*\\multicolumn\{(\d+)\}", cell) for cell in cells]
    return sum(int(span[1]) if span else 1 for span in spans)


def test_latex_is_well_formed(results: Path, name: str, expected: dict[str, list[str]]) -> None:
    latex = (results / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    assert environments_of(latex) == ["table", "tabular"]
    assert latex.isascii()
    bare = re.sub(r"\\.", "", latex)  # without escaped characters
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[%#~]", bare)
    assert "_" not in re.sub(r"\$[^$]*\$", "", bare)
    tabular = re.search(r"\\begin\{tabular\}\{([lrc]+)\}\n(.*)\\end\{tabular\}", latex, re.DOTALL)
    assert tabular
    columns, body = tabular[1], tabular[2].splitlines()
    rules = [line for line in body if re.fullmatch(r"\\\w+", line)]
    assert rules == ["\\toprule", "\\midrule", "\\bottomrule"]
    assert (body[0], body[-1]) == (rules[0], rules[2])
    rows = [line for line in body if line not in rules]
    assert all(row.endswith("\\\\") for row in rows)
    assert {width(row) for row in rows} == {len(columns)} == {1 + 2 * len(expected)}
    assert sum(row.startswith(tuple(METHODS)) for row in rows) == len(rows) - 2
    assert r"\label{tab:" + name in latex
    assert latex.index(r"\caption{") < latex.index(r"\begin{tabular}")


def test_the_latex_check_sees_faults() -> None:
    assert environments_of(r"\begin{a}\begin{b}\end{b}\end{a}") == ["a", "b"]
    for broken in (r"\begin{a}", r"\end{a}", r"\begin{a}\begin{b}\end{a}\end{b}"):
        with pytest.raises(AssertionError):
            environments_of(broken)
    assert width(r" & \multicolumn{2}{c}{a \& b} & c \\") == 4


def test_notebooks(results: Path, smoke: Checkout, name: str) -> None:
    path = results / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"display_data", "execute_result"}
    assert any("image/png" in output.data for output in outputs)
    text = path.read_text(encoding="utf-8")
    assert str(smoke.folder) not in text
    assert "papermill" not in notebook.metadata


def test_resolved_configuration(results: Path, smoke: Checkout) -> None:
    content = yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))
    config = Config.model_validate(content)
    assert config.plain() == content
    assert config == resolve({"preset": "smoke"}, smoke.folder / "config")
    # It is whole: every field of every section is spelled out.
    kerhrm = content["experiments"]["classification"]["settings"]["r2=0.70"]["methods"]["kerhrm"]
    assert kerhrm["clustering"]["max_label_information"] == 0.5


def test_arrays_need_no_pickle(results: Path) -> None:
    files = list(results.rglob("*.npz"))
    assert len(files) > 50
    for path in files:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}  # unpickling would fail here
        assert arrays
        for key, array in arrays.items():
            if array.dtype.kind == "f":
                assert np.isfinite(array).all(), (path, key)


def test_features_on_disk_are_the_gradients(results: Path, smoke: Checkout) -> None:
    folder = results / "classification" / "r2=0.75"
    x = torch.from_numpy(np.load(folder / "data" / "test_inputs.npz")["x"])
    ntf, f0 = load_ntf(folder / "ntf" / "test.npz")
    network = init_mlp(range(len(x)), (x.shape[-1], 64, 1))
    some = torch.tensor([0, 7, x.shape[1] - 1])
    rows = ntf.rows(some)
    for seed in range(len(x)):
        parameters = [
            t[seed].clone().requires_grad_(True)
            for pair in zip(network.weights, network.biases, strict=True)
            for t in pair
        ]
        w0, b0, w1, b1 = parameters
        for row, i in zip(rows[seed], some.tolist(), strict=True):
            output = (w1 @ torch.relu(w0 @ x[seed, i] + b0) + b1).squeeze()
            gradient = torch.autograd.grad(output, parameters)
            expected = torch.cat([g.flatten() for g in gradient])
            torch.testing.assert_close(row, expected, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(f0[seed, i], output, rtol=1e-5, atol=1e-6)


@pytest.fixture
def as_paper(checkout: Checkout, results: Path) -> Checkout:
    """The reporting end of preset paper on the smoke run's scores, Table 4 on a stand-in."""
    for kind in ("scores", "restarts"):
        folder = checkout.folder / "results" / "paper" / kind
        folder.mkdir(parents=True)
        for path in (results / kind).glob("*.csv"):
            frame = pd.read_csv(path)
            if "data_source" in frame and path.stem == "colored_mnist":
                frame["data_source"] = "stand-in:digits"
            frame.to_csv(folder / path.name, index=False)
    return checkout


def test_paper_values_only_beside_real_data(as_paper: Checkout) -> None:
    folder = as_paper.folder / "results" / "paper"
    as_paper.run(
        "results/paper/notebooks/table4.ipynb",
        "results/paper/tables/table1.csv",
        "--allowed-rules",
        "summarise",
        "render_notebook",
    )
    printed = yaml.safe_load((as_paper.folder / "config" / "paper_values.yaml").read_text())
    real, stand_in = (
        pd.read_csv(folder / "tables" / f"{name}.csv") for name in ("table1", "table4")
    )
    for setting, method, metric, value in real[["setting", "method", "metric", "paper"]].itertuples(
        index=False
    ):
        name = "KerHRM" if method.startswith("KerHRM (") else method
        assert value == printed["table1"][setting][name][metric]
    assert stand_in["paper"].isna().all()
    real_title, stand_in_title = (
        (folder / "tables" / f"{name}.md").read_text(encoding="utf-8").splitlines()[0]
        for name in ("table1", "table4")
    )
    assert "preset" not in real_title
    assert "stand-in" not in real_title
    assert "stand-in:digits, not the real data" in stand_in_title
    assert "stand-in:digits, not the real data" in (folder / "notebooks/table4.ipynb").read_text()
