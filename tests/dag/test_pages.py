"""What people read: Markdown, LaTeX, notebooks and figures of the whole DAG."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from dagtools import Checkout
from expected import EXPERIMENTS, FIGURES, TABLES, of_table
from matplotlib import image

from kerhrm.methods.registry import is_headline
from kerhrm.reporting.paper import PRINTED_AS
from kerhrm.reporting.tables import METRIC_NAMES, is_stand_in, read_scores, read_table
from kerhrm.scoring.verdicts import JUDGED

pytestmark = pytest.mark.dag

STAND_IN = "stand-in:digits, not the real data"


@pytest.fixture(params=TABLES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def table(results: Path, name: str) -> pd.DataFrame:
    return read_table(results / "tables" / f"{name}.csv")


@pytest.fixture
def markdown(results: Path, name: str) -> str:
    return (results / "tables" / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture
def notebook(results: Path, name: str) -> nbformat.NotebookNode:
    return nbformat.read(results / "notebooks" / f"{name}.ipynb", as_version=4)


def test_titles(
    results: Path,
    table: pd.DataFrame,
    markdown: str,
    notebook: nbformat.NotebookNode,
    name: str,
) -> None:
    latex = (results / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    shown = [
        output["data"]["text/markdown"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/markdown" in output.get("data", {})
    ]
    heading = markdown.splitlines()[0]
    assert heading in {text.splitlines()[0] for text in shown}
    captions = re.findall(r"\\caption\{(.*)\}", latex)
    assert captions
    sources = [s for s in set(table["data_source"]) if is_stand_in(s)]
    parts = ["preset smoke", *sources]
    parts += [experiment.title for experiment in of_table(name).values()]
    for title in (heading, *captions):
        for part in parts:
            assert part in title
        assert ("stand-in" in title) == bool(sources)
    if name.startswith(("table", "figure")):
        number = f"{name[:-1].capitalize()} {name[-1]}: "
        assert number in heading
        assert not any(number in caption for caption in captions)  # LaTeX counts by itself


def test_markdown_shows_every_cell(table: pd.DataFrame, markdown: str) -> None:
    lines = markdown.splitlines()
    headers = {cell.strip() for line in lines for cell in line.split("|")[1:-1]}
    assert set(table["setting"]) <= headers
    for cell in table.to_dict("records"):
        own = is_headline(cell["method"], cell["selection"])
        row = cell["method"] if own else f"{cell['method']}, {cell['selection']}"
        spread = f" ± {cell['std']:.3f}" if cell["std"] > 1e-12 else ""
        text = f" {cell['mean']:.3f}{spread} "
        assert any(line.startswith(f"| {row} ") and text in line for line in lines), (row, text)
    for metric in set(table["metric"]):
        assert re.search(rf"\*\*{re.escape(METRIC_NAMES[metric])}\*\*", markdown, re.IGNORECASE)


def test_notebooks(
    results: Path, smoke: Checkout, notebook: nbformat.NotebookNode, name: str
) -> None:
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"display_data", "execute_result"}
    assert any("image/png" in output.data for output in outputs)
    text = (results / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert str(smoke.folder) not in text
    assert "papermill" not in notebook.metadata


@pytest.mark.parametrize("figure", FIGURES)
def test_figures(results: Path, figure: str) -> None:
    pixels = image.imread(results / "figures" / f"{figure}.png")
    assert min(pixels.shape[:2]) > 200
    assert np.ptp(pixels[..., :3]) > 0.5  # something is drawn
    document = (results / "figures" / f"{figure}.pdf").read_bytes()
    assert document.startswith(b"%PDF-")
    assert document.rstrip().endswith(b"%%EOF")


@pytest.fixture
def as_paper(checkout: Checkout, results: Path) -> Checkout:
    """The reporting end of preset paper on the smoke run's scores, Table 4 on a stand-in."""
    for kind in ("scores", "restarts", "choices"):
        folder = checkout.folder / "results" / "paper" / kind
        folder.mkdir(parents=True)
        for name in EXPERIMENTS:
            path = results / kind / f"{name}.csv"
            frame = read_scores([path]) if kind == "scores" else pd.read_csv(path)
            if kind == "scores" and name == "colored_mnist":
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
        read_table(folder / "tables" / f"{name}.csv") for name in ("table1", "table4")
    )
    beside = 0
    for cell in real.to_dict("records"):
        method = PRINTED_AS.get(cell["method"], cell["method"])
        of_setting = printed["table1"][cell["setting"].removesuffix(",H=I")]
        value = of_setting.get(method, {}).get(cell["metric"])
        assert (value is None) == pd.isna(cell["paper"]), cell
        if value is None:
            assert cell["verdict"] == ""
            continue
        assert cell["paper"] == value
        own = is_headline(cell["method"], cell["selection"])
        assert cell["verdict"] in (JUDGED if own else ["not comparable"])
        beside += 1
    assert beside > 10
    assert stand_in["paper"].isna().all()
    assert set(stand_in["verdict"]) <= {"", "not comparable"}
    for name, text in (("table1", False), ("table4", True)):
        path = folder / "tables" / f"{name}.md"
        title = path.read_text(encoding="utf-8").splitlines()[0]
        assert "preset" not in title
        assert (STAND_IN in title) == text
    assert STAND_IN in (folder / "notebooks/table4.ipynb").read_text()
