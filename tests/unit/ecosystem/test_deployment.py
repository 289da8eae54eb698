"""Catalog, container, hooks and integration name what is there, and run what `make` runs."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
TARGETS = set(re.findall(r"^([a-z][\w-]*):", MAKEFILE, flags=re.M))
VARIABLES = set(re.findall(r"^([A-Z_]+) *\??=", MAKEFILE, flags=re.M))


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def made(command: str) -> Iterator[tuple[set[str], set[str]]]:
    """Targets and variables of every ``make`` in a command."""
    for words in re.findall(r"\bmake\b([^&|;\n]*)", command):
        plain = re.sub(r'\$\{\w+:\+(.*?)\}|"[^"]*"', r"\1", words).split()
        named = {word.partition("=")[0] for word in plain if "=" in word}
        yield {word for word in plain if "=" not in word}, named


def check_make(command: str) -> int:
    """How many ``make`` a command has; each of them is one that the Makefile knows."""
    found = list(made(command))
    for targets, variables in found:
        assert targets, command
        assert targets <= TARGETS, command
        assert variables <= VARIABLES, command
    return len(found)


def test_the_catalog_finds_what_it_asks_for() -> None:
    usage = load(".snakemake-workflow-catalog.yml")["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["mandatory-flags"].keys() == {"desc", "flags"}
    deployment = usage["software-stack-deployment"]
    assert deployment.keys() == {"conda", "apptainer", "apptainer+conda"}
    assert {type(value) for value in deployment.values()} == {bool}
    rules = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
    texts = {path.name: path.read_text(encoding="utf-8") for path in rules}
    assert deployment["conda"] == any("conda:" in text for text in texts.values())
    assert deployment["apptainer"] == any("container:" in text for text in texts.values())
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    assert (ROOT / "config" / "README.md").is_file()
    included = re.findall(r'^include: "(.+)"$', (ROOT / "workflow/Snakefile").read_text(), re.M)
    assert [name.removeprefix("rules/") for name in included]
    assert all((ROOT / "workflow" / name).is_file() for name in included)


def test_the_snakefile_at_the_top_is_the_workflow_and_nothing_else() -> None:
    lines = (ROOT / "Snakefile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == [
        'include: "workflow/Snakefile"'
    ]


@pytest.mark.parametrize("name", ["config/README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_paths_and_commands_of_a_document_exist(name: str) -> None:
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (path.parent / link).exists(), link
    for block in re.findall(r"```sh\n(.*?)```", text, flags=re.S):
        for line in block.splitlines():
            check_make(line.partition("#")[0])
    for folder in re.findall(r"`((?:src|config|docs|profiles|workflow|envs)/[\w/.-]+)`", text):
        if "NAME" not in folder:
            assert (ROOT / folder).exists(), folder


def test_the_files_that_config_readme_lists_are_those_there_are() -> None:
    listed = re.findall(r"^\| `([\w./]+)` \|", (ROOT / "config/README.md").read_text(), flags=re.M)
    there = {p.name for p in (ROOT / "config").iterdir() if not p.name.startswith((".", "README"))}
    assert {name.partition("/")[0] for name in listed} == there


def test_contributing_points_at_headings() -> None:
    """Anchors of docs/extending.md, as GitHub makes them of headings."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    extending = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^##+ (.+)$", extending, flags=re.M)
    }
    assert set(re.findall(r"docs/extending\.md#([\w-]+)", text)) <= anchors


def test_the_container_copies_what_is_there_and_makes_the_locked_environment() -> None:
    copied = [line.split()[1:] for line in DOCKERFILE.splitlines() if line.startswith("COPY")]
    assert copied[-1] == [".", "."]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for *sources, _ in copied:
        for source in sources:
            assert (ROOT / source).exists(), source
            assert source not in ignored
    runs = [line for line in DOCKERFILE.splitlines() if line.startswith("RUN")]
    assert sum(check_make(line) for line in runs if "apt-get" not in line) == 1
    # what `make env` reads is copied before it runs
    before = DOCKERFILE.partition("RUN make env")[0]
    needed = re.findall(r"^\.venv/installed: (.*)$", MAKEFILE, flags=re.M)[0].split()
    assert all(path.partition("/")[0] in before for path in needed)
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, flags=re.M)[0])
    assert entry[0].removeprefix("/kerhrm/").startswith(".venv/bin/")
    assert (ROOT / entry[-1].removeprefix("/kerhrm/")).is_file()


