"""Bad input: one clear line, exit status not 0, nothing half-written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, edited, replace

from kerhrm.paper.runs.arrays import load_arrays

pytestmark = pytest.mark.dag

PRESET = "config/presets/smoke.yaml"
SETTING = "results/smoke/classification/r2=0.70"


def complaints(output: str) -> list[str]:
    """Our own messages in Snakemake's output, each once."""
    found = re.findall(
        r'^WorkflowError in file "[^"]*", line \d+:\n(.*?)\n  File ',
        output,
        re.MULTILINE | re.DOTALL,
    )
    found += re.findall(r"^\S+ \S+ \w+: error: (.*)$", output, re.MULTILINE)
    return list(dict.fromkeys(found))


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
    ("options", "parts"),
    [
        (("--config", "preset=smok"), ["smok", "smoke"]),
        (("--config", "presets=smoke"), ["presets", "preset"]),
        (("--config", "preset=smoke", "--config", "device=cpu"), ["--config", "twice"]),
        ((*SMOKE, "--workflow-profile", "profiles/slrum"), ["profiles/slrum"]),
    ],
)
def test_command_line(checkout: Checkout, options: tuple[str, ...], parts: list[str]) -> None:
    refused(checkout.snakemake("all", *options), *parts)
    assert not (checkout.folder / "results" / "smoke").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "parts"),
    [
        (PRESET, "steps: 20, evaluate_every", "step: 20, evaluate_every", ["step", "steps"]),
        (PRESET, "widths: [64]", "widths: [64", ["YAML"]),
        ("config/learners.yaml", "method: erm\n", "method: emr\n", ["emr", "erm"]),
        ("config/data/classification.yaml", "generator: classification", "generator: x", ["x"]),
        ("config/selected/classification.yaml", "rho: 0.1", "roh: 0.1", ["roh", "rho"]),
    ],
)
def test_configuration_files(
    checkout: Checkout, file: str, old: str, new: str, parts: list[str]
) -> None:
    """One of each kind; the others are among the unit tests of the configuration."""
    with edited(checkout.folder / file, replace(old, new)):
        done = checkout.snakemake("all", *SMOKE)
    refused(done, *parts)
    assert not (checkout.folder / "results" / "smoke").exists()


def test_device_that_is_not_there(checkout: Checkout) -> None:
    target = f"{SETTING}/features/training.npz"
    refused(checkout.snakemake(target, *SMOKE, "device=cuda:99", cores=1), "cuda:99", "device=cpu")
    assert not (checkout.folder / target).exists()


@pytest.mark.parametrize(
    ("file", "target"),
    [
        (f"{SETTING}/data/train.npz", f"{SETTING}/features/training.npz"),
        (f"{SETTING}/features/training.npz", f"{SETTING}/kerhrm_tuned/predictions.npz"),
        ("results/smoke/scores/table1.csv.gz", "results/smoke/tables/table1.csv"),
        ("results/smoke/tables/table1.csv", "results/smoke/notebooks/table1.ipynb"),
    ],
)
def test_a_truncated_file_is_refused(
    smoke: Checkout, tmp_path: Path, file: str, target: str
) -> None:
    """By the next step, also where it could be read."""
    copy = smoke.copy(tmp_path / "copy")
    path = copy.folder / file
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    done = copy.snakemake("--force", target, *SMOKE, "--rerun-triggers", "mtime")
    refused(done, path.name, "run again")


def test_real_data_replace_the_fallback(checkout: Checkout, raw_dir: str | None) -> None:
    if raw_dir is None:
        pytest.skip("needs KERHRM_RAW_DIR")
    raw = "results/smoke/raw/houses.npz"
    checkout.run(raw, *SMOKE)
    assert load_arrays(checkout.folder / raw)[1]["source"].startswith("fallback:")
    checkout.environment["KERHRM_RAW_DIR"] = raw_dir
    checkout.run(raw, *SMOKE)
    assert load_arrays(checkout.folder / raw)[1]["source"] == "king_county"


def test_two_runs_in_one_folder(checkout: Checkout) -> None:
    """The second one is refused; another run folder is free."""
    code = (
        "from kerhrm.paper.runs.locks import hold_run; hold_run('results/smoke'); "
        "import time; print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=checkout.folder,
        env=checkout.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        target = f"{SETTING}/data/train.npz"
        done = checkout.snakemake(target, *SMOKE)
        assert done.returncode != 0
        assert "results/smoke" in done.stdout
        assert "Traceback" not in done.stdout
        checkout.run(target.replace("results/", "other/"), *SMOKE, "results=other")
    finally:
        holder.kill()
