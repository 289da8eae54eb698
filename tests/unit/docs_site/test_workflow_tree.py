"""The tree of a run in docs/workflow.md has the files that the rules make, and no
others."""

import itertools
import re
from collections.abc import Iterator

from pagetools import ROOT

from kerhrm_paper.config.layout import files_of_rules

#: what the page calls the wildcards of the rules
CALLED = {
    "raw": "RAW",
    "data": "DATA+option=value",
    "learner": "LEARNER+option=value",
    "group.data": "DATA+option=value",
    "t": "T",
    "table": "TABLE",
    "file": "FILE",
    "OWN_NAME": "NAME",
}
BRACES = re.compile(r"\{([^}]*)\}")


def called(file: str) -> str:
    """A file of a rule, as ``raw/{raw}.npz``, in the page's words."""
    if file.startswith("selected/"):  # of a data set, without options
        file = file.replace("{data}", "DATA")
    return BRACES.sub(lambda match: CALLED[match[1]], file)


def expanded(pattern: str) -> Iterator[str]:
    """Names that a pattern with ``{a,b}`` stands for."""
    *fixed, last = BRACES.split(pattern)[::2]
    choices = [names.split(",") for names in BRACES.findall(pattern)]
    for names in itertools.product(*choices):
        pairs = zip(fixed, names, strict=True)
        yield "".join(map("".join, pairs)) + last


def tree() -> Iterator[str]:
    """Files of the tree, from the folder of the run."""
    page = (ROOT / "docs" / "workflow.md").read_text()
    block = page.partition("```text\nresults/PRESET/\n")[2].partition("```")[0]
    above: list[str] = []
    for line in block.splitlines():
        name, *_ = line.split()
        depth = (len(line) - len(line.lstrip())) // 2
        above = above[: depth - 1]
        path = "".join(above) + name
        if name.endswith("/"):
            above.append(name)
        else:
            yield from expanded(path)


def test_the_tree_has_the_files_of_the_rules() -> None:
    files = {
        called(file)
        for file in files_of_rules(ROOT)
        if not file.startswith(("logs/", "benchmarks/"))
    }
    assert set(tree()) == files
