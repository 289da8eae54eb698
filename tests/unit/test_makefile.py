"""Targets of the Makefile that make a page end with its path."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: a target's words, and the file that its last line names
PAGES = {
    "smoke": "results/smoke/report.html",
    "reproduce": "results/fresh/report.html",
    "recover": "results/paper/report.html",
    "recover CONFIG=preset=smoke": "results/smoke/report.html",
    "recover CONFIG=results=mine": "mine/paper/report.html",
    "report": "results/paper/report.html",
    "report CONFIG=preset=smoke": "results/smoke/report.html",
    "site": "build/site/index.html",
}


def dry_run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What make would do with some words, with the interpreter of the tests."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    programs = Path(sys.executable).parent
    command = [make, "-n", "-o", ".venv/installed", f"BIN={programs}", *words]
    # those of a make that runs the tests
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MAKE")
    }
    environment["PYTHONPATH"] = str(folder / "src")
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(("words", "page"), PAGES.items())
def test_a_target_ends_with_the_path_of_its_page(words: str, page: str) -> None:
    done = dry_run(ROOT, *words.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(f'echo "open {page}"')


def test_the_run_is_that_of_the_configuration(tmp_path: Path) -> None:
    """A preset or a folder of config/config.yaml counts, as it does for Snakemake."""
    for name in ("config", "src"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Makefile", tmp_path)
    file = tmp_path / "config" / "config.yaml"
    text = file.read_text(encoding="utf-8")
    changed = text.replace("preset: paper", "preset: smoke\nresults: elsewhere")
    assert changed != text
    file.write_text(changed, encoding="utf-8")
    done = dry_run(tmp_path, "recover")
    assert 'kerhrm_paper.runs.recover "elsewhere/smoke"' in done.stdout
    done = dry_run(tmp_path, "recover", "CONFIG=preset=paper")
    assert 'kerhrm_paper.runs.recover "elsewhere/paper"' in done.stdout


def test_a_configuration_that_is_wrong_ends_make() -> None:
    done = dry_run(ROOT, "recover", "CONFIG=preset=smok")
    assert done.returncode != 0
    assert "did you mean 'smoke'" in done.stderr
    assert "runs.recover" not in done.stdout
