"""Every command in a shell block exists: targets of make and Snakemake, modules, subcommands.

Nothing of them is run here; tests/dag runs the workflow.
"""

import argparse
import re
import shlex
from importlib.util import find_spec

import pytest
import yaml
from documents import ROOT, blocks, documents

from kerhrm.cli import COMMANDS
from kerhrm.config.resolve import resolve

#: of snakemake, and how many words follow; None: all up to the next option
OPTIONS = {
    "--cores": 1, "--configfile": 1, "--config": None, "--profile": 1, "--workflow-profile": 1,
    "-n": 0, "-f": 0, "-R": None, "--unlock": 0, "--rerun-incomplete": 0, "--delete-temp-output": 0,
    "--sdm": 1,
}  # fmt: skip
RULE = re.compile(r"^ *(?:rule|use rule \w+ as) (\w+)", re.MULTILINE)
#: commands that are not the project's
PLAIN = {".", "cd", "export", "squeue", "scancel"}


def commands(document: str) -> list[list[str]]:
    """Words of every command of a document's shell blocks."""
    found = []
    for block in blocks(document, "sh", "bash", "console"):
        for line in block.replace("\\\n", " ").splitlines():
            for command in line.removeprefix("$ ").split(" && "):
                if words := shlex.split(command, comments=True):
                    found.append(words)
    return found


@pytest.fixture(scope="module")
def rules() -> set[str]:
    """Names that Snakemake knows, those made in a loop among them."""
    files = [*(ROOT / "workflow").rglob("Snakefile"), *(ROOT / "workflow").rglob("*.smk")]
    files += ROOT.glob("Snakefile")
    named = {rule for path in files for rule in RULE.findall(path.read_text(encoding="utf-8"))}
    tables = {e["table"] for e in resolve({}, ROOT / "config").plain()["experiments"].values()}
    return named | tables | {f"publish_{table}" for table in tables}


def declared_in(document: str) -> set[str]:
    """Tables that the page itself tells the reader to write."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = {f"dataset_{name}" for name in re.findall(r"config/datasets/(\w+)\.yaml", text)}
    for block in blocks(document, "yaml"):
        said = yaml.safe_load(block)
        found |= {e["table"] for e in said.get("experiments", {}).values() if "table" in e}
    return found


def targets(words: list[str]) -> list[str]:
    """What a snakemake command names: targets, and rules to run again."""
    found, last, left = [], "", 0
    for word in words:
        if word.startswith("-"):
            assert word in OPTIONS, f"is {word} an option of snakemake?"
            last, wanted = word, OPTIONS[word]
            left = 10**6 if wanted is None else wanted
        elif left and last != "-R":
            left -= 1
        else:
            found.append(word)
    return found


def exists(words: list[str], document: str, rules: set[str]) -> bool:
    """Whether a command is one."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "make":
        text = (ROOT / "Makefile").read_text(encoding="utf-8")
        known = {t for line in re.findall(r"^([\w -]+):(?!=)", text, re.M) for t in line.split()}
        variables = set(re.findall(r"^(\w+) \??=", text, re.MULTILINE))
        given = [word.partition("=")[0] for word in rest if "=" in word]
        return {*(w for w in rest if "=" not in w)} <= known and {*given} <= variables
    if name == "snakemake":
        named = [target for target in targets(rest) if not target.startswith("results/")]
        return {*named} <= rules | declared_in(document)
    if name == "kerhrm":
        parser = argparse.ArgumentParser(exit_on_error=False)
        COMMANDS[rest[0]].declare(parser)
        parser.parse_args(rest[1:])
        return True
    if name.startswith("python") and rest[:1] == ["-m"]:
        return find_spec(rest[1]) is not None
    return name in PLAIN


def pages() -> list[str]:
    return [name for name in documents() if commands(name)]


@pytest.mark.parametrize("document", pages())
def test_commands_exist(document: str, rules: set[str]) -> None:
    wrong = [words for words in commands(document) if not exists(words, document, rules)]
    assert not wrong


@pytest.mark.parametrize("profile", ["profiles/slurm", "profiles/cluster-generic"])
def test_profiles_of_the_pages_are_there(profile: str) -> None:
    assert (ROOT / profile / "config.yaml").exists()


@pytest.mark.parametrize(
    "command",
    [
        "make nothing", "make recover TARGETS=all", "snakemake --cores 2 table9", "kerhrm",
        "snakemake --cores 2 all -R no_rule", "python -m kerhrm.nothing", "rm -rf results",
    ],
)  # fmt: skip
def test_a_command_that_is_none_is_noticed(command: str, rules: set[str]) -> None:
    try:
        found = exists(shlex.split(command), "README.md", rules)
    except (IndexError, KeyError):
        found = False
    assert not found


def test_a_page_may_declare_its_table(rules: set[str]) -> None:
    assert "dataset_pay" not in rules
    assert exists(["snakemake", "--cores", "4", "dataset_pay"], "docs/own_data.md", rules)
