"""Which files would an option of Snakemake's write over that are not its own?

Snakemake opens the path of ``--report`` and the like for writing whatever lies there:
a page of the workflow, a published one, a file of the user's.
"""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.command_line import CommandLine
from kerhrm_paper.config.layout import tracked

#: where Snakemake writes if the option has no value
DEFAULTS = {"report": "report.html", "generate_unit_tests": ".tests/unit"}
TITLE = b"<title>Snakemake Report</title>"
HEAD = 2000  #: bytes of a page that hold its title


def check_written(command: CommandLine, root: Path, run: str) -> None:
    """Refuse an option that would write over files that Snakemake did not write.

    Parameters
    ----------
    command : CommandLine
        The command.
    root : Path
        Folder of the checkout.
    run : str
        Folder of the run.

    Raises
    ------
    KerhrmError
        If the file or folder belongs to the run or to the checkout's history, or lies
        there already and is none of Snakemake's.
    """
    for option in command.options:
        is_own = WRITERS.get(option.name)
        if is_own is None:
            continue
        names = option.values or [DEFAULTS[option.name]]
        for name in names:
            problem = _problem(name, root, run, is_own)
            if problem:
                hint = f"name a new file after {option.word}"
                raise KerhrmError(f"{option.word}: {name} {problem}", hint)


def _problem(
    name: str, root: Path, run: str, is_own: Callable[[Path], bool]
) -> str | None:
    """Why Snakemake must not write to a path; None if it may.

    As it is written, and with all links followed: a link elsewhere may lead into the
    run, and one of the repository elsewhere.
    """
    for follow in (os.path.abspath, os.path.realpath):
        path, folder, checkout = (Path(follow(place)) for place in (name, run, root))
        if path.is_relative_to(folder):
            return "lies in the folder of the run, which its rules write"
        if path.is_relative_to(checkout) and path.relative_to(checkout) in tracked(
            root
        ):
            return "is a file of the repository"
    path = Path(os.path.abspath(name))
    if os.path.lexists(path) and not is_own(path):
        return "is there already, and Snakemake has not written it"
    return None


def _is_report(path: Path) -> bool:
    """Whether a file is a page of Snakemake's, alone or in an archive."""
    if not path.is_file():
        return False
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                return _is_archive(archive)
        except (zipfile.BadZipFile, RuntimeError):  # damaged, or with a password
            return False
    with path.open("rb") as file:
        return TITLE in file.read(HEAD)


def _is_archive(archive: zipfile.ZipFile) -> bool:
    """Whether an archive holds a page of Snakemake's, the files of its results, and
    nothing else."""
    folders = {name.partition("/")[0] for name in archive.namelist()}
    if len(folders) != 1:
        return False
    (folder,) = folders
    page = f"{folder}/report.html"
    others = [name for name in archive.namelist() if name != page]
    if not all(name.startswith(f"{folder}/data/raw/") for name in others):
        return False
    if len(others) + 1 != len(archive.namelist()):
        return False  # no page
    with archive.open(page) as file:
        return TITLE in file.read(HEAD)


def _is_empty(path: Path) -> bool:
    """Whether a folder has nothing in it."""
    return path.is_dir() and not any(path.iterdir())


def _never(path: Path) -> bool:
    """For files that have no mark of their writer."""
    return False


#: options that write, and how a file of theirs is known
WRITERS: dict[str, Callable[[Path], bool]] = {
    "report": _is_report,
    "report_html_path": _is_report,
    "generate_unit_tests": _is_empty,
    "slurm_efficiency_report_path": _never,
}
