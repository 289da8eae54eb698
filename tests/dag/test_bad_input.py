"""Bad input: one clear line, exit status not 0, nothing half-written.

Beside that line Snakemake prints its own: where in the Snakefile the exception rose
(``WorkflowError in file ...`` and a ``File ...`` frame), or, when a job fails,
``RuleException``, ``Error in rule ...`` and the job's log once more.
"""

import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from dagtools import SMOKE, Checkout, edited, fill, replace, small_disk

from kerhrm.data.raw import MNIST

pytestmark = pytest.mark.dag

PRESET = "config/presets/smoke.yaml"
METHOD = "config/methods/kerhrm.yaml"
EXPERIMENT = "config/experiments/classification.yaml"
TRAIN = "results/smoke/classification/r2=0.70/data/train.npz"
NTF = "results/smoke/classification/r2=0.70/ntf/train.npz"
RAW = "results/smoke/raw/mnist.npz"


def complaints(output: str) -> list[str]:
    """Our own messages in Snakemake's output, each once."""
    found = re.findall(
        r'^WorkflowError in file "[^"]*", line \d+:\n(.*?)\n  File ',
        output,
        re.MULTILINE | re.DOTALL,
    )
    found += re.findall(r"^\S+ \S+ \w+: error: (.*)$", output, re.MULTILINE)
    return list(dict.fromkeys(found))


def written(folder: Path) -> list[str]:
    """Files other than logs."""
    files = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return sorted(str(name) for name in files if "logs" not in name.parts)


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """The run failed with one line, and the line has all these parts."""
    assert done.returncode != 0, done.stdout
    lines = complaints(done.stdout)
    assert len(lines) == 1, done.stdout
    assert "\n" not in lines[0]
    for part in parts:
        assert part in lines[0]
    for frame in ("Traceback (most recent call last)", "Logging error", "unexpected error"):
        assert frame not in done.stdout


@pytest.mark.parametrize(
    ("option", "parts"),
    [
        ("preset=smok", ["unknown preset 'smok'", "did you mean 'smoke'?"]),
        ("preset=huge", ["unknown preset 'huge'", "known are: paper, smoke"]),
        ("presets=smoke", ["'presets'", "'smoke'", "did you mean 'preset'?"]),
        ("colour=red", ["'colour'", "'red'", "known are: ", "device", "results"]),
        ("device=gpu", ["'device' = 'gpu'", "auto", "cpu", "cuda"]),
        ("threads=-1", ["'threads' = -1", "greater than 0"]),
        ("bootstrap=0", ["'bootstrap' = 0", "greater than 0"]),
        ("on_missing=ignore", ["'on_missing' = 'ignore'", "'stand-in' or 'fail'"]),
    ],
)
def test_options(checkout: Checkout, option: str, parts: list[str]) -> None:
    refused(checkout.snakemake("all", *SMOKE, option), *parts)
    assert not (checkout.folder / "results" / "smoke").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "parts"),
    [
        (METHOD, "iterations: 3", "iteration: 3", ["methods.kerhrm.iteration'", "did you mean"]),
        (PRESET, "restarts: 3", "restart: 3", ["clustering.restart'", "value 3", "'restarts'?"]),
        (PRESET, "  erm:\n", "  emr:\n", ["'methods.emr'", "smoke.yaml", "did you mean 'erm'?"]),
        (EXPERIMENT, "run: [erm", "run: [irm", ["run.0' = 'irm'", "'erm'", "'kerhrm'"]),
        (EXPERIMENT, "table: table1", "tabel: table1", ["'experiments.classification.table'"]),
        (PRESET, "n_test: 100", "n_test: -100", ["data.n_test' = -100", "greater than 0"]),
        (PRESET, "seeds: 2", "seeds: 0", ["classification.seeds' = 0", "greater than 0"]),
        (PRESET, "hidden: [64]", "hidden: [-64]", ["hidden.0' = -64", "greater than 0"]),
        (PRESET, "k: [5, 10]", "k: [5, -10]", ["kerhrm.k.1' = -10", "greater than 0"]),
        (PRESET, "k: [5, 10]", "k: []", ["kerhrm.k' = []", "at least 1"]),
        (EXPERIMENT, "{r2: 0.80}", "{r2: 1.80}", ["r2=0.80.data.r2' = 1.8", "or equal to 1"]),
        (PRESET, "k: [5, 10]", "k: [5, 301]", ["r2=0.70'", "k=301", "n=300", "lower", "or raise"]),
        (
            PRESET,
            "restarts: 3",
            "restarts: 3\n      clusters: 301",
            ["r2=0.70'", "K=301", "n=300", "lower methods.kerhrm.clustering.clusters"],
        ),
        (PRESET, "k: [5, 10]", "k: [5, 10", [PRESET, "not valid YAML", "line 8"]),
    ],
)
def test_configuration_files(
    checkout: Checkout, file: str, old: str, new: str, parts: list[str]
) -> None:
    with edited(checkout.folder / file, replace(old, new)):
        refused(checkout.snakemake("all", *SMOKE), *parts)
    assert not (checkout.folder / "results" / "smoke").exists()


