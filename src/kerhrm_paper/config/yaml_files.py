"""Which YAML files of ``config/`` are read, and which are refused?"""

import os
from collections.abc import Iterator
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError, similar
from kerhrm.files import check_regular, visible_files
from kerhrm_paper.config.fields import check_name
from kerhrm_paper.config.strict_yaml import shown_path

FOLDERS = ("data", "tables", "selected")  #: of ``config/``, with a file for each name
FILES = ("learners", "choices", "labels")  #: of ``config/``, with all names
#: files of ``config/`` beside them, of which others than this module read some
OTHERS = ("config", "endpoints", "paper_values", "real_tables")
PRESETS = "presets"  #: folder of ``config/``
YAML = (".yaml", ".yml")


def named_files(folder: Path) -> list[Path]:
    """The files ``NAME.yaml`` of a folder, hidden ones left out.

    Raises KerhrmError for a YAML file that would not be read, or has no name.
    """
    for path in _all_below(folder):
        is_in_folder = path.parent == folder
        is_read = is_in_folder and path.suffix == ".yaml"
        if _is_yaml(path) and not is_read:
            problem = f"{shown_path(path)}: a file of this name is not read"
            name = f"{folder.name}/{path.stem}.yaml"
            hint = f"call it {name}"
            if _is_taken(folder / f"{path.stem}.yaml", path):
                hint = f"move it away, or call it otherwise: {name} is another file"
            raise KerhrmError(problem, hint)
    files = visible_files(folder, "*.yaml")
    for path in files:
        if os.path.isdir(path):
            problem = f"{shown_path(path)}: is a folder"
            hint = f"move it away: {folder.name}/ holds files NAME.yaml"
            raise FileError(problem, hint)
        check_regular(shown_path(path), "move it away")
        try:
            check_name(path.stem)
        except ValueError as error:
            problem = f"{shown_path(path)}: {error}"
            raise KerhrmError(problem, "rename the file") from error
    return files


def check_read(folder: Path, further: list[Path]) -> None:
    """Refuse a YAML file of ``config/`` that would not be read."""
    given = [os.path.realpath(path) for path in further]
    known = (*FILES, *OTHERS)
    for path in _all_below(folder):
        top, *below = path.relative_to(folder).parts
        is_known = path.suffix == ".yaml" and path.stem in known and not below
        if not _is_yaml(path) or is_known or top in (*FOLDERS, PRESETS):
            continue
        if os.path.realpath(path) not in given:
            problem = f"{shown_path(path)}: a file of this name is not read"
            raise KerhrmError(problem, _place(folder, top, path))


def _is_yaml(path: Path) -> bool:
    """Whether a path is a file with the ending of a YAML file.

    A link to nothing and a pipe are none: nothing would be lost with them.
    """
    return path.suffix.lower() in YAML and os.path.isfile(path)


def _all_below(folder: Path, seen: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """All that lies below a folder, also behind links to folders, which no pattern
    enters; ``seen`` are the folders that the links have led through."""
    seen |= {folder.resolve()}
    for path in visible_files(folder, "**/*"):
        yield path
        is_link = os.path.islink(path) and os.path.isdir(path)
        if is_link and path.resolve() not in seen:
            yield from _all_below(path, seen)


def _is_taken(name: Path, path: Path) -> bool:
    """Whether another file has the name that a path would get."""
    if not os.path.lexists(name):
        return False
    # where upper and lower case are alike, it may be the file itself
    are_there = os.path.exists(name) and os.path.exists(path)
    return not (are_there and os.path.samefile(name, path))


def _place(folder: Path, top: str, path: Path) -> str:
    """Where the content of a file of the ``folder`` belongs that is not read.

    ``top`` is its name, or that of its folder there.
    """
    config = folder.name
    known = (*FILES, *OTHERS)
    if top == path.name:
        name = similar(path.stem, known)
        if name is None:
            return f"move it out of {config}/, and name it after --configfile"
        if _is_taken(folder / f"{name}.yaml", path):
            return f"write what it says in {config}/{name}.yaml, and delete it"
        return f"call it {config}/{name}.yaml"
    if top in known:
        return f"write what it says in {config}/{top}.yaml"
    every = (*FOLDERS, PRESETS)
    nearest = similar(top, every)
    places = [nearest] if nearest else [*every]
    hint = f"move it to {config}/{' or '.join(places)}"
    if any(_is_taken(folder / name / f"{path.stem}.yaml", path) for name in places):
        hint += " under another name"
    return hint
