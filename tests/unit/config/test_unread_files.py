"""No YAML file of ``config/`` is passed over, and no preset is a further file."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from small_config import Load

from kerhrm_paper.config.config import load_config

FOLDERS = "data or tables or selected or presets"
UNREAD = {
    "config.yml": "write what it says in config/config.yaml, and delete it",
    "labels.yml": "call it config/labels.yaml",
    "Learners.yaml": "write what it says in config/learners.yaml, and delete it",
    "choice.yaml": "write what it says in config/choices.yaml, and delete it",
    "endpoints.YAML": "call it config/endpoints.yaml",
    "mine.yaml": "move it out of config/, and name it after --configfile",
    "learners/mine.yaml": "write what it says in config/learners.yaml",
    "table/x.yaml": "move it to config/tables$",
    "table/one.yaml": "move it to config/tables under another name",
    "preset/deep/x.yml": "move it to config/presets",
    "zzz/x.yaml": f"move it to config/{FOLDERS}",
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_file_that_is_not_read_is_refused(load: Load, name: str) -> None:
    load()
    path = Path("config", name)
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("{}")
    with refusal(f"{path}: a file of this name is not read; {UNREAD[name]}"):
        load()
    path.write_text("{}")
    load_config({}, [path], Path())  # --configfile reads it


@pytest.mark.parametrize("name", ["one.yml", "deep/one.yaml"])
def test_no_hint_lets_a_file_replace_another(load: Load, name: str) -> None:
    load()
    path = Path("config/tables", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    taken = "move it away, or call it otherwise: tables/one.yaml is another file"
    with refusal(f"{path}: a file of this name is not read; {taken}"):
        load()


@pytest.mark.parametrize(
    ("link", "hint"),
    [
        ("config/tables/lab", "call it tables/mine.yaml"),
        ("config/presets/lab", "call it presets/mine.yaml"),
        ("config/lab", f"move it to config/{FOLDERS}"),
        ("config/tables/deep/lab", "call it tables/mine.yaml"),
    ],
)
def test_a_folder_behind_a_link_is_not_passed_over(
    load: Load, tmp_path: Path, link: str, hint: str
) -> None:
    load()
    lab = tmp_path / "lab"
    (lab / "sub").mkdir(parents=True)
    (lab / "sub/README.md").touch()
    (lab / "again").symlink_to(lab)  # leads around for ever
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(lab)
    load()
    (lab / "sub/mine.yaml").write_text("{}")
    problem = f"{link}/sub/mine.yaml: a file of this name is not read; {hint}"
    with refusal(problem):
        load()


def test_a_folder_that_is_a_link_itself_is_read(load: Load, tmp_path: Path) -> None:
    load()
    presets = Path("config/presets").rename(tmp_path / "elsewhere")
    Path("config/presets").symlink_to(presets)
    assert load(preset="small").preset == "small"


def test_what_is_read_elsewhere_or_hidden_is_no_error(load: Load) -> None:
    load()
    others = ["endpoints.yaml", "paper_values.yaml", "real_tables.yaml"]
    others += [".mine.yaml", "README.md", "schemas/config.json"]
    for name in others:
        path = Path("config", name)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    load()


def test_a_preset_is_no_further_file(load: Load, tmp_path: Path) -> None:
    load()
    for path in (Path("config/presets/small.yaml"), tmp_path / "link.yaml"):
        if not path.exists():
            path.symlink_to(tmp_path / "config/presets/small.yaml")
        with refusal(f"{path.name}: this is a preset; write --config preset="):
            load_config({}, [path], Path())
    copy = tmp_path / "copy.yaml"
    copy.write_text(Path("config/presets/small.yaml").read_text())
    assert load_config({}, [copy], Path()).preset == "paper"
    # next to a preset that is named, in a file too, it makes that one small
    preset = Path("config/presets/small.yaml")
    assert load_config({"preset": "tuning"}, [preset], Path()).preset == "tuning"
    mine = tmp_path / "mine.yaml"
    for content, name in (("preset: tuning", "tuning"), ("device: cpu", None)):
        mine.write_text(content)
        for files in ([mine, preset], [preset, mine]):
            if name:
                config = load_config({}, files, Path())
                assert config.preset == name
                assert len(config.data("made").seeds.data) == 2  # of that preset
            else:
                with refusal("this is a preset; write --config preset=small"):
                    load_config({}, files, Path())


def read() -> None:
    """Read the small configuration that is written in this folder."""
    load_config({}, [], Path())


def test_a_yaml_file_is_a_regular_file(load: Load) -> None:
    """Reading a pipe waits until somebody writes to it."""
    load()
    path = Path("config/tables/zz.yaml")
    os.mkfifo(path)
    with refusal(f"{path} is a pipe, not a file; move it away"):
        read()
    path.rename("pipe")
    with refusal("pipe is a pipe, not a file"):
        load_config({}, ["pipe"], Path())
    path.mkdir()
    with refusal(f"{path}: is a folder; move it away: tables/ holds files NAME.yaml"):
        read()
    path.rmdir()
    for where, told in (
        ("nothing", "No such file or directory; correct this link, or delete it"),
        (path.name, "Too many levels of symbolic links; correct its links, which"),
    ):
        path.symlink_to(where)
        with refusal(f"{path}: {told}"):
            read()
        path.unlink()


def test_links_to_nothing_are_no_files_that_are_not_read(load: Load) -> None:
    """But in the place of a file that is read they are refused."""
    load()
    Path("config/tables/z.yml").symlink_to("nothing")
    Path("config/z.yaml").symlink_to("nothing")
    read()
    labels = Path("config/labels.yaml")
    labels.unlink(missing_ok=True)
    labels.symlink_to("nothing")
    with refusal(f"{labels}: No such file or directory; correct this link"):
        read()


def test_a_configuration_without_its_main_file_is_restored(load: Load) -> None:
    load()
    Path("config/config.yaml").unlink()
    with refusal("config/config.yaml: No such file or directory; restore it: git"):
        read()


def test_an_empty_device_is_an_empty_file(load: Load) -> None:
    load()
    load_config({}, [os.devnull], Path())


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_that_may_not_be_read_is_made_readable(
    load: Load, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    """Root may read all files, so that the system refuses in a user's place: a file,
    or all of a folder that can be listed only."""
    load()
    look = os.stat

    def refused(file: Any, *_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))

    def listed_only(file: Any, *words: Any, **more: Any) -> Any:
        if is_folder and "tables/" in str(file):
            refused(file)
        return look(file, *words, **more)

    def text_of(path: Path, **more: Any) -> str:
        if "tables/" in str(path):
            refused(path)
        with path.open(**more) as file:
            return file.read()

    monkeypatch.setattr(Path, "read_text", text_of)
    monkeypatch.setattr(os, "stat", listed_only)
    with refusal("config/tables/one.yaml: Permission denied; make it readable, and th"):
        read()


@pytest.mark.parametrize("name", ["data", "tables", "presets"])
def test_a_folder_that_is_gone_is_restored(load: Load, name: str) -> None:
    load()
    shutil.rmtree(f"config/{name}")
    told = rf"config/{name} has no file NAME\.yaml; restore it: git checkout config/"
    with refusal(told):
        read()
