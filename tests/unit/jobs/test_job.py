"""The frame around a script: its log, its threads, its end, its note, its folder."""

import json
import logging
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import torch

from kerhrm.errors import KerhrmError
from kerhrm.jobs.job import job
from kerhrm.storage.arrays import atomic

COMPUTED = re.compile(r"(?P<rule>\w+): computed in (?P<seconds>[\d.]+) s$", re.MULTILINE)


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    """A job sets up a process of its own; here it must leave pytest's as it was."""
    root, threads = logging.getLogger(), torch.get_num_threads()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    torch.set_num_threads(threads)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "rule.log"


def rule(log: Path | None, **params: Any) -> SimpleNamespace:
    """As much of Snakemake's object as a job looks at."""
    place = log.parent if log else Path()
    files = {"input": [], "output": [str(place / "out")], "log": [str(log)] if log else []}
    return SimpleNamespace(rule="cluster", params=params, **files)


def test_the_log_goes_to_the_file_and_to_standard_error(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.write_text("of an earlier run\n")
    with job(rule(log)):
        logging.getLogger("kerhrm.anything").info("a message: äöü")
        logging.getLogger("kerhrm.anything").debug("a detail")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} cluster: a message: äöü", lines[0])
    assert capsys.readouterr().err.splitlines() == lines


def test_the_time_is_written_as_the_readme_reads_it(log: Path) -> None:
    with job(rule(log)):
        pass
    match = COMPUTED.search(log.read_text())
    assert match
    assert match["rule"] == "cluster"
    assert 0 <= float(match["seconds"]) < 5


def test_a_rule_without_a_log_file_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with job(rule(None)):
        logging.getLogger("kerhrm").info("hello")
    assert "cluster: hello" in capsys.readouterr().err


def test_bad_input_ends_the_job_with_one_line(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught, job(rule(log)):
        raise KerhrmError("k=50 exceeds n=40 training points", "lower k")
    assert caught.value.code == 1
    (line,) = log.read_text().splitlines()
    assert line.endswith(" cluster: error: k=50 exceeds n=40 training points; lower k")
    assert capsys.readouterr().err.splitlines() == [line]


def test_a_bug_ends_the_job_with_its_traceback(log: Path) -> None:
    with pytest.raises(ZeroDivisionError), job(rule(log)):
        _ = 1 / 0
    text = log.read_text()
    assert "cluster: unexpected error\nTraceback" in text
    assert text.endswith("ZeroDivisionError: division by zero\n")
    assert not COMPUTED.search(text)


def test_warnings_are_logged(log: Path) -> None:
    with job(rule(log)):
        warnings.warn("something to know", FutureWarning, stacklevel=1)
    assert "FutureWarning: something to know" in log.read_text()


def pools() -> set[int]:
    """Numbers of threads of all BLAS and OpenMP pools in this process."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


@pytest.mark.parametrize(
    ("params", "expected"), [({"threads": 2}, 2), ({"threads": 1}, 1), ({}, 1)]
)
def test_threads_are_the_configurations(log: Path, params: dict[str, int], expected: int) -> None:
    torch.set_num_threads(3 - expected)
    with job(rule(log, **params)):
        assert torch.get_num_threads() == expected
        assert pools() == {expected}


def test_temporary_files_and_notes_lie_in_the_runs_folder(tmp_path: Path) -> None:
    run = tmp_path / "results" / "smoke"
    log = run / "logs" / "train" / "a" / "erm.log"
    log.parent.mkdir(parents=True)
    target = run / "a" / "erm.npz"
    files = {"input": ["in"], "output": [str(target)], "log": [str(log)]}
    for keep in (True, False):
        with job(SimpleNamespace(rule="train", params={}, **files), keep=keep):
            assert [path.suffix for path in (run / "temporary").iterdir()] == [".lock"]
            with atomic(target) as handle:
                handle.write(b"content")
                assert len(os.listdir(run / "temporary")) == 2
                assert list(target.parent.iterdir()) == ([] if keep else [target])
        assert os.listdir(run / "temporary") == []
        (note,) = (run / "made").iterdir()
        expected = {"rule": "train", "inputs": ["in"], "outputs": [str(target)], "keep": keep}
        expected["log"] = [str(log)]
        assert json.loads(note.read_text()) == expected


def test_a_job_that_fails_leaves_no_note(log: Path) -> None:
    with pytest.raises(ZeroDivisionError), job(rule(log)):
        _ = 1 / 0
    assert not (log.parent / "made").exists()
    assert os.listdir(log.parent / "temporary") == []


def test_a_folder_that_takes_no_lock_ends_the_job_with_one_line(log: Path) -> None:
    (log.parent / "temporary").touch()
    with pytest.raises(SystemExit), job(rule(log)):
        raise AssertionError("it was run all the same")
    (line,) = log.read_text().splitlines()
    assert "error: cannot lock " in line
