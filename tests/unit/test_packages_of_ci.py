"""What CI installs to test the library alone is what these tests import."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
#: top-level names of the tests' own modules
HELPERS = {path.stem for path in ROOT.glob("tests/**/*.py")} | {"tests", "kerhrm"}


def job() -> tuple[list[Path], list[str]]:
    """Folders of the tests that it runs, and requirements that it installs."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"].values()
    (library,) = [job for job in jobs if "PARTS" in job.get("env", {})]
    folders = [ROOT / name for name in library["env"]["PARTS"].split()]
    commands = " ".join(step.get("run", "") for step in library["steps"])
    install = re.search(r'"\.\[plots\]"(.*)', commands)
    assert install
    return folders, ["kerhrm[plots]", *re.findall('"([a-z].*?)"', install[1])]


def with_their_needs(requirements: Iterable[str]) -> set[str]:
    """Names of distributions, and of all that they need."""
    names = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        name = wanted.name.lower().replace("_", "-")
        if name in names:
            continue
        try:
            needed = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:  # of another system
            continue
        names.add(name)
        for requirement in needed:
            marker = requirement.marker
            extras = [*wanted.extras, ""]
            if not marker or any(marker.evaluate({"extra": e}) for e in extras):
                waiting.append(requirement)
    return names


def imported(path: Path) -> Iterator[str]:
    """Packages that a module imports as soon as it is imported."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_tests_of_the_library_import_what_ci_installs() -> None:
    """Others are asked for with ``pytest.importorskip``."""
    folders, requirements = job()
    there = with_their_needs(requirements)
    distributions = packages_distributions()
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    assert modules
    missing = set()
    for path in modules:
        for package in {*imported(path)} - HELPERS - sys.stdlib_module_names:
            names = {name.lower() for name in distributions.get(package, [])}
            if names.isdisjoint(there):
                missing.add((path.name, package))
    assert not missing
