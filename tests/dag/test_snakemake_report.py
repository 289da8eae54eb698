"""``snakemake --report``: every table and figure of a run, with a caption."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from dagtools import SMOKE, TARGETS, Checkout

from kerhrm_paper.config.config import load_config

pytestmark = pytest.mark.dag


def values(page: str, name: str) -> dict[str, Any]:
    """A variable of the page's script."""
    found = re.search(rf"var {name} = (\{{.*\}});$", page, re.MULTILINE)
    assert found is not None
    return dict(json.loads(found[1]))


def test_every_table_and_figure_is_shown_with_a_caption(
    smoke: Checkout, results: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "shown.zip"
    for _ in range(2):  # the second takes the place of the first
        smoke.run(*TARGETS, "--report", str(archive), *SMOKE)
    with zipfile.ZipFile(archive) as opened:
        page = opened.read("shown/report.html").decode()
    shown, categories = values(page, "results"), values(page, "categories")
    tables = load_config({"preset": "smoke"}, root=smoke.folder).tables
    files = {"endpoints.csv", "figures/endpoints.png", "figures/selection.png"}
    for name, table in tables.items():
        if table.in_all:
            files |= {f"tables/{name}.html", f"tables/{name}-comparisons.csv"}
            files.add(f"figures/{name}.png")
    files.add("report.html")
    assert shown.keys() == {f"results/smoke/{file}" for file in files}
    for result in shown.values():
        assert result["caption"].startswith("<p>")
        assert result["labels"]
    in_categories = [
        file
        for parts in categories.values()
        for of_part in parts.values()
        for file in of_part
    ]
    assert sorted(in_categories) == sorted(shown)
    assert "Other" not in categories
