"""Where results are published: a folder of their own, and tables that are there."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from folders import complete, contents, recorded
from refusals import refusal

from kerhrm.cli import main
from kerhrm_paper.reporting.publish import publish

ROOT = Path(__file__).parents[3]
STUDY = "study_drift"
Make = Callable[..., Path]


@pytest.mark.parametrize("inside", ["config.yaml", "notes.txt", "tables/mine.csv"])
def test_a_folder_of_other_files_is_refused_and_stays(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, inside: str
) -> None:
    run = complete(make_run(scores))
    mine = tmp_path / "mine"
    (mine / inside).parent.mkdir(parents=True)
    (mine / inside).write_text("mine")
    problems = {mine: "holds files", run.folder: "itself"}
    for target, problem in problems.items():
        before = set(tmp_path.rglob("*"))
        with refusal(problem):
            publish(run, target)
        assert set(tmp_path.rglob("*")) == before
    assert (mine / inside).read_text() == "mine"


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("fresh/tables", "fresh/tables lies in .*fresh, the run itself; give --refer"),
        ("fresh/new", "lies in .*fresh, the run itself; give --reference a new folder"),
        ("page.md", "page.md is a file, not a folder; give --reference a new folder"),
        ("page.md/new", "page.md is a file, not a folder; give --reference a new"),
    ],
)
@pytest.mark.parametrize("tables", [[], ["table1"]])
def test_what_is_no_folder_of_its_own_is_refused(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    reference: str,
    problem: str,
    tables: list[str],
) -> None:
    run = recorded(complete(make_run(scores)))
    (tmp_path / "page.md").write_text("mine")
    before = contents(tmp_path)
    with refusal(problem):
        publish(run, tmp_path / reference, tables, ROOT)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["table1-comparisons", "../claims", "../tables/table1"]
)
def test_a_name_of_another_file_is_no_table(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, name: str
) -> None:
    run = recorded(complete(make_run(scores)))
    with refusal(f"fresh has no table '{name}'; it has table1"):
        publish(run, tmp_path / "published", [name], ROOT)
    assert not (tmp_path / "published").exists()


def test_a_study_that_was_not_made_lets_no_table_be_published(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = recorded(complete(make_run(scores)))
    before = contents(tmp_path)
    target = str(tmp_path / "published")
    words = ["publish", str(run.folder), STUDY, "table1", "--reference", target]
    assert main(words) == 1
    assert f"make it with snakemake --cores 2 {STUDY}" in capsys.readouterr().err
    assert contents(tmp_path) == before
    words.remove(STUDY)
    assert main(words) == 0


@pytest.mark.parametrize("reference", ["run", "other"])
def test_what_is_published_again_stays_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str
) -> None:
    """The run may be named twice; nothing is published there."""
    folder = tmp_path / "run"
    words = ["publish", str(folder), "--again"]
    assert main([*words, "--reference", str(tmp_path / reference)]) == 1
    told = capsys.readouterr().err
    is_refused = f"writes to {folder}, not to {tmp_path / reference}" in told
    assert is_refused == (reference == "other")
