"""Bad input: one clear line, exit status not 0, nothing half-written.

Beside that line Snakemake prints its own: where in the Snakefile the exception rose
(``WorkflowError in file ...`` and a ``File ...`` frame), or, when a job fails,
``RuleException``, ``Error in rule ...`` and the job's log once more.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from dagtools import SMOKE, Checkout, edited, fill, replace, small_disk

from kerhrm.data.sources.fetch import RawSet
from kerhrm.data.sources.king_county import KING_COUNTY
from kerhrm.data.sources.mnist import MNIST

pytestmark = pytest.mark.dag

PRESET = "config/presets/smoke.yaml"
EXPERIMENT = "config/experiments/classification.yaml"
TUNED = "config/tuned/classification.yaml"
TRAIN = "results/smoke/classification/r2=0.70/data/train.npz"
NTF = "results/smoke/classification/r2=0.70/ntf/train.npz"
RAW = {
    "mnist": "results/smoke/raw/mnist.npz",
    "king_county": "results/smoke/raw/houses.npz",
}


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
    """Files other than logs, and the lock of Snakemake."""
    files = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    kept = (name for name in files if not {"logs", "temporary"} & set(name.parts))
    return sorted(map(str, kept))


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
        ("preset=smok", ["--config: preset = 'smok': no such preset", "did you mean 'smoke'?"]),
        ("presets=smoke", ["--config: presets = 'smoke': ", "did you mean 'preset'?"]),
        ("raw_dir=nowhere", ["--config: raw_dir = 'nowhere': there is no such folder"]),
    ],
)
def test_options(checkout: Checkout, option: str, parts: list[str]) -> None:
    refused(checkout.snakemake("all", *SMOKE, option), *parts)
    assert not (checkout.folder / "results" / "smoke").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "parts"),
    [
        (PRESET, "restarts: 3", "restart: 3", ["methods.kerhrm.clustering.restart = 3: no such"]),
        (
            PRESET,
            "k: [5, 10]",
            "k: [5, 301]",
            ["methods.kerhrm.k = [5, 301]: ", "lower k or raise n"],
        ),
        (PRESET, ":small_cnn", ":no_cnn", ["experiments.cnn.network.module = ", "no_cnn"]),
        (PRESET, "k: [5, 10]", "k: [5, 10", ["is not valid YAML", "expected ',' or ']'"]),
        (EXPERIMENT, "  - erm\n", "  - emr\n", ["run.0 = 'emr': no such method", "'erm'?"]),
        (EXPERIMENT, "r: classification", "r: clasification", ["no such data set; did you mean"]),
        (TUNED, "rho:", "roh:", ["dro.selected.roh = ", "did you mean 'rho'?"]),
    ],
)
def test_configuration_files(
    checkout: Checkout, file: str, old: str, new: str, parts: list[str]
) -> None:
    """One of each kind; all that can be wrong stands in the unit tests of the configuration."""
    with edited(checkout.folder / file, replace(old, new)):
        done = checkout.snakemake("all", *SMOKE)
    refused(done, f"{file}: ", *parts)
    assert complaints(done.stdout)[0].startswith(file)
    assert not (checkout.folder / "results" / "smoke").exists()


@pytest.mark.parametrize("file", ["data/train.npz", "scores.csv"])
def test_setting_that_is_not_there(checkout: Checkout, file: str) -> None:
    done = checkout.snakemake(f"results/smoke/classification/r2=0.7/{file}", *SMOKE)
    assert done.returncode
    assert "classification has no setting 'r2=0.7'; did you mean 'r2=0.70'?" in done.stdout


def test_device_that_is_not_there(checkout: Checkout) -> None:
    done = checkout.snakemake(NTF, *SMOKE, "device=cuda:99", cores=1)
    refused(done, "device=cuda:99", "GPUs", "use device=auto or device=cpu")
    setting = checkout.folder / "results/smoke/classification/r2=0.70"
    assert {name.split("/")[0] for name in written(setting)} == {"data"}  # made before


def test_results_folder_under_a_file(checkout: Checkout) -> None:
    below = "afile/folder"
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


HEADER = b"id,date,price,bedrooms\n"  # of the houses: without most of the columns


@pytest.mark.parametrize(
    ("raw", "content", "where", "defect"),
    [
        (MNIST, lambda size: bytes(size - 1), "environment", "truncated"),
        (KING_COUNTY, lambda size: HEADER.ljust(size + 1, b"\n"), "configuration", "altered"),
    ],
)
def test_raw_file_that_is_damaged(
    checkout: Checkout,
    tmp_path: Path,
    raw: RawSet,
    content: Callable[[int], bytes],
    where: str,
    defect: str,
) -> None:
    """No stand-in takes the place of a file that is there and wrong."""
    file = raw.files[-1]
    path = tmp_path / "raw" / raw.name / file.name
    path.parent.mkdir(parents=True)
    path.write_bytes(content(file.size))
    target, folder = RAW[raw.name], str(tmp_path / "raw")
    if where == "environment":
        done = checkout.snakemake(target, *SMOKE, env={"KERHRM_RAW_DIR": folder})
    else:
        done = checkout.snakemake(target, *SMOKE, f"raw_dir={folder}")
    refused(done, f"{path} is {defect}", file.sha256, "replace it by the published file")
    assert written(checkout.folder / "results" / "smoke") == []


def test_raw_files_that_are_nowhere(checkout: Checkout, tmp_path: Path) -> None:
    raw = KING_COUNTY
    cache = tmp_path / "cache"
    env = {"KERHRM_OFFLINE": "1", "KERHRM_CACHE_DIR": str(cache)}
    done = checkout.snakemake(RAW[raw.name], *SMOKE, "on_missing=fail", env=env)
    refused(done, raw.files[0].name, str(cache), "switched off", "set KERHRM_RAW_DIR")
    assert written(checkout.folder / "results" / "smoke") == []
    assert not cache.exists()


@pytest.mark.parametrize("spare", [0, 8192])
def test_disk_that_is_full(checkout: Checkout, tmp_path: Path, spare: int) -> None:
    """Without a single free byte, and with room for the log alone; then the cure."""
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        target = TRAIN.replace("results", str(disk), 1)
        filler = fill(disk, spare)
        done = checkout.snakemake(target, *SMOKE, f"results={disk}", cores=1)
        refused(done, f" {disk}", "No space left", "free disk space")
        assert written(disk) == ["filler"]
        filler.unlink()
        checkout.run(target, *SMOKE, f"results={disk}", cores=1)
        assert len(written(disk / "smoke" / "classification")) == 5


def test_temporary_folder_that_is_full(checkout: Checkout, results: Path, tmp_path: Path) -> None:
    """A notebook is executed there."""
    target = "results/smoke/notebooks/table1.ipynb"
    for kind, name in (
        ("tables", "table1"),
        *((k, "classification") for k in ("scores", "restarts", "choices")),
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
