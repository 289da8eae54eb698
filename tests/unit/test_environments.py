"""pyproject.toml, the lock, the torch pin and the conda environment say the same."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
ENVS = ROOT / "envs"
PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}


def pyproject() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def direct(*extras: str) -> dict[str, Requirement]:
    """What pyproject.toml asks for, by canonical name."""
    project = pyproject()
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def pins(lines: list[str]) -> dict[str, str]:
    """Versions of ``name==version ; marker`` lines that hold for Python 3.11."""
    found: dict[str, str] = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate(PYTHON):
            (specifier,) = requirement.specifier
            assert specifier.operator == "==", f"{requirement} is not pinned"
            found[canonicalize_name(requirement.name)] = specifier.version
    return found


def lock_lines() -> list[str]:
    text = (ENVS / "requirements.lock").read_text()
    return [line.rstrip("\\ ") for line in text.splitlines() if line and not line[0].isspace()]


@pytest.fixture(scope="module")
def lock() -> dict[str, str]:
    return pins(lock_lines())


@pytest.fixture(scope="module")
def torch_pin() -> dict[str, str]:
    return pins((ENVS / "torch.txt").read_text().split())


@pytest.fixture(scope="module")
def conda() -> dict[str, Any]:
    environment: dict[str, Any] = yaml.safe_load((ENVS / "environment.yml").read_text())
    return environment


def conda_pins(conda: dict[str, Any]) -> dict[str, str]:
    (section,) = [entry for entry in conda["dependencies"] if isinstance(entry, dict)]
    return pins(section["pip"])


def test_lock_has_every_dependency_but_torch(lock: dict[str, str]) -> None:
    wanted = direct("workflow", "dev")
    assert "torch" not in lock
    assert wanted.keys() - lock.keys() == {"torch"}


def test_pins_are_within_the_ranges_of_pyproject(
    lock: dict[str, str], torch_pin: dict[str, str]
) -> None:
    pinned = lock | torch_pin
    for name, requirement in direct("workflow", "dev").items():
        assert requirement.specifier.contains(pinned[name]), f"{name} {pinned[name]}"


def test_every_locked_package_is_hashed() -> None:
    blocks = (ENVS / "requirements.lock").read_text().replace("\\\n", " ").splitlines()
    assert len(blocks) == len(lock_lines())
    assert all("--hash=sha256:" in block for block in blocks)


def test_torch_is_pinned_alone(torch_pin: dict[str, str]) -> None:
    assert list(torch_pin) == ["torch"]


def test_conda_has_every_direct_dependency_and_no_other(conda: dict[str, Any]) -> None:
    assert conda_pins(conda).keys() == direct("workflow").keys()


def test_conda_has_the_pinned_versions(
    conda: dict[str, Any], lock: dict[str, str], torch_pin: dict[str, str]
) -> None:
    pinned = lock | torch_pin
    versions = conda_pins(conda)
    assert versions == {name: pinned[name] for name in versions}


def test_conda_itself_gives_python_and_pip_alone(conda: dict[str, Any]) -> None:
    # Were a package taken from conda too, pip would overwrite it or be overwritten.
    entries = [entry for entry in conda["dependencies"] if isinstance(entry, str)]
    assert entries == [f"python={PYTHON['python_version']}", "pip"]
    assert Requirement(f"python{pyproject()['requires-python']}").specifier.contains("3.11")
    assert conda["name"] == pyproject()["name"]
    assert conda["channels"] == ["conda-forge", "nodefaults"]


def test_no_file_names_an_address() -> None:
    files = [path for path in ENVS.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        assert "://" not in path.read_text(), path  # "http" alone is in aiohttp
