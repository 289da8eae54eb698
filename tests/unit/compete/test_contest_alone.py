"""One contest of a method at a time: its jobs import the one copy of its file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from method_text import TEMPLATE, Write
from refusals import refusal

from kerhrm_paper.compete import contest
from kerhrm_paper.compete.outcome import Outcome
from kerhrm_paper.compete.ranks import COLUMNS
from kerhrm_paper.compete.results import Results
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


def test_what_a_search_has_found_is_on_the_page(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(contest, "FOLDER", tmp_path / "compete")
    candidates = pd.DataFrame({"options": ["share=0.1"], "pooled": ["failed"]})
    line = "houses: 1 of 3 candidates failed: line 3: ValueError: no."

    def search(held: contest.Contest) -> tuple[dict[str, Any], pd.DataFrame]:
        held.notices = ["an edge."]
        held.failed_candidates = [line]
        return {}, candidates

    def results(outcome: Outcome, table: pd.DataFrame, _: Any, of: Any) -> Results:
        return Results(
            titles=[outcome.method.title],
            minutes=1.0,
            ranks=pd.DataFrame(columns=COLUMNS),
            tables={},
            comparisons=pd.DataFrame(),
            candidates=table,
            notices=of,
            caution="Ranks say nothing.",
        )

    monkeypatch.setattr(contest.Contest, "_search", search)
    monkeypatch.setattr(contest.Contest, "_snakemake", lambda *_: None)
    monkeypatch.setattr(Outcome, "results", results)
    ours = contest.Contest(write(), ["table1"], preset="smoke", minutes=1, cores=1)
    first, last = contest.compete(ours).splitlines()
    assert first == "Ranks say nothing."
    assert last == f"open {ours.page}"
    page = ours.page.read_text("utf-8")
    places = [page.index(text) for text in (first, "an edge.", line, "share=0.1")]
    assert places == sorted(places)
