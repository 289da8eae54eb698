"""Tables that other code than today's has made are named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kerhrm_paper.reporting import verify as of_verify
from kerhrm_paper.reporting.older_code import _hash_today, of_older_code
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.verify import agreement, verify
from kerhrm_paper.runs import code_facts, provenance
from kerhrm_paper.runs.planned import planned_code

TABLES = ["table1", "mechanism"]
FILES = {
    "table1": "classification+r2=0.7/erm/predictions.npz",
    "mechanism": "classification+r2=0.7/kerhrm/predictions.npz",
}
Make = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with two scripts alone."""
    folder = tmp_path / "checkout" / "workflow" / "scripts"
    folder.mkdir(parents=True)
    for name in ("train", "make_table"):
        (folder / f"{name}.py").write_text("import json\n")
    return tmp_path / "checkout"


def forget() -> None:
    """As in a new process."""
    for known in (code_facts.facts_of, code_facts._known, _hash_today):
        known.cache_clear()


def record(run: Run, name: str, inputs: list[str], code: Any) -> None:
    path = run.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    digests = {}
    for file in inputs:
        digests[file] = provenance.digest(run.folder / file)
    params = {} if code is None else {"code": code}
    provenance.write(run.folder, "made", [path], digests, params)


@pytest.fixture
def run(make_run: Make, scores: pd.DataFrame, root: Path) -> Run:
    """Two tables, each with predictions and what today's code has noted of them."""
    for table in TABLES:
        folder = make_run(scores, table=table)
    run = Run(folder)
    for table, file in FILES.items():
        record(run, file, [], planned_code("train", root=root))
        code = planned_code("make_table", root=root)
        record(run, f"tables/{table}.csv", [file], code)
    return run


def test_a_table_is_as_old_as_what_it_was_made_of(run: Run, root: Path) -> None:
    assert of_older_code(run, TABLES, root) == []
    old = planned_code("train", root=root) | {"hash": "0123456789abcdef"}
    record(run, FILES["mechanism"], [], old)
    assert of_older_code(run, TABLES, root) == ["mechanism"]
    assert of_older_code(run, ["table1"], root) == []
    forget()
    (root / "workflow/scripts/make_table.py").write_text("import os\n")
    assert of_older_code(run, TABLES, root) == TABLES
    forget()
    (root / "workflow/scripts/make_table.py").unlink()
    assert of_older_code(run, TABLES, root) == TABLES


def test_a_hash_alone_is_of_an_earlier_version(run: Run, root: Path) -> None:
    record(run, FILES["table1"], [], "0123456789abcdef")
    assert of_older_code(run, TABLES, root) == ["table1"]


def test_nothing_is_said_where_nothing_is_known(
    run: Run, root: Path, tmp_path: Path
) -> None:
    """Neither of files without a hash, nor outside of a checkout."""
    record(run, FILES["table1"], [], None)
    old = planned_code("train", root=root) | {"hash": "0123456789abcdef"}
    record(run, FILES["mechanism"], [], old)
    assert of_older_code(run, TABLES, tmp_path) == []
    assert of_older_code(run, TABLES, root) == ["mechanism"]


def test_a_comparison_names_the_tables_of_older_code(
    make_run: Make, scores: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has a line of its own, of all its tables."""
    reference = make_run(scores, name="reference")
    run = Run(make_run(scores, name="run"))
    plain = str(verify(run, reference))

    def all_older(_: Run, tables: list[str]) -> list[str]:
        return tables

    monkeypatch.setattr(of_verify, "of_older_code", all_older)
    assert str(verify(run, reference)) == f"{plain}; of other code than now: table1"
    assert agreement(run, reference) == (plain, [])
