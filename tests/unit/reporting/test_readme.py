"""The README's sections, and the pictures and numbers that go into them."""

import io
import sys
from pathlib import Path

import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.reporting.readme import PAGES, main, sections, with_sections

README = """# Name
<!-- begin tables -->
old numbers
<!-- end tables -->
between
<!-- begin times -->
<!-- end times -->
the end
"""
REPOSITORY = Path(__file__).parents[3]


def test_a_section_is_replaced_between_its_marks() -> None:
    once = with_sections(README, {"tables": "new\nnumbers\n\n"})
    assert once == README.replace("old numbers\n", "new\nnumbers\n")
    assert with_sections(once, {"tables": "old numbers"}) == README
    both = with_sections(README, {"times": "fast", "tables": "x"})
    filled = README.replace("begin times -->\n", "begin times -->\nfast\n")
    assert both == filled.replace("old numbers", "x")


@pytest.mark.parametrize(
    "text", ["", README.replace("end tables", "ned tables"), README.replace("begin tables", "")]
)
def test_a_missing_mark_is_told(text: str) -> None:
    with pytest.raises(KerhrmError, match=r"no section 'tables'; put <!-- begin tables -->"):
        with_sections(text, {"tables": "new"})


def test_a_picture_is_put_in_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "README.md"
    path.write_text(README, encoding="utf-8")
    graph = "---\ntitle: DAG\n---\nflowchart TB\n\tid0[all]\n"
    monkeypatch.setattr(sys, "argv", ["readme", "times", str(path)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(graph))
    main()
    assert path.read_text(encoding="utf-8") == with_sections(
        README, {"times": f"```mermaid\n{graph}```"}
    )


def test_no_picture_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "README.md"
    path.write_text(README, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["readme", "times", str(path)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(SystemExit, match="no picture came"):
        main()
    assert path.read_text(encoding="utf-8") == README


def cells(name: str, paper: float | None) -> pd.DataFrame:
    cell = {
        "table": name, "setting": "s", "method": "ERM", "metric": "test_acc", "mean": 0.25,
        "std": 0.01, "n_seeds": 3, "ci_low": 0.24, "ci_high": 0.26, "paper": paper,
        "data_source": "synthetic", "selection": "pooled validation", "track": "described",
        "verdict": "differs: higher" if paper else "", "reason": "",
        "direction": "good" if paper else "", "p_agrees": None, "p_differs": None, "margins": None,
    }  # fmt: skip
    return pd.DataFrame([cell, cell | {"metric": "train_acc", "mean": 0.75}])


def test_sections_come_from_a_runs_files(tmp_path: Path) -> None:
    experiments = {
        "one": {"title": "First", "table": "table1"},
        "more": {"title": "Second", "table": "table1"},
        "mine": {"title": "Mine", "table": "mine"},
    }
    for folder in ("tables", "restarts", "benchmarks/score/one"):
        (tmp_path / folder).mkdir(parents=True)
    for name, paper in (("table1", 0.2), ("mine", None)):
        cells(name, paper).to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
        pair = {"method": "KerHRM (network)", "baseline": "ERM", "outcome": "better",
                "probability": 0.9}  # fmt: skip
        pairs = pd.DataFrame([pair, pair | {"method": "KerHRM (NTF)"}])
        pairs.to_csv(tmp_path / "tables" / f"{name}-comparisons.csv", index=False)
    (tmp_path / "benchmarks/score/one/s.tsv").write_text("s\th:m:s\n2.5\t0:00:02\n")
    for beside in ("verify", "publish_reference", "score/theirs/s"):
        path = tmp_path / "benchmarks" / f"{beside}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("s\th:m:s\n999\t0:16:39\n")
    parts = sections(tmp_path, experiments, "results/reference/tables")
    assert list(parts) == ["tables", "verdicts", "comparisons", "selection", "restarts", "times"]
    # the first metric of each table that the paper prints, and a link to the rest
    assert parts["tables"].startswith("### Table 1: First; Second\n\n**Test accuracy**\n\n|")
    assert parts["tables"].endswith(" [table1.md](results/reference/tables/table1.md).\n")
    assert "0.250 ± 0.010<br>0.200" in parts["tables"]
    assert "raining" not in parts["tables"].partition("Cells:")[0]
    assert "Mine" not in parts["tables"]
    line = parts["verdicts"].splitlines()[2]
    assert [cell.strip() for cell in line.split("|")[1:4]] == ["table1", "test accuracy", "1"]
    header, _, line = parts["comparisons"].splitlines()
    assert header.split() == ["|", "baseline", "|", "mine", "|", "table1", "|"]
    assert line.count("1 better; P = 0.90") == 2
    assert parts["selection"] == "Every method was chosen by one rule alone.\n"
    assert parts["restarts"] == "No method here clusters the data.\n"
    assert [line.split() for line in parts["times"].splitlines()][2][1:] == [
        "score", "|", "0.0", "|", "0.0", "|", "2.5", "|",
    ]  # fmt: skip
    assert parts["times"].endswith("\nThe run's 1 jobs took 0 minutes in all.\n")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_repositorys_pages_have_their_sections(page: Path) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for name in (*PAGES[page], *(["dag"] if page.stem == "workflow" else [])):
        assert with_sections(text, {name: "x"}) != text


def test_the_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
