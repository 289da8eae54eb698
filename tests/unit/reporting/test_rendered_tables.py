"""Tables in three formats: the numbers of the cells, and names that stay names."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from kerhrm_paper.evaluation.tables import primary
from kerhrm_paper.reporting import tables
from kerhrm_paper.reporting.run import Run
from tests.unit.reporting.conftest import EVIL, cells_of

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")
NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1
)


class Tags(HTMLParser):
    """The tags of a text, and what it shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.shown = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.shown += data


@given(name=NAMES)
def test_html_shows_a_name_as_it_is(name: str) -> None:
    page = Tags(tables.escape(name, "html"))
    assert not page.tags
    assert page.shown == " ".join(name.split())


@given(name=NAMES)
@example(name="\\<")
@example(name="&lt")
def test_markdown_keeps_a_name_in_its_cell_and_without_markup(name: str) -> None:
    text = tables.escape(name, "markdown")
    assert "\n" not in text
    assert not re.search(r"(?<!\\)(\\\\)*[|*_`$\[]", text)
    assert not Tags(text).tags
    plain = re.sub(r"\\(.)", r"\1", text)
    expected = " ".join(name.split())
    assert html.unescape(plain) == expected


@given(name=NAMES)
def test_latex_has_no_command_but_those_of_its_signs(name: str) -> None:
    text = tables.escape(name, "latex")
    for sign in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}"):
        text = text.replace(sign, "")
    text = re.sub(r"\\[&%$#_{}]", "", text)
    assert not set(text) & set("\\&%$#_{}~^")


def texts_of(page: str) -> pd.DataFrame:
    """The texts of a table's cells, by method and criterion."""
    lines = []
    for line in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL):
        texts = []
        for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line):
            without_tags = re.sub(r"<[^>]+>", " ", cell)
            text = html.unescape(without_tags)
            texts.append(" ".join(text.split()))
        lines.append(texts)
    names, *rows = lines
    table = pd.DataFrame(rows, columns=names)
    return table.set_index(["method", "selection"])


def test_every_published_cell_is_shown_with_its_mean_and_the_papers() -> None:
    cells = REFERENCE.cells("table1")
    for metric in tables.metrics_of(cells):
        rows = cells[cells["metric"] == metric]
        shown = texts_of(tables.render(rows, "html"))
        own = primary(rows)
        for number, cell in rows.iterrows():
            row = (cell["method"], cell["selection"])
            text = shown.loc[row, cell["setting"]]
            assert text.startswith(f"{cell['mean']:.3f}")
            if own[number] and pd.notna(cell["paper"]):
                assert text.endswith(f"({cell['paper']:.3f})")


def test_a_table_of_names_with_markup_runs_nothing(scores: pd.DataFrame) -> None:
    settings = scores["setting"] + EVIL + "|$x$_{&}"
    methods = scores["method"] + EVIL
    evil = scores.assign(setting=settings, method=methods)
    cells = cells_of(evil, "mine")
    allowed = {"table", "thead", "tbody", "tr", "th", "td", "br", "small", "caption"}
    page = tables.render(cells, "html", EVIL)
    text = tables.render(cells, "markdown", EVIL)
    source = tables.render(cells, "latex", EVIL)
    assert Tags(page).tags <= allowed
    assert not Tags(text).tags
    assert EVIL.replace("_", r"\_") in source


def test_failed_cells_show_no_mean(scores: pd.DataFrame) -> None:
    is_kerhrm = scores["method"] == "KerHRM"
    scores.loc[is_kerhrm, "value"] = float("nan")
    cells = cells_of(scores, "t")
    lines = tables.render(cells, "markdown").splitlines()
    rows = [line for line in lines if "KerHRM" in line]
    assert rows
    for row in rows:
        assert "failed" in row
        assert "nan" not in row


def with_settings(cells: pd.DataFrame, settings: list[str]) -> pd.DataFrame:
    """Cells of one setting, repeated in others."""
    setting = cells["setting"]
    first = cells[setting == setting.iloc[0]]
    repeated = [first.assign(setting=name) for name in settings]
    return pd.concat(repeated)


def header(cells: pd.DataFrame) -> list[str]:
    """Names of the columns of the first table."""
    text = tables.render(cells, "markdown")
    first, *_ = text.split("|:")
    names = first.split("|")[1:-1]
    return [name.strip() for name in names]


def test_options_of_settings_that_are_rows_are_columns(scores: pd.DataFrame) -> None:
    cells = cells_of(scores, "t")
    rates = [f"r2=0.{digit}" for digit in range(5)]
    settings = [*rates, *(f"{rate},K=3" for rate in rates)]
    shown = with_settings(cells, settings)
    assert header(shown)[:2] == ["r2", "K"]
    lines = tables.render(shown, "markdown").splitlines()
    rows = lines[4:14]
    places = []
    for row in rows:
        _, rate, option, *_ = row.split("|")
        places.append([rate.strip(), option.strip()])
    assert places[0] == ["0.0", ""]
    assert places[-1] == ["0.4", "3"]


def test_settings_with_a_name_or_many_options_stay_in_one_column(
    scores: pd.DataFrame,
) -> None:
    cells = cells_of(scores, "t")
    settings = [f"label noise,K={k}" for k in range(9)]
    named = with_settings(cells, settings)
    assert header(named)[0] == "setting"
    settings = [f"a=1,b=2,c=3,d={d}" for d in range(9)]
    many = with_settings(cells, settings)
    assert header(many)[0] == "setting"


def test_a_tables_page_is_styled_and_its_tables_scroll(
    tmp_path: Path, scores: pd.DataFrame
) -> None:
    cells = cells_of(scores, "t")
    tables.write(cells, tmp_path / "t", EVIL)
    text = (tmp_path / "t.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "overflow-x: auto" in text
    framed = text.count('<div class="frame" tabindex="0"><table')
    assert framed == text.count("<table")
    assert EVIL not in text
    shown = Tags(text).shown
    assert " ".join(EVIL.split()) in shown
