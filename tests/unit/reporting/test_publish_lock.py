"""Two processes that publish to one folder: the second one is refused."""

import errno
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from folders import complete, contents, recorded
from refusals import refusal

from kerhrm.cli import main
from kerhrm.errors import KerhrmError
from kerhrm.files import write_text
from kerhrm_paper.reporting.publish import publish
from kerhrm_paper.reporting.publish_again import publish_again
from kerhrm_paper.reporting.publish_lock import LOCK, publishing
from kerhrm_paper.reporting.publish_studies import draw_again, publish_studies
from kerhrm_paper.reporting.restored import restored_on_error
from kerhrm_paper.reporting.run import Run

ROOT = Path(__file__).parents[3]
STUDY = "studies/drift.csv"
Make = Callable[..., Path]
Command = Callable[[Run, Path], object]

pytestmark = pytest.mark.usefixtures("no_page")

COMMANDS: dict[str, Command] = {
    "all": lambda run, target: publish(run, target, root=ROOT),
    "a table": lambda run, target: publish(run, target, ["table1"], ROOT),
    "again": lambda _, target: publish_again(target, ROOT),
    "a study": lambda run, target: publish_studies(run, target, ["study_drift"]),
    "figures": lambda _, target: draw_again(target, ROOT),
}


@pytest.fixture
def run(make_run: Make, scores: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A complete run, also of a study that has one file."""
    folder = make_run(scores)
    file = folder / STUDY
    file.parent.mkdir()
    file.write_text("name\ndrift\n")
    monkeypatch.setattr(
        "kerhrm_paper.reporting.publish_studies.files_of", lambda _: [file.name]
    )
    return recorded(complete(folder))


@contextmanager
def other_process(folder: Path) -> Iterator[int]:
    """Another process that publishes to a folder; its number."""
    code = (
        "import sys; from pathlib import Path; "
        "from kerhrm_paper.reporting.publish_lock import publishing\n"
        "with publishing(Path(sys.argv[1])): print('held', flush=True); input()"
    )
    words = [sys.executable, "-c", code, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.communicate("\n")
    assert process.returncode == 0


def test_no_command_publishes_where_another_process_does(
    tmp_path: Path, run: Run
) -> None:
    """Nothing is written, nor is the lock, which goes with its process."""
    target = publish(run, tmp_path / "published", root=ROOT)
    publish_studies(run, target, ["study_drift"])
    before = contents(target)
    with other_process(target) as number:
        words = (
            rf"kerhrm publish is at work in {target} \(process {number} on .*\); "
            "wait until it has ended, or stop it"
        )
        for command in COMMANDS.values():
            with refusal(words):
                command(run, target)
        after = contents(target)
        assert after.pop(target / LOCK)
        assert after == before
    assert contents(target) == before
    publish(run, target, ["table1"], ROOT)


@pytest.mark.parametrize("command", ["all", "a table", "a study"])
def test_a_new_folder_is_another_process_s_too(
    tmp_path: Path, run: Run, command: str
) -> None:
    """Though it holds files, and no record of them yet; then it is free again."""
    target = tmp_path / "results" / "published"
    with publishing(target):
        (target / "claims.csv").write_text("the first")
        with refusal(f"kerhrm publish is at work in {target}"):
            COMMANDS[command](run, target)
        (target / "claims.csv").unlink()
    assert not target.parent.exists()
    target.mkdir(parents=True)
    (target / LOCK).touch()  # of a process that was killed
    COMMANDS[command](run, target)
    assert not (target / LOCK).exists()


@pytest.mark.parametrize("held", [".", "..", "paper"])
def test_folders_above_and_below_are_held(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, held: str
) -> None:
    """A folder that is put back holds those of other presets."""
    run = recorded(Run(make_run(scores, "paper")))
    target = tmp_path / "results" / "published"
    target.mkdir(parents=True)
    with publishing(target / held), refusal("kerhrm publish is at work in"):
        publish(run, target, root=ROOT)
    assert publish(run, target, root=ROOT) == target / "paper"
    assert not [*tmp_path.rglob(LOCK)]


def test_a_folder_is_held_until_it_is_put_back(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "published"

    def failed() -> None:
        with publishing(target), restored_on_error(target):
            write_text(target / "new.csv", "new")
            raise KerhrmError("the kernel died")

    with refusal("the kernel died"):
        failed()
    assert not target.exists()
    publish(run, target, root=ROOT)
    before = contents(target)
    with publishing(target):
        with refusal("the kernel died"), restored_on_error(target):
            write_text(target / "new.csv", "new")
            raise KerhrmError("the kernel died")
        with refusal("is at work in"):
            publish(run, target, root=ROOT)
    assert contents(target) == before


def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Root may write anywhere, so that the lock refuses in the place of the disk."""
    target = tmp_path / "published"

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("kerhrm_paper.runs.locks.FileLock.acquire", read_only)
    assert main(["publish", str(run.folder), "--reference", str(target)]) == 1
    assert capsys.readouterr().err == (
        f"kerhrm: error: cannot write {target}: Read-only file system; make the folder "
        "writable, then run the same command again\n"
    )
    assert not target.exists()
