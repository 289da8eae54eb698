"""What the notes of jobs say about files that are gone."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from kerhrm.jobs.lost import MADE, lost_files, note_made

#: outputs by inputs: a chain, and what is made of its beginning on the way by a temp() file
CHAIN = {"a": ["raw"], "b": ["a"], "c": ["b"], "temporary": ["a"], "d": ["temporary"]}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the whole chain has been made."""
    monkeypatch.chdir(tmp_path)
    note(CHAIN)
    for name in ("raw", *CHAIN):
        Path(name).touch()
    Path("temporary").unlink()
    return tmp_path


def note(made: Mapping[str, list[str]]) -> None:
    for output, inputs in made.items():
        job = SimpleNamespace(rule=f"make_{output}", input=inputs, output=[output], log=[])
        note_made(Path(), output, job, keep=output != "temporary")


@pytest.mark.parametrize(
    ("gone", "lost"),
    [
        ("", []),
        ("a", ["a"]),  # b stands
        ("ab", ["a", "b"]),  # c stands, and d, which was made of a
        ("c", []),  # nothing was made of it
        ("bc", []),
        ("d", []),
    ],
)
def test_what_stands_on_a_gone_file_loses_it(run: Path, gone: str, lost: list[str]) -> None:
    for name in gone:
        Path(name).unlink()
    assert lost_files(".") == lost
    assert lost_files(run) == lost


@pytest.mark.usefixtures("run")
def test_a_job_writes_its_own_note_anew() -> None:
    Path("a").unlink()
    note({"b": ["raw"], "temporary": ["raw"]})  # the rules have changed
    assert lost_files(".") == []


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"outputs": 3, "inputs": 4, "keep": true}'])
def test_a_damaged_note_counts_for_nothing(text: str) -> None:
    Path("a").unlink()
    Path(MADE, "x.json").write_text(text)
    assert lost_files(".") == ["a"]
    Path(MADE, "a.json").write_text(text)
    assert lost_files(".") == []


def test_no_notes_at_all(tmp_path: Path) -> None:
    assert lost_files(tmp_path / "nowhere") == []
