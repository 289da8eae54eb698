"""Which names do the files of the workflow take, so that nothing else may have them?

They are read from its rules: a rule that is added reserves the names of its files by
itself.
"""

import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kerhrm.files import visible_files
from kerhrm_paper.runs.locks import TEMPORARY
from kerhrm_paper.runs.origin import CHECKOUT as CHECKOUT
from kerhrm_paper.runs.provenance import PROVENANCE

_RULE = re.compile(
    r"^ *(?:(?:rule|checkpoint) +|use +rule .* as +)(\w+)",
    re.MULTILINE,
)
#: a section of a rule that names files: the rest of its line, and deeper lines
_FILES = re.compile(
    r"^( +)(?:output|log|benchmark):(.*\n(?:\1 .*\n|[ \t]*\n)*)", re.MULTILINE
)
#: a file of a run; other texts of a section are what a report shows of it
_TEXT = re.compile(r"\"<run>/([^\"\n]*)\"|'<run>/([^'\n]*)'")
_WILDCARD = re.compile(r"\{[^}]*\}")


def rule_files(root: Path) -> list[Path]:
    """Files of the workflow of a checkout, or of this one if it has none."""
    folder = root / "workflow"
    files: list[Path] = []
    for pattern in ("*.smk", "Snakefile"):
        files += visible_files(folder, f"**/{pattern}")
    if files or root == CHECKOUT:
        return sorted(files)
    return rule_files(CHECKOUT)


def reserved(root: Path, stems: bool = False) -> re.Pattern[str]:
    """What matches the names that a checkout's rules leave to nothing else.

    Names of rules, which are targets, and of folders and files of a run.  With
    ``stems``, for what files are called after: also files without their endings, and
    what stands beside such a file, as ``X-comparisons``.
    """
    names = {PROVENANCE, TEMPORARY}
    for rules in _rules(root):
        names.update(_RULE.findall(rules))
    folders: set[str] = set()  # and file names, with wildcards
    for file in files_of_rules(root):
        folders.update(file.split("/"))
    escaped = map(re.escape, names)
    patterns = set(escaped)
    for folder in folders:
        if not _WILDCARD.search(folder):
            patterns.add(re.escape(folder))
        if stems:
            patterns.update(_stems(folder))
    ordered = sorted(patterns)
    pattern = "|".join(ordered)
    return re.compile(pattern, re.IGNORECASE)


def files_of_rules(root: Path) -> set[str]:
    """Files of a run that a checkout's rules make, as ``raw/{raw}.npz``."""
    files: set[str] = set()
    for rules in _rules(root):
        files |= _templates(rules)
    return files


def _rules(root: Path) -> Iterator[str]:
    """Texts of the files of the workflow."""
    for path in rule_files(root):
        yield path.read_text(encoding="utf-8")


@functools.cache
def _templates(rules: str) -> frozenset[str]:
    """Files that rules make, by the text of the rules."""
    files = set()
    for _, section in _FILES.findall(rules):
        for double_quoted, single_quoted in _TEXT.findall(section):
            files.add(double_quoted or single_quoted)
    return frozenset(files)


def _stems(name: str) -> Iterator[str]:
    """Patterns of a folder or a file without its ending."""
    *pieces, last = _WILDCARD.split(name)
    stem, _, _ = last.partition(".")
    pieces.append(stem)
    if any(pieces):
        escaped = map(re.escape, pieces)
        yield ".+".join(escaped)
        text = "".join(pieces)
        yield re.escape(text.strip("-_"))


def tracked(root: Path) -> set[Path]:
    """Files of a checkout's history, and their folders, relative to it.

    Empty without git.
    """
    try:
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"],
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return set()
    text = listing.stdout.decode(errors="replace")
    paths: set[Path] = set()
    for name in text.split("\0"):
        if name:
            file = Path(name)
            paths.add(file)
            paths.update(file.parents)
    return paths
