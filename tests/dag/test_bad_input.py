"""Bad input: one clear line, exit status not 0, nothing half-written."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, edited, names, replace

from kerhrm_paper.runs.arrays import load_arrays

pytestmark = pytest.mark.dag

PRESET = "config/presets/smoke.yaml"
DATA = "results/smoke/classification+r2=0.7"


def complaints(output: str) -> list[str]:
    """Our own messages in Snakemake's output, each once."""
    found = re.findall(
        r'^WorkflowError in file "[^"]*", line \d+:\n(.*?)\n  File ',
        output,
        re.MULTILINE | re.DOTALL,
    )
    found += re.findall(r"^\S+ \S+ \w+: error: (.*)$", output, re.MULTILINE)
    return list(dict.fromkeys(found))


def refused(done: subprocess.CompletedProcess[str], *lines: list[str]) -> None:
    """The run failed with these lines alone, of which each has all its parts."""
    assert done.returncode != 0, done.stdout
    found = complaints(done.stdout)
    assert len(found) == len(lines), done.stdout
    for parts in lines:
        assert any(all(part in line for part in parts) for line in found), (
            parts,
            found,
        )
    assert not any("\n" in line for line in found)
    for frame in (
        "Traceback (most recent call last)",
        "Logging error",
        "unexpected error",
    ):
        assert frame not in done.stdout


@pytest.fixture(scope="module")
def refusing(copies: Callable[[], Path]) -> Checkout:
    """A copy in which nothing ever runs, and whose code has been read once."""
    checkout = Checkout(copies())
    checkout.plan("results/smoke/raw/houses.npz", *SMOKE)
    assert not (checkout.folder / "results" / "smoke").exists()
    return checkout


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--config", "preset=smok"), ["smok", "smoke"]),
        (("--config", "presets=smoke"), ["presets", "preset"]),
        (("tabel1", *SMOKE), ["tabel1 does not exist; did you mean table1"]),
        (("--config", "preset=smoke", "--config", "device=cpu"), ["--config", "twice"]),
        ((*SMOKE, "--workflow-profile", "profiles/slrum"), ["profiles/slrum"]),
        ((*SMOKE, "preset=paper"), ["preset", "twice"]),
        ((*SMOKE, "-R", "trian"), ["-R trian", "'train'"]),
        ((*SMOKE, "seed=7"), ["only own_table has the keys seed"]),
        (("own_table", *SMOKE, "csv=123", "target=y"), ["csv=123: it does not exist"]),
        ((*SMOKE, "results=README.md"), ["results=README.md", "is a file"]),
    ],
)
def test_command_line(
    refusing: Checkout, options: tuple[str, ...], parts: list[str]
) -> None:
    refused(refusing.snakemake("all", *options), parts)
    assert not (refusing.folder / "results" / "smoke").exists()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("-R", "score", "table1"), ["snakemake table1 -R ..."]),
        (("results/smoke",), ["name a file in this folder", "smoke/report.html"]),
        ((f"{DATA}/features",), ["such as", f"{DATA}/features/training.npz"]),
        (("results/paper/tables/table1.csv",), ["add --config preset=paper"]),
        (
            ("results/smoke/tables/tabel1.csv",),
            ["no rule makes", "results/smoke/tables/table1.csv"],
        ),
        (
            ("table3", "--until", "select_hyperparameters"),
            [
                "--until select_hyperparameters: table3 does not need",
                "that table3 needs",
            ],
        ),
        (
            ("table3", "-P", "results/smoke/tables/table1.csv"),
            ["table3 does not need results/smoke/tables/table1.csv"],
        ),
        (
            ("table3", "--batch", "select_hyperparameters=1/2"),
            ["--batch select_hyperparameters: table3 does not need"],
        ),
    ],
)
def test_a_target_that_would_be_lost(
    refusing: Checkout, options: tuple[str, ...], parts: list[str]
) -> None:
    refused(refusing.snakemake(*options, *SMOKE), parts)
    assert not (refusing.folder / "results").joinpath("smoke").exists()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("clasification/erm", ["did you mean 'classification'"]),
        ("classification/kerhrm+alpha=0.0+k=5", ["write kerhrm+k=5+alpha=0.0"]),
        ("classification/erm+steps=" + "1" * 300, ["more than 100"]),
    ],
)
def test_names_of_cells(refusing: Checkout, name: str, parts: list[str]) -> None:
    """Of data, of a learner, and one that is too long for a file system; the others
    are among the unit tests of the configuration."""
    refused(refusing.snakemake(f"results/smoke/{name}/scores.csv", *SMOKE), parts)
    assert not (refusing.folder / "results" / "smoke").exists()