def test_sizes_at_the_limit_are_accepted(checkout: Checkout) -> None:
    """So that the refusals above have the right bound."""
    path = checkout.folder / PRESET
    limit = replace("restarts: 3", "restarts: 3\n      clusters: 300")
    with edited(path, lambda text: limit(text).replace("k: [5, 10]", "k: [5, 300]", 1)):
        checkout.run("--dry-run", "all", *SMOKE)


def test_device_that_is_not_there(checkout: Checkout) -> None:
    done = checkout.snakemake(NTF, *SMOKE, "device=cuda:99", cores=1)
    refused(done, "device=cuda:99", "GPUs", "use device=auto or device=cpu")
    setting = checkout.folder / "results/smoke/classification/r2=0.70"
    assert {name.split("/")[0] for name in written(setting)} == {"data"}  # made before


@pytest.mark.parametrize("below", ["afile", "afile/folder"])
def test_results_folder_under_a_file(checkout: Checkout, below: str) -> None:
    (checkout.folder / "afile").write_text("not a folder")
    done = checkout.snakemake("all", *SMOKE, f"results={below}")
    refused(done, f"results folder '{below}' cannot be written", "--config results=FOLDER")
    assert (checkout.folder / "afile").read_text() == "not a folder"


def test_results_folder_that_is_read_only(checkout: Checkout, tmp_path: Path) -> None:
    def check(folder: Path) -> None:
        done = checkout.snakemake("all", *SMOKE, f"results={folder / 'new'}")
        refused(done, f"results folder '{folder / 'new'}' cannot be written", "choose another")
        assert list(folder.iterdir()) == []

    folder = tmp_path / "disk"
    if os.geteuid() == 0:  # whom no mode of a folder stops
        with small_disk(folder, "ro") as disk:
            check(disk)
    else:
        folder.mkdir(mode=0o555)
        check(folder)


@pytest.mark.parametrize("where", ["configuration", "environment"])
@pytest.mark.parametrize("defect", ["truncated", "altered"])
def test_raw_file_that_is_damaged(
    checkout: Checkout, tmp_path: Path, where: str, defect: str
) -> None:
    file = MNIST.files[-1]
    path = tmp_path / "raw" / MNIST.name / file.name
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(file.size - (defect == "truncated")))
    raw = str(tmp_path / "raw")
    if where == "environment":
        done = checkout.snakemake(RAW, *SMOKE, env={"KERHRM_RAW_DIR": raw})
    else:
        done = checkout.snakemake(RAW, *SMOKE, f"raw_dir={raw}")
    refused(done, f"{path} is {defect}", file.sha256, "replace it by the published file")
    assert written(checkout.folder / "results" / "smoke") == []


def test_raw_files_that_are_nowhere(checkout: Checkout, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    env = {"KERHRM_OFFLINE": "1", "KERHRM_CACHE_DIR": str(cache)}
    done = checkout.snakemake(RAW, *SMOKE, "on_missing=fail", env=env)
    refused(done, MNIST.files[0].name, str(cache), "switched off", "set KERHRM_RAW_DIR")
    assert written(checkout.folder / "results" / "smoke") == []
    assert not cache.exists()


@pytest.mark.parametrize("spare", [0, 8192])
def test_disk_that_is_full(checkout: Checkout, tmp_path: Path, spare: int) -> None:
    """Without a single free byte, and with room for the log alone; then the cure."""
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        target = TRAIN.replace("results", str(disk), 1)
        filler = fill(disk, spare)
        done = checkout.snakemake(target, *SMOKE, f"results={disk}", cores=1)
        refused(done, f"cannot write {disk}", "No space left", "free disk space")
        assert written(disk) == ["filler"]
        filler.unlink()
        checkout.run(target, *SMOKE, f"results={disk}", cores=1)
        assert len(written(disk / "smoke" / "classification")) == 5


def test_temporary_folder_that_is_full(checkout: Checkout, results: Path, tmp_path: Path) -> None:
    """A notebook is executed there."""
    target = "results/smoke/notebooks/table1.ipynb"
    for kind, name in (
        ("tables", "table1"),
        *((k, "classification") for k in ("scores", "restarts")),
    ):
        folder = checkout.folder / "results" / "smoke" / kind
        folder.mkdir(parents=True)
        pd.read_csv(results / kind / f"{name}.csv").to_csv(folder / f"{name}.csv", index=False)
    with small_disk(tmp_path / "disk", "size=64k") as disk:
        done = checkout.snakemake(
            target, "--allowed-rules", "render_notebook", *SMOKE, env={"TMPDIR": str(disk)}
        )
        refused(done, str(disk), "No space left", "TMPDIR")
        assert list(disk.iterdir()) == []
    assert not (checkout.folder / target).exists()
