"""Where does a run write, so that nothing of anybody else's is overwritten?"""

import os
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError
from kerhrm_paper.config.layout import tracked
from kerhrm_paper.runs.locks import TEMPORARY
from kerhrm_paper.runs.provenance import PROVENANCE

HINT = "let results= name another folder"
#: files that only earlier versions have made: DATA/SETTING/data/train.npz
OLDER = "*/*/data/train.npz"


def no_folder(name: str) -> str:
    """Why there is no folder of this name, in the home folder if ``~`` says so, and a
    hint; empty if there is one."""
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            return ""
        if path.exists():
            return "is a file; name the folder that holds it"
    except (OSError, RuntimeError, ValueError):  # too long, or no such home folder
        pass
    return "does not exist; correct its name"


def folder_of_preset(results: str, preset: str) -> Path:
    """Folder of a run of a preset.

    Raises KerhrmError if the home folder that ``results`` begins with is unknown.
    """
    try:
        top = Path(results).expanduser()
    except RuntimeError as error:
        raise KerhrmError(f"results={results}: no such home folder", HINT) from error
    folder = os.path.normpath(top / preset)
    return Path(folder)


def check_run_folder(run: Path, root: Path) -> None:
    """Refuse a run in a folder that cannot be one or that holds other files.

    Those are files of the checkout ``root``, of another run, or any that no run has
    written.
    """
    where = f"results={run.parent}"
    try:
        check_folders(run, HINT, f"{where}: ")
        folder = run.resolve()
        _check_inside(folder, where)
        _check_content(run, folder, where)
    except OSError as error:
        problem = f"{where}: {error.strerror or error}"
        raise FileError(problem, HINT) from error
    as_written = Path(os.path.abspath(run))  # which may lead through a link
    for path in (as_written, folder):
        _check_checkout(path, root.resolve(), where)


def _check_inside(folder: Path, where: str) -> None:
    """Refuse a folder inside that of another run."""
    for above in folder.parents:
        of_run = [above / TEMPORARY, above / PROVENANCE]
        if all(path.is_dir() for path in of_run):
            raise KerhrmError(f"{where}: {above} is another run's folder", HINT)


def _check_content(run: Path, folder: Path, where: str) -> None:
    """Refuse a folder with files that no run of this version has written."""
    older = next(folder.glob(OLDER), None)
    if older is not None:
        raise KerhrmError(
            f"{where}: {run} has the layout of an earlier version, "
            f"as {older.parent.relative_to(folder)}",
            f"{HINT}, or delete {run}",
        )
    if not folder.is_dir() or _is_run(folder):
        return
    names = os.listdir(folder)
    if names:
        problem = f"{where}: {run} has files that no run has made, as {min(names)}"
        raise KerhrmError(problem, f"{HINT}, or choose another preset")


def _check_checkout(folder: Path, root: Path, where: str) -> None:
    """Refuse a folder of the checkout that is not in its ``results``."""
    is_result = folder.parent == root / "results"
    if is_result or not folder.is_relative_to(root):
        return
    top, *_ = folder.relative_to(root).parts
    is_of_make = top == "build" and (root / "Makefile").is_file()
    if top.startswith(".") or is_of_make:
        raise KerhrmError(f"{where}: {root / top} is a part of the checkout", HINT)
    shared = {Path(), Path("results")}
    of_checkout = tracked(root) - shared
    for above in (folder, *folder.parents):
        if not above.is_relative_to(root):
            return
        if above.relative_to(root) in of_checkout:
            raise KerhrmError(f"{where}: {above} is a part of the checkout", HINT)


def _is_run(folder: Path) -> bool:
    """Whether a run has begun in a folder."""
    of_run = [folder / TEMPORARY, folder / PROVENANCE]
    return any(path.is_dir() for path in of_run)


def check_folders(path: Path, hint: str, where: str = "") -> None:
    """Refuse a path on which a file, or a link to nothing, takes a folder's place.

    Parameters
    ----------
    path : Path
        Of a folder that may be made.
    hint : str
        What the user can do.
    where : str
        Stands in front of the problem.
    """
    for folder in (path, *path.parents):
        if os.path.isdir(folder):  # false, too, where the name is too long
            return
        if os.path.lexists(folder):
            kind = "a file" if folder.exists() else "a link to nothing"
            raise KerhrmError(f"{where}{folder} is {kind}, not a folder", hint)
