"""Targets of the Makefile that make a page end with its path."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: a target's words, and the file that its last line names
PAGES = {
    "smoke": "results/smoke/report.html",
    "reproduce": "results/fresh/report.html",
    "recover": "results/paper/report.html",
    "recover CONFIG=preset=smoke": "results/smoke/report.html",
    "report": "results/paper/report.html",
    "report CONFIG=preset=smoke": "results/smoke/report.html",
    "site": "build/site/index.html",
}


@pytest.mark.parametrize(("words", "page"), PAGES.items())
def test_a_target_ends_with_the_path_of_its_page(words: str, page: str) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    command = [make, "-n", "-o", ".venv/installed", *words.split()]
    # those of a make that runs the tests
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MAKE")
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1].endswith(f'echo "open {page}"')
