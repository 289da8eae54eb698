"""Files on the walks of CONTRIBUTING.md are where its rules say."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIBRARY = ROOT / "src" / "kerhrm"
PAPER = ROOT / "src" / "kerhrm_paper"
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
NAME = r"[\w/]+\.py\b"


def test_a_user_s_rows_pass_through_files_that_are_there() -> None:
    """A name without a folder is in that of the name before it."""
    section = TEXT.partition("## How a user's rows pass")[2]
    diagram = section.split("```")[1]
    names = re.findall(NAME, diagram)
    assert len(names) > 40
    folder = LIBRARY
    for name in names:
        if "/" in name:
            folder = (LIBRARY / name).parent
        home = LIBRARY / "estimators" if name.startswith("_") else folder
        file = home / Path(name).name
        assert file.is_file(), f"{name} is no file of {home.relative_to(ROOT)}"


def test_a_raw_file_passes_through_files_of_the_rooms() -> None:
    """Of several rooms in a row the first file is in the first one, and so on."""
    section = TEXT.partition("## How a raw file becomes")[2]
    rows = re.findall(r"^\| (`\w+/`.*?) \|.*\| (.*?) \|$", section, re.MULTILINE)
    assert len(rows) > 5
    for rooms, files in rows:
        folders = re.findall(r"`(\w+)/`", rooms)
        groups = files.split(";") if len(folders) > 1 else [files]
        for folder, group in zip(folders, groups, strict=True):
            for name in re.findall(NAME, group):
                assert (PAPER / folder / name).is_file(), f"{name} is not in {folder}/"


def test_other_names_without_a_folder_are_files_of_the_source() -> None:
    named = re.findall(rf"`({NAME})`", TEXT)
    known = {path.name for path in (ROOT / "src").rglob("*.py")}
    known |= {path.name for path in (ROOT / "tests").rglob("*.py")}
    bare = {name for name in named if "/" not in name}
    assert bare <= known
