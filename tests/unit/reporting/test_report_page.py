"""The page of a run: what it says of other sizes, stand-ins, agreement and options."""

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml

from kerhrm_paper.config.config import load_config
from kerhrm_paper.evaluation.tables import AUTHORS_CODE
from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance

ROOT = Path(__file__).parents[3]
REPORT = ROOT / "notebooks" / f"{'report'}.ipynb"
TABLE = ROOT / "notebooks" / f"{'table'}.ipynb"
FINDING = "100% reach 0.70, 0% stay below 0.50."
OF_PUBLISHED = "The published run: equal weights of a clean split"
Make = Callable[..., Path]


def text(page: Path) -> str:
    """What a page shows, without tags."""
    without_tags = re.sub(r"<[^>]+>", " ", page.read_text())
    return " ".join(without_tags.split())


@pytest.fixture
def configured(make_run: Make, scores: pd.DataFrame) -> Callable[..., Path]:
    """A run with two tables, one of them the user's, and its configuration."""

    def make(source: str, mark: str, *more: str) -> Path:
        own = {
            "title": "Mine",
            "data": ["classification+r2=0.7"],
            "learners": ["erm"],
        }
        changes = {"preset": "smoke", "tables": {"mine": own}}
        config = load_config(changes, root=ROOT)
        is_erm = scores["method"] == "ERM"
        as_authors = scores[is_erm].assign(method=AUTHORS_CODE, value=0.8)
        every_score = pd.concat([scores, as_authors])
        of_source = every_score.assign(data_source=source)
        folder = make_run(of_source, "smoke")
        for table in ("mine", *more):
            make_run(of_source, "smoke", table)
        content = config.written | {"mark": mark}
        (folder / "config.yaml").write_text(yaml.safe_dump(content))
        return folder

    return make


def test_a_run_with_stand_ins_has_no_finding(
    tmp_path: Path, configured: Callable[..., Path]
) -> None:
    run = configured("fallback:digits", "smoke sizes")
    page = tmp_path / "page.html"
    render(
        REPORT,
        tmp_path / "out.ipynb",
        page,
        run=str(run),
        agreement="this machine agrees with the published run in 3 of 4 cells",
        departures=[f"cell_{n}: outside the interval" for n in range(22)],
        own_tables=["mine"],
        selected=load_config({"preset": "smoke"}, root=ROOT).selected("table1"),
    )
    shown = text(page)
    stand_ins = "stand-ins for MNIST (digits of 8x8 pixels)"
    assert f"This run: {stand_ins}; smoke sizes. Its numbers are shown" in shown
    assert FINDING not in shown
    assert OF_PUBLISHED not in shown
    assert "earlier run" not in shown
    assert "This machine agrees with the published run in 3 of 4 cells." in shown
    assert "cell_19: outside the interval" in shown
    assert "cell_20" not in shown
    assert "and 2 more" in shown
    assert "What does your table say: Mine?" in shown
    assert f"Mine; {stand_ins}; smoke sizes: test accuracy" in shown
    assert 'alt="Figure: What does your table say: Mine?"' in page.read_text()
    # a row of the selected hyperparameters
    chosen = yaml.safe_load((ROOT / "config/selected/classification.yaml").read_text())
    row = "DRO rho " + " ".join(
        f"{chosen['dro'][criterion]['rho']:g}" for criterion in ("pooled", "oracle")
    )
    assert row in shown


def test_a_run_at_the_published_options_has_the_findings_of_its_tables(
    tmp_path: Path, configured: Callable[..., Path]
) -> None:
    run = configured("synthetic", "", "mechanism")
    made = [run / "tables" / "mechanism.csv"]
    provenance.write(run, "make_table", made, {}, {"code": "of an earlier version"})
    page = tmp_path / "page.html"
    target = tmp_path / "out.ipynb"
    render(REPORT, target, page, run=str(run))
    shown = text(page)
    assert FINDING in shown
    assert OF_PUBLISHED in shown  # no number of this run shows it
    assert "an earlier run left them: mechanism." in shown
    assert "This run:" not in shown
    assert "open in Table 4" not in shown  # which it does not have
    assert "your table" not in shown


def test_the_notebook_of_stand_ins_says_so_first(
    tmp_path: Path, configured: Callable[..., Path]
) -> None:
    run = configured("fallback:houses", "smoke sizes")
    target = tmp_path / "out.ipynb"
    render(TABLE, target, run=str(run), table="table1")
    outputs = [
        output["data"].get("text/markdown", "")
        for cell in nbformat.read(target, 4).cells
        for output in cell.get("outputs", [])
    ]
    assert outputs[0].startswith("# Table 1: Classification with spurious correlation")
    title, about = outputs[0].split("\n\n", 1)
    assert "stand-ins for the house sales" in title
    assert about.startswith("**No finding: these are stand-ins for the house sales")


def test_every_published_table_can_have_its_findings() -> None:
    """The tables that findings name are there, with the paper's sizes and data."""
    run = Run(ROOT / "results" / "reference")
    cells = nbformat.read(REPORT, 4).cells
    code = "".join(c.source for c in cells)
    named = {
        name
        for call in re.findall(r"finding\([^)]*\)", code)
        for name in re.findall(r'"((?:table|figure|mechanism|assumptions)\d?)"', call)
    }
    assert {"table1", "mechanism", "figure3", "assumptions"} <= named
    assert run.mark(run.cells(*named)) == ""
