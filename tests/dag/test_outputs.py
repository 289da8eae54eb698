"""The whole DAG on tiny sizes leaves the files that other work relies on, and no others."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from dagtools import Checkout, Job
from expected import EXPERIMENTS, FIGURES, SUFFIXES, TABLES, stems

from kerhrm.config.names import folder_of
from kerhrm.features.ntf import load_ntf
from kerhrm.networks.mlp import init_mlp

pytestmark = pytest.mark.dag


def test_the_copys_own_package_ran(smoke: Checkout) -> None:
    found = smoke.python("-c", "import kerhrm; print(kerhrm.__file__)").strip()
    assert Path(found).is_relative_to(smoke.folder)


def test_files_of_the_contract(results: Path) -> None:
    expected = ["config.yaml", "checked.txt"]
    expected += [f"tables/{table}.{suffix}" for table in TABLES for suffix in SUFFIXES]
    expected += [f"notebooks/{table}.ipynb" for table in TABLES]
    expected += [f"figures/{figure}.{suffix}" for figure in FIGURES for suffix in ("png", "pdf")]
    for experiment in EXPERIMENTS:
        expected += [f"scores/{experiment}.csv", f"restarts/{experiment}.csv"]
    assert [name for name in expected if not (results / name).is_file()] == []


def test_predictions_are_those_of_the_methods_that_run(results: Path) -> None:
    for name, experiment in EXPERIMENTS.items():
        if experiment.table == "figure2":  # scored from its iterations' directions
            continue
        for label, setting in experiment.settings.items():
            folder = results / name / folder_of(label) / "predictions"
            assert {path.stem for path in folder.iterdir()} == set(stems(setting.run)), folder


def test_every_file_is_a_rules(results: Path, smoke: Checkout, dag: list[Job]) -> None:
    declared = {file for job in dag for file in job.output}
    declared |= {
        job.fields[key] for job in dag for key in ("log", "benchmark") if key in job.fields
    }
    found = {str(p.relative_to(smoke.folder)) for p in results.rglob("*") if p.is_file()}
    assert found == declared  # no temporary file is left, and nothing is written in secret


def test_nothing_is_written_outside_the_results(smoke: Checkout, pristine: Path) -> None:
    def files(folder: Path) -> set[str]:
        names = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
        outside = (n for n in names if n.parts[0] not in ("results", ".snakemake"))
        return {str(name) for name in outside if "__pycache__" not in name.parts}

    assert files(smoke.folder) == files(pristine)


def test_every_job_has_log_benchmark_and_resources(smoke: Checkout, dag: list[Job]) -> None:
    working = [job for job in dag if job.output]
    assert len(working) > 100
    for key in ("log", "benchmark"):
        missing = {j.rule for j in working if not (smoke.folder / j.fields.get(key, "-")).is_file()}
        assert not missing, f"rules without {key}"
    unlimited = {
        job.rule
        for job in working
        if not re.search(r"\bmem_mb=.*\bruntime=|\bruntime=.*\bmem_mb=", job.fields["resources"])
    }
    assert not unlimited, "rules without mem_mb and runtime"


def test_logs_say_how_long_it_took_and_nothing_went_wrong(smoke: Checkout, dag: list[Job]) -> None:
    for job in dag:
        if job.output:
            log = (smoke.folder / job.fields["log"]).read_text(encoding="utf-8")
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


def test_features_on_disk_are_the_gradients(results: Path) -> None:
    folder = results / "classification" / "r2=0.70"
    x = torch.from_numpy(np.load(folder / "data" / "test_inputs.npz")["x"])
    ntf, f0 = load_ntf(folder / "ntf" / "test.npz")
    network = init_mlp(range(len(x)), (x.shape[-1], *EXPERIMENTS["classification"].hidden, 1))
    some = torch.tensor([0, 7, x.shape[1] - 1])
    rows = ntf.rows(some)
    for seed in range(len(x)):
        parameters = [
            t[seed].clone().requires_grad_(True)
            for pair in zip(network.weights, network.biases, strict=True)
            for t in pair
        ]
        w0, b0, w1, b1 = parameters
        for row, i in zip(rows[seed], some.tolist(), strict=True):
            output = (w1 @ torch.relu(w0 @ x[seed, i] + b0) + b1).squeeze()
            gradient = torch.autograd.grad(output, parameters)
            expected = torch.cat([g.flatten() for g in gradient])
            torch.testing.assert_close(row, expected, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(f0[seed, i], output, rtol=1e-5, atol=1e-6)
