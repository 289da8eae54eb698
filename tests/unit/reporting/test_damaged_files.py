"""A file that can be read but is wrong is refused in one line, with its cure."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from kerhrm.cli import main
from kerhrm_paper.claims.check import COLUMNS as OF_CLAIMS
from kerhrm_paper.evaluation.comparisons import COLUMNS as OF_COMPARISONS
from kerhrm_paper.evaluation.endpoints import COLUMNS as OF_ENDPOINTS
from kerhrm_paper.evaluation.score_rows import COLUMNS as OF_SCORES
from kerhrm_paper.evaluation.tables import COLUMNS as OF_CELLS
from kerhrm_paper.reporting import result_files
from kerhrm_paper.reporting.result_files import ResultFile
from kerhrm_paper.reporting.run import KEYS, Run
from kerhrm_paper.reporting.verify import agreement, compare_cells
from kerhrm_paper.runs import provenance

REFERENCE = Path(__file__).parents[3] / "results" / "reference"
CLAIMS = (
    "claim,where,statement,status,status_pooled,effect,ci_low,ci_high\n"
    "1,abstract,it is so,open,open,0.1,0.0,0.2\n"
    "2,Table 1,it is not so,supported,open,,,\n"
)
Make = Callable[..., Path]
Edit = Callable[[str], str]


@pytest.fixture
def run(make_run: Make, scores: pd.DataFrame) -> Path:
    """A run's folder that is complete."""
    folder = make_run(scores, name="run")
    (folder / "claims.csv").write_text(CLAIMS)
    return folder


@pytest.fixture
def commands(run: Path, make_run: Make, scores: pd.DataFrame) -> dict[str, list[str]]:
    """Words of the commands that read results, all of which succeed."""
    reference = make_run(scores, name="reference")
    cell = ["table1", "r2=0.7", "ERM", "test_acc"]
    return {
        "verify": ["verify", str(run), "--reference", str(reference)],
        "explain": ["explain", *cell, "--run", str(run)],
        "claims": ["claims", str(run)],
    }


