"""Notebooks run by papermill: the same bytes every time, and nothing after a failure."""

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from kerhrm.errors import KerhrmError
from kerhrm.reporting.layout import to_markdown
from kerhrm.reporting.notebooks import execute, normalise
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table
from kerhrm.storage.arrays import write_text

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
COMMITTED = sorted(NOTEBOOKS.glob("*.ipynb"))
BY_HAND = {"explore", "own_table"}  # which the workflow does not execute
METADATA = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Any"}}


def write(path: Path, *code: str) -> Path:
    """A notebook with the parameters ``name`` and ``numbers``; cell ids are random."""
    parameters = new_code_cell('name = "nobody"\nnumbers = []', metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell("# Title"), parameters, *(new_code_cell(c) for c in code)]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), path)
    return path


def texts(path: Path) -> list[str]:
    """Printed and displayed text, output by output."""
    outputs = [o for cell in nbformat.read(path, 4).cells for o in cell.get("outputs", [])]
    return [o["text"] if "text" in o else o["data"]["text/plain"] for o in outputs]


def test_two_runs_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.txt").write_text("read from the caller's folder")
    monkeypatch.chdir(tmp_path)
    code = ("print(name, sum(numbers))", 'open("data.txt").read()')
    targets = [tmp_path / "new" / "folder" / "1.ipynb", tmp_path / "2.ipynb"]
    for target in targets:
        source = write(tmp_path / f"source{target.name}", *code)
        execute(source, target, {"name": "papermill", "numbers": [1, 2, 3]})
    first, second = (target.read_bytes() for target in targets)
    assert first == second
    assert texts(targets[0]) == ["papermill 6\n", '"read from the caller\'s folder"']
    nbformat.validate(nbformat.read(targets[0], 4))
    assert str(tmp_path) not in first.decode()
    # what has been normalised stays as it is
    assert normalise(first.decode()) == first.decode()


@pytest.mark.parametrize("earlier", [None, "an earlier result"])
def test_a_failing_cell_is_told_and_leaves_nothing(tmp_path: Path, earlier: str | None) -> None:
    source = write(tmp_path / "source.ipynb", 'raise RuntimeError("first line\\n  second line")')
    target = tmp_path / "results" / "target.ipynb"
    if earlier:
        write_text(target, earlier)
    with pytest.raises(
        KerhrmError, match=r"source\.ipynb, cell \d: RuntimeError: first line second line$"
    ):
        execute(source, target, {})
    left = {path.name: path for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(left) == ["source.ipynb", *(["target.ipynb"] if earlier else [])]
    if earlier:
        assert target.read_text() == earlier


def test_an_unknown_parameter_is_told_before_anything_runs(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    source = write(tmp_path / "source.ipynb", f"open({str(flag)!r}, 'w')")
    with pytest.raises(KerhrmError, match=r"no parameter nmae; .* declares: name, numbers"):
        execute(source, tmp_path / "target.ipynb", {"nmae": 1, "numbers": []})
    assert os.listdir(tmp_path) == ["source.ipynb"]


def notebook(number: int) -> str:
    """What a run leaves: papermill's times, random ids, the kernel's version."""
    volatile: dict[str, Any] = {
        "papermill": {"duration": number, "start_time": f"2021-01-0{number}"},
        "execution": {"iopub.execute_input": f"2021-01-0{number}"},
    }
    cell = new_code_cell("1 + 1", execution_count=1, metadata={"tags": ["kept"], **volatile})
    cell.outputs = [nbformat.v4.new_output("stream", text="kept as well")]
    metadata = {
        "papermill": {"input_path": f"/somewhere/{number}"},
        "language_info": {"name": "python", "version": f"3.1{number}"},
        "widgets": {"state": number},
        "kernelspec": {"name": f"kernel{number}", "display_name": f"Mine {number}"},
    }
    return str(nbformat.writes(new_notebook(cells=[cell], metadata=metadata)))


def test_everything_that_varies_goes_and_nothing_else() -> None:
    first, second = notebook(1), notebook(2)
    assert first != second
    assert normalise(first) == normalise(second)
    content = json.loads(normalise(first))
    (cell,) = content["cells"]
    assert cell["metadata"] == {"tags": ["kept"]}
    assert cell["outputs"][0]["text"] == ["kept as well"]
    assert cell["source"] == ["1 + 1"]
    assert cell["execution_count"] == 1
    assert content["metadata"]["language_info"] == {"name": "python"}
    assert normalise(first).endswith("}\n")


def test_nothing_is_said_that_nobody_can_act_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "source.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 + 1")], metadata=METADATA), source)
    execute(source, tmp_path / "target.ipynb", {})
    assert capfd.readouterr().err == ""
    assert caplog.text == ""


