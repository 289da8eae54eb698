"""What the page says is what the tables say, every link lands, and nothing has to be fetched."""

import json
import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest
from pagetools import Outline

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import WORST_LEARNED
from kerhrm.reporting.page.build import BESIDE, LIMIT, NAME, PRINTED, build, write
from kerhrm.reporting.results_page import REFERENCE
from kerhrm.scoring.verdicts import JUDGED

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / REFERENCE
RESULT = {"table1": "test_acc", "table2": "test_acc", "table3": "mean_error", "table4": "test_acc"}


def data(text: str) -> dict[str, object]:
    """What the page holds as JSON."""
    (found,) = re.findall(r'<script type="application/json" id="evidence">(.*?)</script>', text)
    loaded: dict[str, object] = json.loads(found)
    return loaded


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkout with one committed table, and nothing else."""
    folder = tmp_path / REFERENCE
    (folder / "tables").mkdir(parents=True)
    for name in ("config.yaml", "versions.json", "tables/table4.csv"):
        shutil.copy(COMMITTED / name, folder / name)
    return tmp_path


def test_the_committed_page_is_the_one_that_the_code_writes(text: str) -> None:
    stored = (COMMITTED / NAME).read_text(encoding="utf-8")
    assert stored == text, "run python -m kerhrm.reporting.page"


def test_it_is_small_and_asks_for_nothing(text: str, outline: Outline) -> None:
    assert len(text.encode()) <= LIMIT
    assert all(url == "" or url.startswith("data:") for url in outline.loaded)
    assert "@import" not in text
    assert not re.search(r"url\((?!data:)", text)
    assert "default-src 'none'" in text


def test_every_link_lands(outline: Outline) -> None:
    assert len(outline.ids) == len(set(outline.ids))
    for link in outline.links:
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in ("https", "mailto"), link
        elif parts.path:
            assert (COMMITTED / parts.path).exists(), link
        else:
            assert parts.fragment in outline.ids, link


def test_headings_are_in_order_and_pictures_have_words(outline: Outline) -> None:
    assert outline.levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(outline.levels))
    assert all(picture.get("alt") for picture in outline.pictures)
    sources = [picture["src"] for picture in outline.pictures]
    assert len(sources) == len(set(sources)) > 5  # none is embedded twice


def test_every_section_is_there(outline: Outline) -> None:
    wanted = {"answer", "reading", "tables", "claims", "open", "work", "control", "heterogeneity",
              "scale", "development", "provenance", *PRINTED}  # fmt: skip
    assert wanted | {name for names in BESIDE.values() for name in names} <= {*outline.ids}


def test_every_cell_leads_to_its_numbers(text: str, outline: Outline) -> None:
    found = data(text)
    columns, texts, cells = (found[name] for name in ("columns", "texts", "cells"))
    assert {link[1:] for link in outline.links if re.match(r"#[\w-]+-c\d+$", link)} == {*cells}
    table = pd.read_csv(COMMITTED / "tables" / "table1.csv", keep_default_na=False)
    for number, cell in enumerate(table.to_dict("records"), 1):
        told = dict(zip(columns, cells[f"table1-c{number}"], strict=True))
        for name in ("setting", "method", "metric", "selection"):
            assert texts[told[name]] == cell[name]
        assert told["mean"] == pytest.approx(float(cell["mean"]), rel=1e-5)
        assert told["line"] == number + 1
        verdict = str(cell["verdict"])
        assert texts[told["verdict"]].startswith(verdict.replace("not comparable", "not compared")
                                                 .partition(":")[0])  # fmt: skip
        if texts[told["choices"]]:  # each seed's own choice, of the steps that made one
            assert cell["method"] in ("KerHRM (NTF)", "KerHRM (network)")
            assert cell["selection"] == WORST_LEARNED
    path, digest = found["files"]["table1"]
    assert (ROOT / path).samefile(COMMITTED / "tables" / "table1.csv")
    assert digest in text.partition('id="files"')[2]


def test_verdicts_of_the_tracks_are_counted_from_the_tables(text: str) -> None:
    (table,) = re.findall(r'<table class="tracks">(.*?)</table>', text, re.DOTALL)
    for row in re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table, re.DOTALL):
        name = {"literal": "literal", "released": "released", "robust": "network"}[
            re.findall(r'class="track">(\w+)', row)[0]
        ]
        told = re.findall(r"<td>(.*?)</td>", row, re.DOTALL)
        for key, cell in zip(RESULT, told, strict=False):
            cells = pd.read_csv(COMMITTED / "tables" / f"{key}.csv", keep_default_na=False)
            cells = cells[cells["method"] == f"KerHRM ({name})"]
            cells = cells[(cells["metric"] == RESULT[key]) & cells["verdict"].isin(JUDGED)]
            cells = cells[~cells["setting"].str.contains(",k=")]
            pairs = zip(cells["verdict"], cells["direction"], strict=True)
            kinds = Counter(f"{v.partition(':')[0]} ({d})".replace(" ()", "") for v, d in pairs)
            counted = re.findall(r"</span> (\d+) (\w+)([\w ()]*)</span>", cell)
            singular = {"agree": "agrees", "differ": "differs"}
            assert {singular.get(w, w) + rest: int(n) for n, w, rest in counted} == kinds


def test_what_was_not_run_says_so_and_how(bare: Path) -> None:
    folder = bare / REFERENCE
    text = build(folder, bare, folder / NAME)
    for command in ("table1", "claims", "study_ambiguities", "ablation", "full_mnist"):
        assert f"<code>snakemake --cores 2 {command}</code>" in text
    assert "not in this run" in text
    outline = Outline(text)
    assert len(outline.ids) == len(set(outline.ids))
    inside = {link[1:] for link in outline.links if link.startswith("#")}
    assert inside <= {*outline.ids}


def test_texts_of_results_are_no_html(bare: Path) -> None:
    path = bare / REFERENCE / "tables" / "table4.csv"
    cells = pd.read_csv(path, keep_default_na=False, dtype=str)
    cells.loc[0, ["verdict", "reason"]] = "failed", "</script><b>NaN</b>"
    cells["setting"] = cells["setting"].str.replace("cmnist", "<i>cmnist")
    cells.to_csv(path, index=False)
    text = build(path.parents[1], bare, path.parents[1] / NAME)
    assert "<i>cmnist" not in text
    assert "</script><b>" not in text
    assert "&lt;i&gt;cmnist" in text


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match=r"has no tables; run `snakemake all` first"):
        write(tmp_path, tmp_path)
