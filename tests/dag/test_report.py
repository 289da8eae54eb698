"""The page of a run by its target, and Snakemake's own report."""

from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout
from pagetools import Outline

pytestmark = pytest.mark.dag

PAGE = "results/smoke/report.html"


@pytest.fixture(scope="module")
def finished(smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of the finished run, with its page."""
    copy = smoke.copy(tmp_path_factory.mktemp("report") / "kerhrm")
    copy.run("report", *SMOKE)
    return copy


def test_the_page_shows_the_run_and_says_what_is_missing(finished: Checkout) -> None:
    text = (finished.folder / PAGE).read_text(encoding="utf-8")
    outline = Outline(text)
    assert "not for comparison" in text
    assert "table1-c1" in outline.ids
    inside = {link[1:] for link in outline.links if link.startswith("#")}
    assert inside <= {*outline.ids}
    assert "snakemake --cores 2 claims" in text


def test_it_is_made_once_and_again_when_something_joins_it(finished: Checkout) -> None:
    assert finished.plan("report", *SMOKE) == []
    study = finished.folder / "results/study/heterogeneity.csv"
    study.write_text(study.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert [job.rule for job in finished.plan("report", *SMOKE)] == ["write_report", "report"]


def test_snakemakes_own_report_has_tables_figures_and_notebooks(finished: Checkout) -> None:
    path = Path("own.html")
    finished.run("report", "--report", str(path), *SMOKE)
    text = (finished.folder / path).read_text(encoding="utf-8")
    for words in ("Tables", "Figures", "Notebooks", "Page", "table1.csv", "figure2.png"):
        assert words in text
    assert "From raw data" in text or "from raw" in text
