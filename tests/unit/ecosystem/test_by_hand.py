"""Notebooks opened by hand, in their own folder as Jupyter does it or in the repository's."""

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from kerhrm.reporting.by_hand import NotThere, gather
from kerhrm.reporting.notebooks import ENCRYPTED, normalise
from kerhrm.reporting.restarts import restart_counts
from kerhrm.reporting.tables import read_table

ROOT = Path(__file__).parents[3]
NOTEBOOKS = ROOT / "notebooks"
TABLE = "results/reference/tables/table1.csv"
FOLDERS = {"notebooks": NOTEBOOKS, "root": ROOT}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one table, from the committed one, without the scores of its seeds."""
    (tmp_path / "run/tables").mkdir(parents=True)
    reference = ROOT / "results/reference"
    for suffix in (".csv", "-comparisons.csv"):
        shutil.copy(reference / f"tables/table1{suffix}", tmp_path / "run/tables")
    (tmp_path / "notebooks").mkdir()
    experiment = {"table": "table1", "title": "A title", "about": "About it."}
    config = {
        "preset": "paper",
        "results": "results",
        "experiments": {"one": experiment, "two": experiment | {"table": "table2"}},
    }
    (tmp_path / "run/config.yaml").write_text(yaml.safe_dump(config))
    return tmp_path


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_the_committed_table_is_found_from_both_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    files = gather(TABLE)
    assert files.table.equals(read_table(ROOT / TABLE))
    assert files.heading == "Table 1: Classification with spurious correlation"
    assert files.preset == "fresh"
    assert files.compared is not None


def test_what_a_run_names_is_taken_as_it_is(run: Path) -> None:
    table = run / "run/tables/table1.csv"
    files = gather(table, title="Mine", preset="smoke", scores_csv=["a/mine.csv"])
    assert (files.title, files.about, files.preset) == ("Mine", "", "smoke")
    assert dict(files.scores) == {"mine": Path("a/mine.csv")}
    # a run has all that there can be
    assert "No method here clusters" in files.report("restarts", restart_counts)


def test_what_is_not_there_is_one_line_with_the_command_that_makes_it(run: Path) -> None:
    files = gather(run / "run/tables/table1.csv")
    assert files.seeds() is None
    line = files.report("restarts", restart_counts)
    assert line.strip().count("\n") == 0
    assert "`snakemake --cores all table1`" in line
    assert '"results/paper/tables/table1.csv"' in line


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_what_is_there_is_used(run: Path, suffix: str) -> None:
    (run / "run/scores").mkdir()
    rows = read_table(run / "run/tables/table1.csv").head(3)
    rows.to_csv(run / f"run/scores/one{suffix}", index=False)
    rows.to_csv(run / f"run/scores/two{suffix}", index=False)  # of another table
    files = gather(run / "run/tables/table1.csv")
    assert list(files.scores) == ["one"]
    scores = files.seeds()
    assert scores is not None
    assert len(scores) == 3


def test_another_preset_is_in_the_command(run: Path) -> None:
    config = yaml.safe_load((run / "run/config.yaml").read_text())
    (run / "run/config.yaml").write_text(yaml.safe_dump(config | {"preset": "smoke"}))
    files = gather(run / "run/tables/table1.csv")
    assert "`snakemake --cores all table1 --config preset=smoke`" in files.missing("scores")
    assert "[preset smoke: not for comparison]" in files.heading


def test_a_table_that_is_not_there_is_told_without_a_stack_of_calls(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run / "notebooks")
    with pytest.raises(NotThere, match=r"none\.csv is not there; run `snakemake .* none`") as told:
        gather("run/tables/none.csv")
    assert told.value._render_traceback_() == [str(told.value)]
    (run / "run/config.yaml").unlink()
    with pytest.raises(NotThere, match=r"no config\.yaml lies beside run/tables/table1\.csv"):
        gather("run/tables/table1.csv")


def executed(name: str, folder: Path, **parameters: Any) -> list[dict[str, Any]]:
    """What the cells of a notebook show, run in a folder."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    (cell,) = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", []))
    cell.source += "".join(f"\n{key} = {value!r}" for key, value in parameters.items())
    place = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=place, config=ENCRYPTED
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert {o.output_type for o in outputs} <= {"display_data", "execute_result"}
    return [dict(output["data"]) for output in outputs]


def texts(shown: list[dict[str, Any]]) -> str:
    return "\n".join(d.get("text/markdown", d.get("text/plain", "")) for d in shown)


@pytest.mark.parametrize("name", ["table", "eiil_reference", "figure2", "figure3", "explore"])
def test_it_is_stored_without_outputs(name: str) -> None:
    text = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, 4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    assert normalise(text) == text


@pytest.mark.parametrize(
    ("name", "folder"),
    [("table", "notebooks"), ("eiil_reference", "root"), ("figure3", "notebooks")],
)
def test_a_committed_table_is_shown(name: str, folder: str) -> None:
    shown = executed(name, FOLDERS[folder])
    text = texts(shown)
    assert "±" in text
    title = {"table": "# Table 1: Classification", "eiil_reference": "# EIIL over the training"}
    assert text.startswith(title.get(name, ""))
    pictures = sum("image/png" in data for data in shown)
    assert pictures or "snakemake --cores all table1" in text


@pytest.mark.parametrize(
    ("experiment", "setting", "words"),
    [
        ("classification", "r2=0.70", ("300 train points", "V follows the label", "accuracy")),
        ("regression", "scenario=2,r=1.9", ("300 train points", "hidden 2", "mean squared error")),
    ],
)
def test_a_setting_is_looked_into(experiment: str, setting: str, words: tuple[str, ...]) -> None:
    shown = executed("explore", NOTEBOOKS, experiment=experiment, setting=setting, preset="smoke")
    text = texts(shown)
    for word in (*words, "worst learned", "cosine between"):
        assert word in text, word
    assert sum("image/png" in data for data in shown) == 6