def edit(path: Path, change: Edit) -> None:
    """Change the text of a file, compressed or not."""
    if path.suffix == ".gz":
        text = gzip.decompress(path.read_bytes()).decode()
        path.write_bytes(gzip.compress(change(text).encode()))
        return
    path.write_text(change(path.read_text()))


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line of an error."""
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kerhrm: error: ").rstrip("\n")


def renamed(column: str) -> Edit:
    """Gives the first line another name of a column."""
    return lambda text: text.replace(column, "x", 1)


def lines(start: int, stop: int, again: int = 1) -> Edit:
    """Keeps some lines of a text, and repeats the last one."""

    def keep(text: str) -> str:
        kept = text.splitlines(keepends=True)[start:stop]
        return "".join([*kept[:-1], *kept[-1:] * again])

    return keep


CELLS = "tables/table1.csv"
SCORES = "scores/table1.csv.gz"


@pytest.mark.parametrize(
    ("command", "file", "change", "problem"),
    [
        ("verify", CELLS, renamed("data_source"), "it has no column 'data_source'"),
        ("verify", CELLS, renamed("mean"), "it has no column 'mean'"),
        (
            "verify",
            CELLS,
            lambda text: text.replace(",0.4,", ",abc,", 1),
            "row 0 of its column 'paper' holds 'abc', not a number",
        ),
        ("verify", CELLS, lines(0, 1), "it has no rows"),
        ("verify", CELLS, lambda _: "", "it is empty"),
        ("verify", CELLS, lambda text: text[:-4], "its last line is cut"),
        (
            "verify",
            CELLS,
            lines(0, 4, again=2),
            "row 3 has the table, setting, method, metric, selection of an earlier row",
        ),
        (
            "verify",
            CELLS,
            lambda text: text.replace("table1", "table2"),
            "it has rows of table2",
        ),
        ("verify", CELLS, lambda text: text.replace(",ERM,", ",,", 1), "no method"),
        ("explain", CELLS, lines(0, 1), "it has no rows"),
        ("explain", SCORES, lines(0, 2), "it has 0 of the cell's 3 seeds"),
        ("explain", SCORES, lines(0, 6), "it has 2 of the cell's 3 seeds"),
        ("explain", SCORES, renamed("seed"), "it has no column 'seed'"),
        ("explain", SCORES, lambda text: text[:-4], "its last line is cut"),
        ("claims", "claims.csv", lines(1, 2), "it has no column 'claim'"),
        (
            "claims",
            "claims.csv",
            lambda _: "claim,status\n1,open\n",
            "it has no column 'statement'",
        ),
        ("claims", "claims.csv", lambda text: text[:70], "its last line is cut"),
    ],
)
def test_rows_that_are_not_as_their_rule_writes_them(
    run: Path,
    commands: dict[str, list[str]],
    capsys: pytest.CaptureFixture[str],
    command: str,
    file: str,
    change: Edit,
    problem: str,
) -> None:
    assert main(commands[command]) == 0
    capsys.readouterr()
    edit(run / file, change)
    assert main(commands[command]) == 1
    error = line_of(capsys)
    assert error.startswith(f"{run / file} is damaged (")
    assert problem in error
    assert error.endswith("); delete it and run again")


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("provenance.json", '{"tables": {"table1": 3}}', "tables.table1 must be a map"),
        ("provenance.json", '{"files": [1]}', "files must be a mapping; got [1]"),
        ("provenance.json", "[]", "it must be a mapping; got []"),
        ("config.yaml", "learners: 5", "learners must be a mapping; got 5"),
        ("config.yaml", "tables: {table1: [a]}", "tables.table1 must be a mapping"),
        ("config.yaml", "changes: {data: 5}", "changes.data must be a mapping; got 5"),
        ("config.yaml", "preset: [a]", "preset must be text; got ['a']"),
        (
            "config.yaml",
            "learners: {mine: {timeout: long}}",
            "learners.mine.timeout must be a number; got 'long'",
        ),
        ("config.yaml", "", "it is empty"),
        ("config.yaml", "- a\n", "it must be a mapping; got ['a']"),
    ],
)
def test_notes_that_are_not_of_the_form(
    run: Path,
    commands: dict[str, list[str]],
    capsys: pytest.CaptureFixture[str],
    file: str,
    content: str,
    problem: str,
) -> None:
    (run / file).write_text(content)
    assert main(commands["explain"]) == 1
    error = line_of(capsys)
    assert error.startswith(f"{run / file} is damaged ({problem}")
    cure = "delete it and run again"
    if file == "provenance.json":
        cure = f"restore it: git checkout {run / file}, or from a copy"
    assert error.endswith(f"); {cure}")


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("verify", CELLS),
        ("explain", CELLS),
        ("explain", SCORES),
        ("claims", "claims.csv"),
    ],
)
def test_a_file_that_has_changed_since_it_was_made(
    run: Path,
    commands: dict[str, list[str]],
    capsys: pytest.CaptureFixture[str],
    command: str,
    file: str,
) -> None:
    """Also where its rows could be right: those of a table, but for the last one."""
    path = run / file
    names = (CELLS, SCORES, "claims.csv")
    files = [run / name for name in names]
    provenance.write(run, "made_it", files, {}, {})
    assert main(commands[command]) == 0
    capsys.readouterr()
    edit(path, lines(0, -1))
    assert main(commands[command]) == 1
    assert line_of(capsys) == (
        f"{path} has changed since rule made_it made it; delete it and run again"
    )
    record = run / "provenance" / f"{file}.json"
    record.unlink()
    assert main(commands[command]) == 1
    assert line_of(capsys) == (
        f"{path} has no record of the rule that made it; delete it and run again"
    )
    shutil.rmtree(run / "provenance")
    noted = {"files": {name: provenance.digest(run / name) for name in names}}
    (run / "provenance.json").write_text(json.dumps(noted))
    edit(path, lines(0, -1))
    assert main(commands[command]) == 1
    assert line_of(capsys) == (
        f"{path} has changed since it was published; restore it, or publish it again"
    )
    del noted["files"][file]
    (run / "provenance.json").write_text(json.dumps(noted))
    assert main(commands[command]) == 1
    assert line_of(capsys) == (
        f"{path} is not among the files that were published; restore it, or publish it "
        "again"
    )


def test_there_is_no_agreement_with_a_published_file_that_has_changed(
    run: Path, commands: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Departures from it are shown, as they are what one looks for."""
    reference = run.parent / "reference"
    path = reference / CELLS
    noted = {
        "tables": {"table1": {"preset": "fresh"}},
        "files": {CELLS: provenance.digest(path)},
    }
    (reference / "provenance.json").write_text(json.dumps(noted))
    assert main(commands["verify"]) == 0
    capsys.readouterr()
    edit(path, lambda text: text.replace(",0.4,", ",0.5,"))  # of the paper
    assert main(commands["verify"]) == 1
    changed = f"{path} has changed since it was published"
    assert line_of(capsys) == f"{changed}; restore it, or publish it again"
    edit(path, lines(0, -1))
    assert main(commands["verify"]) == 1
    printed = capsys.readouterr().out
    first = f"this machine agrees with the published run in 15 of 16 cells; {changed}\n"
    assert printed.startswith(first)
    sentence, departures = agreement(Run(run), reference)
    assert sentence.endswith(
        "results/reference/tables/table1.csv has changed since it was published"
    )
    assert len(departures) == 1


def test_a_cell_is_compared_with_one_cell() -> None:
    cells = Run(REFERENCE).cells("table1")
    twice = pd.concat([cells, cells])
    with pytest.raises(pd.errors.MergeError):
        compare_cells(twice, cells)


@pytest.mark.parametrize(
    ("file", "columns"),
    [
        (result_files.CELLS, OF_CELLS),
        (result_files.SCORES, OF_SCORES),
        (result_files.COMPARISONS, OF_COMPARISONS),
        (result_files.ENDPOINTS, OF_ENDPOINTS),
        (result_files.CLAIMS, OF_CLAIMS),
    ],
)
def test_a_rule_writes_the_columns_that_its_file_must_have(
    file: ResultFile, columns: list[str]
) -> None:
    needed = {*file.keys, *file.texts, *file.numbers}
    assert needed <= {*columns}
    assert {*KEYS} <= {*result_files.CELLS.keys}


def test_all_published_files_are_read() -> None:
    for folder in (REFERENCE, REFERENCE / "smoke"):
        run = Run(folder)
        for table in run.tables:
            assert len(run.cells(table))
            run.comparisons(table)
    run = Run(REFERENCE)
    for table in run.tables:
        assert len(run.scores(table))
    for rows in (run.endpoints(), run.band(), run.claims()):
        assert rows is not None
        assert len(rows)
