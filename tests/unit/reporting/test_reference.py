"""A finished run at the paper's sizes, and no other, becomes the reference."""

import json
from pathlib import Path

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.reporting.provenance import DISTRIBUTION
from kerhrm.reporting.reference import publish


def run(folder: Path, preset: str = "paper") -> Path:
    """What a build leaves, and things that nobody needs."""
    results = folder / "results" / preset
    for name, text in (
        ("tables/table1.md", "## Table 1: Classification\n\n| a |\n"),
        ("tables/table1.csv", "setting,value\n"),
        ("figures/figure2.svg", "<svg/>"),
        ("config.yaml", "preset: paper\n"),
        ("classification/r2=0.70/scores.csv", "setting\n"),
        ("logs/score.log", "done\n"),
    ):
        path = results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return results


def content(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8")
        for p in folder.rglob("*")
        if p.is_file()
    }


def test_tables_figures_and_configuration_are_copied(tmp_path: Path) -> None:
    results, reference = run(tmp_path), tmp_path / "reference"
    publish(results, reference)
    copied = content(reference)
    versions = json.loads(copied.pop("versions.json"))
    assert DISTRIBUTION in versions["packages"]
    shown = {"tables/table1.md", "tables/table1.csv", "figures/figure2.svg", "config.yaml"}
    assert copied == {n: text for n, text in content(results).items() if n in shown}


def test_what_an_earlier_run_left_is_gone(tmp_path: Path) -> None:
    results, reference = run(tmp_path), tmp_path / "reference"
    publish(results, reference)
    first = content(reference)
    (reference / "tables" / "table9.md").write_text("old")
    (reference / "README.md").write_text("about the reference")
    (reference / "config.yaml").write_text("old")
    publish(results, reference)
    assert content(reference) == first | {"README.md": "about the reference"}


@pytest.mark.parametrize("preset", ["smoke", "papers"])
def test_only_the_papers_sizes_are_published(tmp_path: Path, preset: str) -> None:
    with pytest.raises(KerhrmError, match="no run at preset paper; run without preset"):
        publish(run(tmp_path, preset), tmp_path / "reference")
    assert not (tmp_path / "reference").exists()


def test_stand_ins_are_not_published(tmp_path: Path) -> None:
    results, reference = run(tmp_path), tmp_path / "reference"
    publish(results, reference)
    before = content(reference)
    (results / "tables" / "table4.md").write_text(
        "## Table 4: Colored MNIST [stand-in:sklearn-digits, not the real data]\n\n| a |\n"
    )
    (results / "config.yaml").write_text("new")
    with pytest.raises(KerhrmError, match=r"table4\.md shows stand-in data; give the raw files"):
        publish(results, reference)
    assert content(reference) == before
