"""Draw the workflow's rules into the README: ``python -m kerhrm.workflow.picture README.md``."""

import re
import subprocess
import sys
from pathlib import Path

from kerhrm.arrays import write_text
from kerhrm.reporting.readme import replace_section

NODE = re.compile(r"^\s*(?P<id>id\d+)\[(?P<rule>\w+)\]")
EDGE = re.compile(r"^\s*(?P<source>id\d+) --> (?P<target>id\d+)")
#: what the picture leaves out: the target of everything, and bookkeeping
HIDDEN = ("all", "write_configuration")


def rule_graph() -> str:
    """Snakemake's own rule graph of ``all``, as Mermaid text."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "all"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def to_mermaid(graph: str) -> str:
    """The graph with rules as names, edges sorted, without Snakemake's colours."""
    names = {m["id"]: m["rule"] for m in map(NODE.match, graph.splitlines()) if m}
    edges = {
        (names[m["source"]], names[m["target"]]) for m in map(EDGE.match, graph.splitlines()) if m
    }
    lines = [f"    {a} --> {b}" for a, b in sorted(edges) if not {a, b} & set(HIDDEN)]
    return "\n".join(["```mermaid", "flowchart TB", *lines, "```"])


def main() -> None:
    """Replace the section ``dag`` of the file named on the command line."""
    readme = Path(sys.argv[1])
    text = readme.read_text(encoding="utf-8")
    write_text(readme, replace_section(text, "dag", to_mermaid(rule_graph())))


if __name__ == "__main__":
    main()
