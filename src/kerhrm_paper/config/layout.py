"""What the workflow writes, read from its rules: names that nothing else may have.

A rule that is added reserves the names of its files by itself.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kerhrm_paper.runs.locks import TEMPORARY
from kerhrm_paper.runs.provenance import PROVENANCE

CHECKOUT = Path(__file__).resolve().parents[3]
_RULE = re.compile(r"^ *(?:(?:rule|checkpoint) +|use +rule .* as +)(\w+)", re.MULTILINE)
#: a section of a rule that names files: the rest of its line, and deeper lines
_FILES = re.compile(
    r"^( +)(?:output|log|benchmark):(.*\n(?:\1 .*\n|[ \t]*\n)*)", re.MULTILINE
)
_TEXT = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_WILDCARD = re.compile(r"\{[^}]*\}")


def rule_files(root: Path) -> list[Path]:
    """Files of the workflow of a checkout, or of this one if it has none."""
    found = (
        path
        for path in (root / "workflow").rglob("*")
        if path.suffix == ".smk" or path.name == "Snakefile"
    )
    return sorted(found) or ([] if root == CHECKOUT else rule_files(CHECKOUT))


def reserved(root: Path, stems: bool = False) -> re.Pattern[str]:
    """What matches the names that a checkout's rules leave to nothing else.

    Names of rules, which are targets, and of folders and files of a run.  With
    ``stems``, for what files are called after: also files without their endings, and
    what stands beside such a file, as ``X-comparisons``.
    """
    patterns = {re.escape(name) for name in (PROVENANCE, TEMPORARY)}
    for path in rule_files(root):
        text = path.read_text(encoding="utf-8")
        patterns |= {re.escape(name) for name in _RULE.findall(text)}
        for _, section in _FILES.findall(text):
            for texts in _TEXT.findall(section):
                patterns.update(_patterns("".join(texts), stems))
    return re.compile("|".join(sorted(patterns)), re.IGNORECASE)


def _patterns(template: str, stems: bool) -> Iterator[str]:
    """Patterns of the folders and the file of an output, as ``<run>/raw/{raw}.npz``."""
    for part in template.removeprefix("<run>/").split("/"):
        pieces = _WILDCARD.split(part)
        if pieces == [part]:
            yield re.escape(part)
        stem = [*pieces[:-1], pieces[-1].partition(".")[0]]
        if stems and any(stem):
            yield ".+".join(map(re.escape, stem))
            yield re.escape("".join(stem).strip("-_"))


def tracked(root: Path) -> set[Path]:
    """Files of a checkout's history, and their folders, relative to it.

    Empty without git.
    """
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return set()
    names = done.stdout.decode(errors="replace").split("\0")
    files = {Path(name) for name in names if name}
    return files.union(*(file.parents for file in files))
