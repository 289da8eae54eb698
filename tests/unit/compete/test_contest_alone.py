"""One contest of a method at a time: its jobs import the one copy of its file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from method_text import TEMPLATE, Write
from refusals import refusal

from kerhrm_paper.compete import contest
from kerhrm_paper.runs.locks import acquire

ROOT = Path(__file__).parents[3]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """A lock that this process holds, as another contest would."""
    lock = acquire(path)
    assert lock is not None
    try:
        yield
    finally:
        lock.release()


@pytest.mark.parametrize("run", ["paper", "search/tuning"])
def test_a_file_is_not_exchanged_under_jobs_that_run(
    run: str, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At another preset, too."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(contest, "FOLDER", tmp_path / "compete")
    edited = write(f"{TEMPLATE}\n# edited\n")
    second = contest.Contest(edited, ["table1"], preset="smoke", minutes=1, cores=1)
    site = second.folder / "site" / "mine.py"
    site.parent.mkdir(parents=True)
    site.write_text("as the first contest began")
    lock = second.folder / run / "temporary" / "snakemake.lock"
    with (
        held(lock),
        refusal(rf"at work in .*/{run} \(process"),
    ):
        second.hold()
    assert site.read_text() == "as the first contest began"


def test_a_second_contest_waits_for_no_job(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the jobs of the first one no Snakemake is at work."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(contest, "FOLDER", tmp_path / "compete")
    second = contest.Contest(write(), ["table1"], preset="smoke", minutes=1, cores=1)
    lock = second.folder / contest.LOCK
    words = r"kerhrm compete is at work in .*\(process \d+"
    with held(lock), refusal(words):
        second.hold()
    assert not (second.folder / "site").exists()
