"""Which code a job runs, and what its record says of where it ran."""

import json
import os
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobtools import log_of, rule
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm_paper.runs import code_facts, provenance
from kerhrm_paper.runs import job as jobs
from kerhrm_paper.runs.job import job
from kerhrm_paper.runs.locks import TEMPORARY
from kerhrm_paper.runs.origin import CHECKOUT
from kerhrm_paper.runs.planned import check_code, planned_code

LONGEST = 0.1  #: seconds of a job that the comparison may take
METHOD = "kerhrm.methods.erm:train_erm"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a script alone."""
    folder = tmp_path / "checkout" / "workflow" / "scripts"
    folder.mkdir(parents=True)
    (folder / "learn.py").write_text("import json\n")
    return tmp_path / "checkout"


def test_a_plan_says_what_its_hash_is_of(root: Path) -> None:
    planned = planned_code("learn", METHOD, root=root)
    assert planned["script"] == "learn"
    assert planned["modules"] == [METHOD]
    alone = planned_code("learn", root=root)
    assert alone["hash"] != planned["hash"]
    assert len(alone["hash"]) == 16
    # it goes through files of parameters
    assert json.loads(json.dumps(planned)) == planned


def forget() -> None:
    """As in a new process."""
    for known in (code_facts.facts_of, code_facts._known):
        known.cache_clear()


def test_code_that_has_changed_since_the_plan_is_refused(root: Path) -> None:
    script = root / "workflow/scripts/learn.py"
    params = {"code": planned_code("learn", METHOD, root=root), "k": 1}
    script.write_text("import json  # a comment is no code\n")
    forget()
    check_code(params, root=root)
    script.write_text("import os\n")
    forget()
    told = "code of learn has changed since the plan was made; run the same command"
    with refusal(told):
        check_code(params, root=root)
    check_code({"k": 1}, root=root)


def test_a_job_of_an_outdated_plan_runs_nothing(run: Path) -> None:
    code: dict[str, Any] = planned_code("train", METHOD, root=CHECKOUT)
    current = rule(run, code=code)
    with job(current):
        (run / "out").touch()
    outdated = rule(run, code=code | {"hash": "0123456789abcdef"})
    with pytest.raises(SystemExit) as caught, job(outdated):
        raise AssertionError("it was run all the same")
    assert caught.value.code == 1
    told = "error: code of train has changed since the plan was made; run the same"
    assert told in log_of(run)


def test_the_comparison_takes_a_job_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the plan has found out of files is kept."""
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path))
    forget()
    params = {"code": planned_code("train", METHOD, root=CHECKOUT)}
    code_facts.keep()
    forget()
    began = time.process_time()
    check_code(params)
    assert time.process_time() - began < LONGEST
    forget()


def test_the_record_is_of_the_code_that_the_job_started_with(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = iter(["first", "second"])
    monkeypatch.setattr(jobs, "origin", lambda: {"commit": next(commits)})
    with job(rule(run, device="cpu")):
        (run / "out").touch()
    record = provenance.read(run, "out")
    assert record is not None
    assert record["commit"] == "first"


def test_the_record_names_libraries_and_the_device(run: Path) -> None:
    with job(rule(run, device="cpu")):
        (run / "out").touch()
    record = provenance.read(run, "out")
    assert record is not None
    assert record["device"] == "cpu"
    assert record["params"] == {"device": "cpu"}
    for name in ("numpy", "torch"):
        assert record[name] == metadata.version(name)
    with job(rule(run)):
        (run / "out").touch()
    record = provenance.read(run, "out")
    assert record is not None
    assert "device" not in record


def test_a_device_does_not_go_on_with_the_fits_of_another(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where ``auto`` has found a GPU before, say, and now finds none."""
    started = []

    def interrupted(device: str) -> None:
        monkeypatch.setattr(jobs, "_device", lambda _: {"device": device})
        with job(rule(run, device="auto")) as checkpoint:
            started.append(len(checkpoint.done))
            checkpoint.once("seed=0", lambda: {"a": np.zeros(1)})
            checkpoint.save()
            raise KerhrmError("the disk is full", "free some")

    for device in ("cuda:0", "cuda:0", "cpu"):
        with pytest.raises(SystemExit):
            interrupted(device)
    assert started == [0, 1, 0]
    # what another device has fitted is gone
    folders = [name for name in os.listdir(run / TEMPORARY) if "." in name]
    assert len(folders) == 1
