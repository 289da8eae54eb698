"""The notes about files that a run is to replace."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kerhrm.workflow.replaced import (
    JOURNAL,
    forget_replaced,
    lost_files,
    make_lost_files_again,
    note_replaced,
)


def workflow(*outputs: list[str], main: bool = True) -> Any:
    """A stand-in for Snakemake's, whose jobs have these outputs."""
    jobs = [SimpleNamespace(output=files) for files in outputs]
    dag = SimpleNamespace(needrun_jobs=lambda: jobs, forcefiles={"mine"})
    return SimpleNamespace(dag=dag, is_main_process=main)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".snakemake").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_first_run_replaces_nothing(folder: Path) -> None:
    note_replaced(workflow(["a"], ["b", "c"]))
    assert not (folder / JOURNAL).exists()
    assert lost_files() == set()


def test_what_is_missing_afterwards_is_lost(folder: Path) -> None:
    for name in "abc":
        (folder / name).touch()
    note_replaced(workflow(["a", "new"], ["b"]))
    assert lost_files() == set()
    (folder / "a").unlink()
    (folder / "c").unlink()  # by hand
    assert lost_files() == {"a"}
    run = workflow()
    make_lost_files_again(run)
    assert run.dag.forcefiles == {"mine", "a"}
    job = workflow(main=False)
    make_lost_files_again(job)
    assert job.dag.forcefiles == {"mine"}


def test_a_later_run_keeps_what_it_did_not_make(folder: Path) -> None:
    for name in "ab":
        (folder / name).touch()
    note_replaced(workflow(["a"], ["b"]))
    (folder / "a").unlink()
    note_replaced(workflow(["b"]))
    forget_replaced()
    assert lost_files() == {"a"}
    (folder / "a").touch()
    forget_replaced()
    assert not (folder / JOURNAL).exists()
