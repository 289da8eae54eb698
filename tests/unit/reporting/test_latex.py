"""The tables as LaTeX: compiled where there is an engine, and read back."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm.reporting.latex import SIGNS, escape, to_latex
from kerhrm.reporting.tables import headline, read_table

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "results" / "reference"
APART = (path for path in REFERENCE.glob("*/*.csv") if path.stem == path.parent.name)
COMMITTED = sorted(
    path
    for path in (*REFERENCE.glob("tables/*.csv"), *APART)
    if "comparisons" not in path.name and path.stem not in ("claims", "ambiguities")
)
ENGINE = shutil.which("pdflatex")
#: the page of the paper's style: text, fonts and packages that the paper loads
PAGE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[textwidth=5.5in,textheight=9in]{geometry}
\usepackage{times}
\usepackage{booktabs}
\usepackage{xcolor}
\begin{document}
%s
\end{document}
"""


@pytest.fixture
def table1() -> pd.DataFrame:
    return read_table(REFERENCE / "tables" / "table1.csv")


@pytest.mark.skipif(ENGINE is None, reason="no pdflatex: install TeX Live to compile the tables")
def test_all_committed_tables_fit_the_papers_page(tmp_path: Path) -> None:
    assert len(COMMITTED) >= 6
    texts = [to_latex(read_table(path), path.stem) + "\\clearpage" for path in COMMITTED]
    (tmp_path / "all.tex").write_text(PAGE % "\n".join(texts))
    command = [str(ENGINE), "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert not re.findall(r"Overfull .hbox.*|Float too large.*|undefined references", log)


def test_a_caption_has_no_number_and_the_label_does(table1: pd.DataFrame) -> None:
    text = to_latex(table1, "A title")
    assert text.isascii()
    captions = re.findall(r"\\caption\{(.+)\}", text)
    assert captions[0] == "A title: test accuracy."
    assert not any(re.match(r"(Table|Figure) \d", caption) for caption in captions)
    labels = re.findall(r"\\label\{(.+?)\}", text)
    assert len(set(labels)) == len(labels) == len(captions)
    assert labels[0] == "tab:table1-1"


def test_every_number_of_the_headline_rows_is_there_once(table1: pd.DataFrame) -> None:
    own = headline(table1)
    own = own[own["metric"] == "test_acc"]
    first = to_latex(own, "x")
    rows = [line for line in first.splitlines() if line.startswith(r"\raggedright")]
    assert len(rows) == sum(own.groupby(own["setting"].str.contains("H"))["method"].nunique())
    found = re.findall(r"(-?\d\.\d{3})\\,\$\\pm\$\\,(\d\.\d{3})", "\n".join(rows))
    spread = own[own["std"] > 1e-12]
    expected = [(f"{c.mean:.3f}", f"{c.std:.3f}") for c in spread.itertuples()]
    assert sorted(found) == sorted(expected)


def test_the_papers_number_stands_beside_with_the_verdicts_sign(table1: pd.DataFrame) -> None:
    text = to_latex(table1, "x")
    line = next(line for line in text.splitlines() if " ERM &" in line)
    ours, paper, sign = line.split(" & ")[1:4]
    cell = table1[(table1["method"] == "ERM") & (table1["metric"] == "test_acc")].iloc[0]
    assert ours.startswith(f"{cell['mean']:.3f}")
    assert paper == f"{cell['paper']:.3f}"
    assert SIGNS[cell["verdict"].partition(": ")[2] or cell["verdict"]][0] in sign
    _, _, others = text.partition("other selection rules")
    assert "paper &" not in others  # which have no verdict


def test_a_failed_cell_is_told_below(table1: pd.DataFrame) -> None:
    here = (table1["method"] == "DRO") & (table1["setting"] == "r2=0.80")
    here &= table1["metric"] == "test_acc"
    table1.loc[here, ["mean", "std"]] = np.nan
    table1.loc[here, ["verdict", "direction", "reason"]] = ["failed", "", "odd_name & 5 %"]
    text = to_latex(table1, "x")
    assert r"odd\_name \& 5 \%" in text
    assert "& failed &" in text
    assert SIGNS["failed"][0] in text


def test_settings_of_another_experiment_keep_their_names() -> None:
    table = read_table(REFERENCE / "tables" / "table4.csv")
    table = table.assign(setting=table["setting"].str.replace("cmnist", "my_data"), paper=np.nan)
    text = to_latex(table.assign(verdict="", direction=""), "Mine")
    assert r"my\_data" in text
    assert "paper &" not in text


@pytest.mark.parametrize("character", list("&%$#_{}~^\\"))
def test_what_latex_would_misread_is_escaped(character: str) -> None:
    assert escape(f"Q{character}Z")[1] == "\\"


def test_signs_can_be_read_without_their_colour() -> None:
    assert len({sign for sign, *_ in SIGNS.values()}) == len(SIGNS)
    for _, _, colour in SIGNS.values():
        parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        assert 1.05 / (float(np.dot([0.2126, 0.7152, 0.0722], linear)) + 0.05) >= 4.5
