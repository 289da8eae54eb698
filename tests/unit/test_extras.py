"""Without the packages of an extra, every command and import says which it needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kerhrm.extras import MissingPackageError, needs

#: an interpreter that finds no package of the extras
BARE = """
import importlib, sys
EXTRAS = ("bleach bs4 filelock ipykernel jinja2 matplotlib nbconvert nbformat "
          "papermill requests snakemake tabulate yaml").split()
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder())
"""
IMPORTS = (
    BARE
    + """
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(error)
"""
)
COMMANDS = (
    BARE
    + """
from kerhrm.cli import main
for line in sys.argv[1:]:
    sys.stderr.write(f"{main(line.split())}\\n")
"""
)


#: prints the status of every command, each after its error
STATUSES = """
import sys
from kerhrm.cli import main
for line in sys.argv[1:]:
    sys.stderr.write(f"{main(line.split())}\\n")
"""
#: draws, and prints the error
DRAW = """
from kerhrm import KerhrmError, plots
try:
    plots.environments([0, 1, 1] * 4, [[0, 1], [1, 2], [2, 0]] * 4, [0, 1, 2] * 4)
except KerhrmError as error:
    print(error)
"""


def lines(code: str, *arguments: str, folder: Path, **variables: str) -> list[str]:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=os.environ | variables
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).splitlines()


def test_every_part_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    parts = ("claims", "config", "data", "reporting", "runs.locks")
    names = [f"kerhrm_paper.{part}" for part in parts]
    said = lines(IMPORTS, *names, folder=tmp_path)
    assert len(said) == len(names)
    for line in said:
        assert line.endswith(" is not installed; pip install 'kerhrm[workflow]'")


def test_every_command_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    commands = ["verify x", "explain a b c d", "claims", "publish x", "cost"]
    check = "check t.csv --target y --html out.html"
    said = lines(COMMANDS, *commands, check, folder=tmp_path)
    assert said[1::2] == ["1"] * 6
    for line in said[:-2:2]:
        assert line.endswith(" is not installed; pip install 'kerhrm[workflow]'")
    expected = "kerhrm: error: matplotlib is not installed; pip install 'kerhrm[plots]'"
    assert said[-2] == expected


def test_needs_names_the_first_package_that_is_missing() -> None:
    needs("plots", "numpy", "pandas")
    with pytest.raises(MissingPackageError, match=r"no_such is not .*kerhrm\[plots\]"):
        needs("plots", "numpy", "no_such", "nor_this")
    assert issubclass(MissingPackageError, (ImportError, ValueError))


def test_a_backend_that_matplotlib_does_not_know_is_one_line(tmp_path: Path) -> None:
    commands = ["check t.csv --target y --html out.html", "publish x", "compete x.py"]
    said = lines(STATUSES, *commands, folder=tmp_path, MPLBACKEND="paper")
    problem = "MPLBACKEND must name a backend of matplotlib; got 'paper'"
    hint = "unset MPLBACKEND, or set it to agg"
    assert said == [f"kerhrm: error: {problem}; {hint}", "1"] * 3
    drawn = lines(DRAW, folder=tmp_path, MPLBACKEND="paper")
    assert drawn == [f"{problem}; {hint}"]
    assert lines(DRAW, folder=tmp_path, MPLBACKEND="svg") == []
    drawn = lines(DRAW, folder=tmp_path, MPLBACKEND="module://no_such")
    problem = "matplotlib cannot load its backend: No module named 'no_such'"
    assert drawn == [f"{problem}; {hint}"]