def scores_of(protocol: str) -> pd.DataFrame:
    """Scores of an experiment that no paper knows, without KerHRM."""
    names = {
        "accuracy": ["train_acc", "test_acc", "generalisation_gap"],
        "mean_error": ["mean_error", "std_error"],
        "period": ["mse"],
        "iterations": ["train_acc", "test_acc", "d_kl"],
        "another": ["regret", "rank"],
    }
    rows = [
        (setting, method, seed, metric, 0.1 * seed + 0.3, "pooled validation", "synthetic", "")
        for setting in ("k=5", "k=10,H=I")
        for method in ("ERM", "DRO")
        for metric in names[protocol]
        for seed in range(2)
    ]
    columns = ["setting", "method", "seed", "metric", "value", "selection", "data_source"]
    return pd.DataFrame(rows, columns=[*columns, "reason"])


@pytest.mark.parametrize("protocol", ["accuracy", "mean_error", "period", "iterations", "another"])
def test_one_notebook_shows_any_table(tmp_path: Path, protocol: str) -> None:
    scores = scores_of(protocol)
    scores.to_csv(tmp_path / "mine.csv", index=False)
    table = build_table(scores, "mine", "paper", PaperValues({}))
    table.to_csv(tmp_path / "table.csv", index=False)
    parameters = {
        "title": "My own", "about": "What it is about.", "preset": "paper",
        "table_csv": str(tmp_path / "table.csv"), "scores_csv": [str(tmp_path / "mine.csv")],
        "restarts_csv": [], "figure_stem": "",
    }  # fmt: skip
    execute(NOTEBOOKS / "table.ipynb", tmp_path / "out.ipynb", parameters)
    outputs = [
        o for c in nbformat.read(tmp_path / "out.ipynb", 4).cells for o in c.get("outputs", [])
    ]
    assert {o.output_type for o in outputs} <= {"display_data", "execute_result"}
    shown = [o["data"]["text/markdown"] for o in outputs if "text/markdown" in o["data"]]
    assert shown[0] == "# My own\n\nWhat it is about."
    assert shown[1] == to_markdown(table, "My own")
    assert any("image/png" in o["data"] for o in outputs)


def test_the_notebooks_are_one_for_all_tables_and_one_a_figure() -> None:
    figures = {"figure2", "figure3", "eiil_reference"}
    assert {path.stem for path in COMMITTED} == {"table", "dataset", *figures, *BY_HAND}


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_notebooks_are_empty_and_take_parameters(path: Path) -> None:
    content = nbformat.read(path, as_version=4)
    nbformat.validate(content)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    for cell in code:
        assert cell.outputs == []
        assert cell.execution_count is None
    parameters = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert len(parameters) == 1
    names = {line.partition(" =")[0] for line in parameters[0].source.splitlines()}
    if path.stem not in BY_HAND:
        files = {"table_csv", "scores_csv", "restarts_csv", "choices_csv", "figure_stem"}
        files |= {"described_json"} if path.stem == "dataset" else set()
        assert names == {"title", "about", "preset", *files}
    # as `normalise` would write it, so that editing it in a browser shows no noise
    assert normalise(path.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8")