def test_the_images_have_the_python_that_the_environments_have() -> None:
    image = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())["image"]
    conda = load("envs/environment.yml")["dependencies"][0].removeprefix("python=")
    assert re.search(r"^FROM python:([\d.]+)-", DOCKERFILE, flags=re.M)[1] == conda  # type: ignore[index]
    assert re.search(r"python:([\d.]+)-", image)[1] == conda  # type: ignore[index]


def test_the_development_container_makes_the_environment() -> None:
    content = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert check_make(content["postCreateCommand"]) == 1
    settings = content["customizations"]["vscode"]["settings"]
    for schema in settings["yaml.schemas"]:
        assert (ROOT / schema).is_file()
    assert all((ROOT / path).exists() for path in settings["python.testing.pytestArgs"])


def test_hooks_run_the_tools_of_the_lock() -> None:
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    locked = (ROOT / "envs/requirements.lock").read_text(encoding="utf-8")
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        tool = hook["entry"].split()[0].removeprefix(".venv/bin/")
        package = {"lint-imports": "import-linter"}.get(tool, tool)
        assert re.search(rf"^{package}==", locked, flags=re.M), tool
        assert f"$(BIN)/{tool}" in MAKEFILE.partition("lint: env")[2].partition("\n\n")[0], tool


def test_continuous_integration_runs_what_make_runs() -> None:
    workflow = load(".github/workflows/ci.yml")
    assert workflow[True].keys() == {"push", "pull_request"}  # YAML reads `on` as a truth
    pinned = (ROOT / "envs/torch.txt").read_text().strip()
    assert workflow["env"]["TORCH"].partition("+")[0] == pinned
    assert workflow["env"].keys() <= VARIABLES
    jobs = workflow["jobs"]
    assert {"lint", "unit", "smoke", "site"} <= jobs.keys()
    for name, job in jobs.items():
        assert job["timeout-minutes"] > 0, name
        commands = [step["run"] for step in job["steps"] if "run" in step]
        assert sum(map(check_make, commands)) >= 1, name
    assert kept(jobs["smoke"]) >= {"results/smoke/report.html", "results/smoke/tables"}
    assert kept(jobs["site"]) == {"build/site"}


def kept(job: dict[str, Any]) -> set[str]:
    """Paths that a job uploads."""
    steps = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    return {path for step in steps for path in step["with"]["path"].split()}


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")))
def test_issue_forms_have_what_a_form_needs(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    for field in form["body"]:
        assert field["type"] in {"textarea", "input", "dropdown", "markdown", "checkboxes"}
        assert field["attributes"]["label"]


@pytest.mark.parametrize(
    "command",
    [
        ("hadolint", "Dockerfile"),
        ("actionlint", ".github/workflows/ci.yml"),
        ("cffconvert", "--validate", "-i", "CITATION.cff"),
        ("pre-commit", "validate-config", ".pre-commit-config.yaml"),
    ],
    ids=lambda command: command[0],
)
def test_its_own_tool_finds_nothing(command: tuple[str, ...]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_user_that_the_image_does_not_know_has_a_name_and_a_home() -> None:
    """Of a number without an account, as ``docker run --user`` gives, Snakemake knows neither."""
    told = dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^ENV (.*)$", DOCKERFILE, re.M))))
    script = "import getpass, pathlib; print(getpass.getuser(), pathlib.Path.home())"
    done = subprocess.run([sys.executable, "-c", script], env=told, capture_output=True, text=True)
    assert done.stdout.split() == ["kerhrm", "/tmp"], done.stderr
