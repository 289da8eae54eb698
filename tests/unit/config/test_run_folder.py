"""A run has a folder of its own."""

import subprocess
from pathlib import Path

import pytest
from refusals import refusal
from small_config import TREE, write

from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.run_folder import check_run_folder, folder_of_preset
from kerhrm_paper.runs.locks import TEMPORARY
from kerhrm_paper.runs.provenance import PROVENANCE


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return write(tmp_path, TREE)


def run(root: Path, results: str) -> Path:
    return load_config({"results": results}, root=root).run


def test_a_file_or_a_link_to_nothing_is_no_folder(root: Path) -> None:
    (root / "file").touch()
    (root / "link").symlink_to(root / "nowhere")
    no_folders = ("file", "file/deeper", "link", "x" * 300, "~nobody_here/x")
    for results in no_folders:
        for _ in range(2):  # also where the configuration is kept
            with refusal("results=") as error:
                run(root, results)
            message = str(error.value)
            assert results[:20] in message
            assert len(message.splitlines()) == 1


@pytest.mark.parametrize("results", ["s3://bucket/x", "file:///data/x", "gs:/x"])
def test_an_address_is_no_folder(root: Path, results: str) -> None:
    """A folder called s3: would be made here."""
    with refusal("must be a folder of this machine"):
        run(root, results)


@pytest.mark.parametrize(
    ("results", "folder"),
    [
        (".", "paper"),
        ("a b,c:d", "a b,c:d/paper"),
        ("x/../y", "y/paper"),
        ("there/", "there/paper"),
        ("2024", "2024/paper"),
    ],
)
def test_any_new_folder_will_do(root: Path, results: str, folder: str) -> None:
    assert run(root, results) == Path(folder)


def test_files_of_others_are_not_mixed_with_a_run(root: Path) -> None:
    (root / "photos/paper").mkdir(parents=True)
    assert run(root, "photos")  # empty
    (root / "photos/paper/me.png").touch()
    with refusal(r"results=photos: .*me\.png"):
        run(root, "photos")
    (root / "photos/paper" / TEMPORARY).mkdir()  # where a run has begun
    assert run(root, "photos")


def test_a_run_lies_in_no_other_one(root: Path) -> None:
    for name in (TEMPORARY, PROVENANCE):
        (root / "results/paper" / name).mkdir(parents=True)
    assert run(root, "results")
    with refusal("another run's folder"):
        run(root, "results/paper")


def test_a_run_lies_in_no_folder_of_the_checkout(root: Path) -> None:
    folders = {"config", "src/package", "results/reference"}
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "file").touch()
    (root / "results/README.md").touch()
    commands = (["init", "-q"], ["add", "config", "src", "results"])
    for command in commands:
        subprocess.run(["git", *command], cwd=root, check=True)
    for results in (
        "config",
        "config/deeper",
        "src",
        "src/package",
        "results/reference",
    ):
        with refusal("part of the checkout"):
            check_run_folder(folder_of_preset(results, "smoke"), root)
    for results in ("results", ".", "other", "results/mine"):
        check_run_folder(folder_of_preset(results, "smoke"), root)


@pytest.mark.parametrize("results", [".venv", ".snakemake/x", "build", "build/x"])
def test_a_run_lies_in_no_folder_of_tools(root: Path, results: str) -> None:
    """Which git does not list, and `make` or a tool writes or deletes."""
    (root / "Makefile").touch()
    for _ in range(2):
        with refusal(f"results={results}: .* is a part of the checkout"):
            run(root, results)
        (root / results).mkdir(parents=True, exist_ok=True)
    (root / "Makefile").unlink()
    if results.startswith("build"):
        assert run(root, results) == Path(results, "paper")


def test_a_link_of_the_checkout_leads_to_no_run(root: Path, tmp_path: Path) -> None:
    """A hidden one, as of an environment that checkouts share; results may be one."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / ".venv").symlink_to(elsewhere)
    with refusal(r"results=\.venv: .*\.venv is a part of the checkout"):
        run(root, ".venv")
    (root / "results").symlink_to(elsewhere)
    assert run(root, "results") == Path("results/paper")


def test_a_folder_of_the_older_layout_is_named(root: Path) -> None:
    """DATA/SETTING/data/train.npz; now it is DATA/data/train.npz."""
    old = root / "results/paper/made/r2=0.70/data"
    old.mkdir(parents=True)
    (root / "results/paper" / TEMPORARY).mkdir()
    (old / "train.npz").touch()
    with refusal("the layout of an earlier version") as error:
        run(root, "results")
    assert "made/r2=0.70/data" in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    new = root / "new/paper/made+r2=0.7/data"
    new.mkdir(parents=True)
    (root / "new/paper" / TEMPORARY).mkdir()
    (new / "train.npz").touch()
    assert run(root, "new") == Path("new/paper")


def test_a_folder_is_text_that_can_be_written(root: Path) -> None:
    with refusal("must be text in the encoding of this machine; rename the folder"):
        run(root, "made\udcff")
