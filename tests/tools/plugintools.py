"""Other packages as pip would install them, without pip, a network or the environment
at hand."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


def install(source: Path, target: Path) -> Path:
    """Copy a package to a folder for ``sys.path``, with the ``dist-info`` of its
    pyproject.toml."""
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    ignored = shutil.ignore_patterns("__pycache__", "pyproject.toml", "*.md")
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)
    groups = project.get("entry-points", {})
    return write_info(target, project["name"], groups, project["version"])


def write_info(
    target: Path, name: str, groups: dict[str, dict[str, str]], version: str = "0.1"
) -> Path:
    """The ``dist-info`` of a package with these entry points, by group and name."""
    info = target / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{n} = {e}\n" for n, e in points.items())
        for group, points in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return info


def show(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let this process see the packages in a folder, and no others."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("KERHRM_PLUGINS", str(folder))


def run(code: str, folder: Path, **variables: str) -> str:
    """Output of code in a fresh interpreter that sees the packages in a folder."""
    environment = {"PYTHONPATH": str(folder), "KERHRM_PLUGINS": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment | {"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
