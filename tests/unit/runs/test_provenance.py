"""Records of files: what a job refuses, and what is missing."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from refusals import refusal

from kerhrm_paper.runs import provenance

#: outputs by inputs: a chain with a branch
CHAIN = {"raw": [], "a": ["raw"], "b/b": ["a"], "c": ["b/b"], "d": ["a", "/outside"]}


def made(run: Path, chain: Mapping[str, list[str]] = CHAIN) -> None:
    """Files of a run, each of the inputs that are named."""
    for name, inputs in chain.items():
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        digests = dict.fromkeys(inputs, "0")
        params = {"k": [1, 2]}
        provenance.write(run, f"make_{path.name}", [path], digests, params)


def test_a_record_tells_what_a_file_was_made_of(tmp_path: Path) -> None:
    made(tmp_path)
    record = provenance.read(tmp_path, "d")
    assert record is not None
    assert record["sha256"] == provenance.digest(tmp_path / "d")
    assert record["inputs"] == {"a": "0", "/outside": "0"}
    assert record["params"] == {"k": [1, 2]}
    assert record["rule"] == "make_d"
    assert provenance.read(tmp_path, "nothing") is None
    (tmp_path / "provenance/d.json").write_text("{")
    assert provenance.read(tmp_path, "d") is None


def test_a_pipe_is_no_record_and_no_file(tmp_path: Path) -> None:
    """Opening one waits until somebody writes to it."""
    made(tmp_path)
    record = tmp_path / "provenance/d.json"
    record.unlink()
    os.mkfifo(record)
    assert provenance.read(tmp_path, "d") is None
    os.mkfifo(tmp_path / "pipe")
    with refusal("pipe is a pipe, not a file; delete it and run again"):
        provenance.digest(tmp_path / "pipe")


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("anything")
    inputs = [tmp_path / "a", tmp_path / "b/b", outside]
    digests = provenance.check(tmp_path, inputs)
    assert list(digests) == ["a", "b/b", "../outside.txt"]
    (tmp_path / "b/b").write_text("b/")
    with refusal(r"b/b has changed since rule make_b made it; delete it"):
        provenance.check(tmp_path, [tmp_path / "a", tmp_path / "b/b"])


@pytest.mark.parametrize("content", ["", "b/", "b/b, and my note"])
def test_a_file_that_is_asked_for_is_as_its_rule_left_it(
    tmp_path: Path, content: str
) -> None:
    """To Snakemake one that was cut or edited is up to date."""
    made(tmp_path)
    provenance.check_asked(tmp_path, tmp_path / "b/b")
    (tmp_path / "b/b").write_text(content)
    with refusal(r"b/b has changed since rule make_b made it; delete it, or move it"):
        provenance.check_asked(tmp_path, tmp_path / "b/b")
    assert (tmp_path / "b/b").read_text() == content


def test_what_is_made_again_is_not_compared(tmp_path: Path) -> None:
    """What has no record, is not there, or was left by a job that was killed."""
    made(tmp_path)
    for name in ("b/b", "d"):
        (tmp_path / name).write_text("cut")
    (tmp_path / "provenance/b/b.json").unlink()
    provenance.check_asked(tmp_path, tmp_path / "b/b")
    (tmp_path / "a").unlink()
    provenance.check_asked(tmp_path, tmp_path / "a")
    provenance.begin(tmp_path, [tmp_path / "d", tmp_path / "never made"])
    provenance.check_asked(tmp_path, tmp_path / "d")
    with refusal("d has changed since rule make_d"):  # no job may read it
        provenance.check(tmp_path, [tmp_path / "d"])
    # what it is made of is still known
    assert provenance.missing(tmp_path, [tmp_path / "d"]) == [str(tmp_path / "a")]
    provenance.write(tmp_path, "make_d", [tmp_path / "d"], {}, {})
    provenance.check(tmp_path, [tmp_path / "d"])


def test_a_folder_in_a_files_place_is_told(tmp_path: Path) -> None:
    made(tmp_path)
    path = tmp_path / "a"
    path.unlink()
    path.mkdir()
    for check in (
        provenance.check_asked,
        lambda run, file: provenance.check(run, [file]),
    ):
        with refusal(r"/a is a folder; delete it and run again$"):
            check(tmp_path, path)
    path.rmdir()
    path.symlink_to("nowhere")
    with refusal(r"/a does not exist; make it with snakemake"):
        provenance.check(tmp_path, [path])


@pytest.mark.parametrize("record", [None, "", "{", "[]", '{"rule": "make_a"}'])
def test_a_file_of_the_run_without_a_record_is_refused(
    tmp_path: Path, record: str | None
) -> None:
    """It may have been cut: nothing says how its rule left it."""
    made(tmp_path)
    path = tmp_path / "provenance" / "a.json"
    if record is None:
        path.unlink()
    else:
        path.write_text(record)
    with refusal("a has no record of the rule that made it"):
        provenance.check(tmp_path, [tmp_path / "raw", tmp_path / "a"])


@pytest.mark.parametrize(
    ("gone", "missing"),
    [
        ([], []),
        (["raw"], ["raw"]),
        (["a"], ["a"]),
        (["a", "b/b"], ["a", "b/b"]),
        (["c"], ["c"]),
    ],
)
def test_files_that_are_gone_below_what_is_asked_for(
    tmp_path: Path, gone: list[str], missing: list[str]
) -> None:
    made(tmp_path)
    for name in gone:
        (tmp_path / name).unlink()
    targets = [tmp_path / "c", tmp_path / "d"]
    found = provenance.missing(tmp_path, targets)
    assert found == [str(tmp_path / name) for name in missing]


def test_only_what_a_target_is_made_of_counts(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "b/b").unlink()
    assert provenance.missing(tmp_path, [tmp_path / "d"]) == []
    nowhere = tmp_path / "nowhere"
    assert provenance.missing(nowhere, [nowhere / "d"]) == []
