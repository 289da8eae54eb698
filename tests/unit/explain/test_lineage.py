"""Jobs behind a file: all that it needs, nothing else, each after what it builds on."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerhrm.errors import KerhrmError
from kerhrm.reporting.explain.lineage import Job, Records


@st.composite
def dags(draw: st.DrawFn) -> list[Job]:
    """Jobs of which each reads some files of earlier ones, in any order."""
    n = draw(st.integers(1, 12))
    jobs = []
    for i in range(n):
        read = draw(st.sets(st.integers(0, i - 1))) if i else set()
        jobs.append(Job(f"rule{i}", "", tuple(map(str, sorted(read))), (str(i),)))
    return draw(st.permutations(jobs))


@settings(max_examples=40)
@given(jobs=dags(), data=st.data())
def test_every_job_that_a_file_needs_comes_once_and_after_its_inputs(
    jobs: list[Job], data: st.DataObject
) -> None:
    target = data.draw(st.sampled_from(jobs)).outputs[0]
    makers = {job.outputs[0]: job for job in jobs}
    needed = {target}
    while more := {file for one in needed for file in makers[one].inputs} - needed:
        needed |= more
    found = [job.outputs[0] for job in Records(jobs).behind([target])]
    assert sorted(found) == sorted(needed)
    for i, file in enumerate(found):
        assert {*makers[file].inputs} <= {*found[:i]}


def test_files_that_nothing_made_have_no_jobs() -> None:
    assert Records([]).behind(["raw"]) == []


def test_jobs_go_to_a_file_and_come_back(run: Path, tmp_path: Path) -> None:
    records = Records.of_run(run)
    path = tmp_path / "jobs.json"
    path.write_text(records.as_text(records.jobs))
    again = Records.read(path)
    assert list(again.jobs) == list(records.jobs)
    for job in records.jobs:
        for file in job.outputs:
            assert again.hashed(file) == records.hashed(file) is not None
    assert again.hashed("config/paper_values.yaml") is None


def test_what_is_no_list_of_jobs(tmp_path: Path) -> None:
    (tmp_path / "jobs.json").write_text("[]")
    with pytest.raises(KerhrmError, match="holds no jobs of a run"):
        Records.read(tmp_path / "jobs.json")


def test_fingerprints_come_from_what_snakemake_has_noted(run: Path, tmp_path: Path) -> None:
    output = "results/paper/classification/r2=0.70/predictions/erm.npz"
    noted = tmp_path / ".snakemake" / "metadata"
    noted.mkdir(parents=True)
    params = ["'0123456789abcdef'", "'auto'", "1", "{'k': 25}"]
    name = base64.urlsafe_b64encode(output.encode()).decode()
    (noted / name).write_text(json.dumps({"params": params}))
    codes = {job.place: job.code for job in Records.of_run(run, tmp_path).jobs}
    assert codes["classification/r2=0.70/erm"] == ("0123456789abcdef",)
    assert codes["classification/r2=0.70+H=I/erm"] == ()
