"""Snakemake's own options write over no file that Snakemake did not write."""

import zipfile
from pathlib import Path

import pytest
from refusals import refusal
from snakemake.cli import get_argument_parser

from kerhrm_paper.config.command_line import CommandLine
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.written_files import check_written

PAGE = "<!doctype html><head><title>Snakemake Report</title></head>"


def check(*words: str, root: Path = CHECKOUT) -> None:
    command = CommandLine(words, get_argument_parser())
    check_written(command, root, "results/smoke")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["README.md", "results/reference/report.html", "docs"])
def test_a_file_of_the_repository_is_kept(name: str) -> None:
    with refusal("--report: .* is a file of the repository; name a new file after"):
        check("all", "--report", str(CHECKOUT / name))


def test_a_file_of_the_run_is_kept(folder: Path) -> None:
    with refusal("lies in the folder of the run"):
        check("all", "--report", "results/smoke/report.html")


def test_a_link_leads_into_no_run_and_no_repository(folder: Path) -> None:
    """Nor does the folder of a run that lies behind a link itself."""
    (folder / "disk/smoke").mkdir(parents=True)
    (folder / "results").symlink_to("disk")
    (folder / "link").symlink_to("results/smoke")
    (folder / "checkout").symlink_to(CHECKOUT)
    for name in ("link/x.html", "disk/smoke/x.html", "results/smoke/x.html"):
        with refusal(f"--report: {name} lies in the folder of the run"):
            check("all", "--report", name)
    with refusal("--report: checkout/README.md is a file of the repository"):
        check("all", "--report", "checkout/README.md")
    (folder / "loop").symlink_to("loop")
    with refusal("--report: loop is there already"):
        check("all", "--report", "loop")
    check("all", "--report", "disk/x.html")


def test_a_file_of_the_user_is_kept(folder: Path) -> None:
    (folder / "report.html").write_text("<html>mine</html>")
    with refusal("report.html is there already, and Snakemake has not written it"):
        check("all", "--report")
    with refusal("is there already"):
        check("all", "--report", "report.html")
    with zipfile.ZipFile("mine.zip", "w") as archive:
        archive.writestr("letters.txt", "dear")
    with refusal("is there already"):
        check("all", "--report", "mine.zip")
    Path("dangling.html").symlink_to("nowhere")
    with refusal("is there already"):
        check("all", "--report", "dangling.html")


def test_a_page_of_snakemakes_is_written_again() -> None:
    check("all", "--report", "shown.html")
    Path("shown.html").write_text(PAGE)
    check("all", "--report", "shown.html")
    with zipfile.ZipFile("shown.zip", "w") as archive:
        archive.writestr("shown/report.html", PAGE)
        archive.writestr("shown/data/raw/1.csv", "1")
    check("all", "--report", "shown.zip")


@pytest.mark.parametrize(
    "members",
    [
        {"mine/report.html": "<html>mine</html>"},
        {"mine/report.html": "<html>mine</html>", "mine/letters.txt": "dear"},
        {"mine/report.html": PAGE, "mine/letters.txt": "dear"},
        {"mine/report.html": PAGE, "letters.txt": "dear"},
        {"mine/report.html": PAGE, "mine/data/letters.txt": "dear"},
        {"mine/data/raw/letters.txt": "dear"},
        {"report.html": PAGE},
        {},
    ],
)
def test_an_archive_of_the_user_is_kept(members: dict[str, str]) -> None:
    with zipfile.ZipFile("mine.zip", "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with refusal("mine.zip is there already, and Snakemake has not written it"):
        check("all", "--report", "mine.zip")


def test_an_archive_that_is_damaged_is_kept() -> None:
    with zipfile.ZipFile("mine.zip", "w") as archive:
        archive.writestr("mine/report.html", PAGE)
    path = Path("mine.zip")
    path.write_bytes(path.read_bytes().replace(b"<!doctype", b"<?doctype"))
    with refusal("mine.zip is there already"):
        check("all", "--report", "mine.zip")


def test_tests_are_written_to_a_folder_of_their_own(folder: Path) -> None:
    check("all", "--generate-unit-tests", "new")
    (folder / "mine").mkdir()
    check("all", "--generate-unit-tests", "mine")
    (folder / "mine/test_mine.py").touch()
    with refusal("--generate-unit-tests: mine is there already"):
        check("all", "--generate-unit-tests", "mine")


def test_other_options_name_files_that_are_read() -> None:
    (Path.cwd() / "style.css").touch()
    check("all", "--report", "new.html", "--report-stylesheet", "style.css")
