"""The whole DAG on tiny sizes leaves the files that other work relies on, and no others."""

import re
from pathlib import Path

import numpy as np
import pytest
from dagtools import Checkout, Job, logs
from expected import EXPERIMENTS, FIGURES, SHARED, SUFFIXES, TABLES, stage_of, stems

from kerhrm.config.names import folder_of

pytestmark = pytest.mark.dag


def test_the_copys_own_package_ran(smoke: Checkout) -> None:
    found = smoke.python("-c", "import kerhrm; print(kerhrm.__file__)").strip()
    assert Path(found).is_relative_to(smoke.folder)


def test_files_of_the_contract(results: Path) -> None:
    expected = ["config.yaml", "checked.txt"]
    expected += [f"tables/{table}.{suffix}" for table in TABLES for suffix in SUFFIXES]
    expected += [f"tables/{table}-comparisons.csv" for table in TABLES]
    expected += [f"notebooks/{table}.ipynb" for table in TABLES]
    expected += [f"figures/{figure}.{suffix}" for figure in FIGURES for suffix in ("png", "pdf")]
    expected += [f"figures/figure3-variants.{suffix}" for suffix in ("png", "pdf")]
    for experiment in EXPERIMENTS:
        expected += [f"{kind}/{experiment}.csv" for kind in ("scores", "restarts", "choices")]
    assert [name for name in expected if not (results / name).is_file()] == []


def owns(experiment: str, setting: str, stage: str) -> bool:
    return SHARED.owner(experiment, setting, stage) == (experiment, setting)


def test_predictions_are_those_of_the_methods_that_run(results: Path) -> None:
    for name, experiment in EXPERIMENTS.items():
        if experiment.table == "figure2":  # scored from its iterations' directions
            continue
        for label, setting in experiment.settings.items():
            folder = results / name / folder_of(label) / "predictions"
            own = {s for s in stems(setting.run) if owns(name, label, stage_of(s))}
            assert {path.stem for path in folder.glob("*")} == own, folder


def test_every_file_is_a_rules(results: Path, smoke: Checkout, dag: list[Job]) -> None:
    declared = {file for job in dag for file in job.output} | logs(dag)
    found = {str(p.relative_to(smoke.folder)) for p in results.rglob("*") if p.is_file()}
    # Nothing is written in secret, but for notes, one per job, and Snakemake's lock.
    notes = {file for file in found - declared if re.search(r"/made/\w+\.json$", file)}
    assert len(notes) == sum(bool(job.output) for job in dag)
    assert found - declared - notes == {"results/smoke/temporary/snakemake.lock"}
    # Neural tangent features are large; they go when they have been reduced.
    gone = declared - found
    assert gone == {f for job in dag if job.rule == "extract_ntf" for f in job.output}


def outside(folder: Path) -> dict[str, bytes]:
    """Files that no run may write, and what they hold."""
    names = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    ours = {("results", "smoke"), (".snakemake",)}
    return {
        str(name): (folder / name).read_bytes()
        for name in names
        if "__pycache__" not in name.parts and not {name.parts[:1], name.parts[:2]} & ours
    }


def test_nothing_is_written_outside_the_results(smoke: Checkout, pristine: Path) -> None:
    """Neither new files, nor old ones anew: the README, the choices, the published results."""
    assert outside(smoke.folder) == outside(pristine)


def test_every_job_has_message_log_benchmark_and_resources(smoke: Checkout, dag: list[Job]) -> None:
    working = [job for job in dag if job.output]
    assert len(working) > 100
    for job in working:
        assert job.message, job.name
        assert len(logs([job])) == 2, job.name
        assert all((smoke.folder / file).is_file() for file in logs([job])), job.name
        assert {"mem_mb", "runtime"} <= job.resources.keys(), job.name
    messages = [job.message for job in working]
    assert sorted(messages) == sorted(set(messages))  # each says which job it is


def test_logs_say_how_long_it_took_and_nothing_went_wrong(smoke: Checkout, dag: list[Job]) -> None:
    for job in dag:
        if job.output:
            (file,) = job.log
            log = (smoke.folder / file).read_text(encoding="utf-8")
            assert re.search(rf" {job.rule}: computed in \d+\.\d+ s$", log, re.MULTILINE), job.name
            assert "error" not in log, job.name


def test_arrays_need_no_pickle(results: Path) -> None:
    files = list(results.rglob("*.npz"))
    assert len(files) > 100
    for path in files:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}  # unpickling would fail here
        assert arrays
        for key, array in arrays.items():
            if array.dtype.kind == "f":
                assert np.isfinite(array).all(), (path, key)