def test_a_folder_of_an_earlier_layout(checkout: Checkout) -> None:
    older = checkout.folder / "results/smoke/classification/r2=0.70/data/train.npz"
    older.parent.mkdir(parents=True)
    older.touch()
    refused(checkout.snakemake("table1", *SMOKE), ["layout of an earlier version"])
    assert [*(checkout.folder / "results/smoke").iterdir()] == [older.parents[2]]


def test_no_target_is_all(checkout: Checkout) -> None:
    """For a plan, a graph and a report alike, and with a folder called like a rule."""
    planned = checkout.plan("all", *SMOKE)
    assert len(planned) > 50
    assert names(checkout.plan(*SMOKE)) == names(planned)
    assert names(checkout.plan(*SMOKE, "--directory", "report1")) == names(planned)
    graph = checkout.run(*SMOKE, "--rulegraph")
    assert all(rule in graph for rule in ("train_network", "render_report", '"all'))


@pytest.mark.parametrize(
    ("file", "old", "new", "parts"),
    [
        (
            PRESET,
            "steps: 20, evaluate_every",
            "step: 20, evaluate_every",
            ["step", "steps"],
        ),
        ("config/learners.yaml", "method: erm\n", "method: emr\n", ["emr", "erm"]),
        (
            "config/selected/classification.yaml",
            "rho: 0.1",
            "roh: 0.1",
            ["roh", "rho"],
        ),
    ],
)
def test_configuration_files(
    refusing: Checkout, file: str, old: str, new: str, parts: list[str]
) -> None:
    """One of each kind; the others are among the unit tests of the configuration."""
    with edited(refusing.folder / file, replace(old, new)):
        done = refusing.snakemake("all", *SMOKE)
    refused(done, parts)
    assert not (refusing.folder / "results" / "smoke").exists()


def test_device_that_is_not_there(refusing: Checkout) -> None:
    target = f"{DATA}/features/training.npz"
    done = refusing.snakemake(target, *SMOKE, "device=cuda:99", cores=1)
    refused(done, ["cuda:99", "device=cpu"])
    # refused before any work
    assert not (refusing.folder / "results" / "smoke").exists()


def test_without_a_core_nothing_is_waited_for(refusing: Checkout) -> None:
    target = f"{DATA}/data/train.npz"
    done = refusing.snakemake(target, *SMOKE, cores=0)
    refused(done, ["--cores must be at least 1; got 0"])
    assert not (refusing.folder / "results" / "smoke").exists()
    assert refusing.snakemake(target, *SMOKE, "-n", cores=0).returncode == 0


def test_truncated_files_are_refused(smoke: Checkout, tmp_path: Path) -> None:
    """By the next step, also where they could be read."""
    copy = smoke.copy(tmp_path / "copy")
    steps = {
        f"{DATA}+scramble=identity/data/train.npz": (
            f"{DATA}+scramble=identity/erm/predictions.npz"
        ),
        f"{DATA}/features/training.npz": f"{DATA}/kerhrm_as_printed/predictions.npz",
        "results/smoke/scores/table3.csv.gz": "results/smoke/tables/table3.csv",
        "results/smoke/tables/figure2.csv": "results/smoke/notebooks/figure2.ipynb",
    }
    for file in steps:
        os.truncate(copy.folder / file, (copy.folder / file).stat().st_size // 2)
    done = copy.snakemake("--keep-going", "--force", *steps.values(), *SMOKE)
    refused(done, *([file, "run again"] for file in steps))


def test_a_file_that_was_cut_is_not_up_to_date(checkout: Checkout) -> None:
    """Nor is a user's edit of it written over."""
    file = "results/smoke/raw/houses.npz"
    checkout.run(file, *SMOKE)
    checkout.run(file, *SMOKE)
    path = checkout.folder / file
    whole = path.read_bytes()
    path.write_bytes(b"")
    parts = [f"{file} has changed since rule fetch_raw made it; delete it"]
    refused(checkout.snakemake(file, *SMOKE), parts)
    assert path.read_bytes() == b""
    path.unlink()
    checkout.run(file, *SMOKE)
    assert path.read_bytes() == whole


def test_real_data_replace_the_fallback(
    checkout: Checkout, raw_dir: str | None
) -> None:
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
        "from kerhrm_paper.runs.locks import hold_run; hold_run('results/smoke'); "
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
        target = f"{DATA}/data/train.npz"
        done = checkout.snakemake(target, *SMOKE)
        held = "another command is at work in results/smoke (process"
        refused(done, [held, "wait until it has ended, or stop it"])
        checkout.run(target.replace("results/", "other/"), *SMOKE, "results=other")
    finally:
        holder.kill()
