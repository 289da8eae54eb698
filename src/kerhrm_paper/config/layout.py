"""Which names do the files of the workflow take, so that nothing else may have them?

They are read from its rules: a rule that is added reserves the names of its files by
itself.
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
    folder = root / "workflow"
    files = [*folder.rglob("*.smk"), *folder.rglob("Snakefile")]
    if files or root == CHECKOUT:
        return sorted(files)
    return rule_files(CHECKOUT)


def reserved(root: Path, stems: bool = False) -> re.Pattern[str]:
    """What matches the names that a checkout's rules leave to nothing else.

    Names of rules, which are targets, and of folders and files of a run.  With
    ``stems``, for what files are called after: also files without their endings, and
    what stands beside such a file, as ``X-comparisons``.
    """
    patterns = {re.escape(PROVENANCE), re.escape(TEMPORARY)}
    for path in rule_files(root):
        text = path.read_text(encoding="utf-8")
        patterns.update(re.escape(name) for name in _RULE.findall(text))
        for template in _templates(text):
            for part in template.removeprefix("<run>/").split("/"):
                patterns.update(_whole(part))
                if stems:
                    patterns.update(_stems(part))
    return re.compile("|".join(sorted(patterns)), re.IGNORECASE)


def _templates(rules: str) -> Iterator[str]:
    """Files that rules make, as ``<run>/raw/{raw}.npz``."""
    for _, section in _FILES.findall(rules):
        for double_quoted, single_quoted in _TEXT.findall(section):
            yield double_quoted or single_quoted


def _whole(part: str) -> Iterator[str]:
    """Pattern of a folder or a file without wildcards."""
    if not _WILDCARD.search(part):
        yield re.escape(part)


def _stems(part: str) -> Iterator[str]:
    """Patterns of a folder or a file without its ending."""
    *before, last = _WILDCARD.split(part)
    pieces = [*before, last.partition(".")[0]]
    if any(pieces):
        yield ".+".join(map(re.escape, pieces))
        yield re.escape("".join(pieces).strip("-_"))


def tracked(root: Path) -> set[Path]:
    """Files of a checkout's history, and their folders, relative to it.

    Empty without git.
    """
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return set()
    names = listing.stdout.decode(errors="replace").split("\0")
    paths = set()
    for file in filter(None, names):
        paths.add(Path(file))
        paths.update(Path(file).parents)
    return paths
