"""A file of the user's is not replaced by one that is published."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from folders import complete, contents, recorded
from refusals import refusal

from kerhrm.cli import main
from kerhrm_paper.reporting import publish_again
from kerhrm_paper.reporting.publish import publish
from kerhrm_paper.reporting.publish_lock import LOCK
from kerhrm_paper.reporting.publish_studies import draw_again, publish_studies
from kerhrm_paper.reporting.run import Run

ROOT = Path(__file__).parents[3]
FIGURE = "figures/table1.png"
UNKNOWN = "is not among the files that were published; move it"
Make = Callable[..., Path]

pytestmark = pytest.mark.usefixtures("no_page")


def with_figure(run: Run) -> Run:
    """The run with a figure of its table."""
    path = run.folder / FIGURE
    path.parent.mkdir(exist_ok=True)
    path.write_text("of the run")
    return recorded(run)


def users_file(path: Path) -> Path:
    """A file that nobody has published."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("the user's")
    return path


@pytest.fixture
def run(make_run: Make, scores: pd.DataFrame) -> Run:
    """A complete run without figures."""
    return recorded(complete(make_run(scores)))


@pytest.mark.parametrize("tables", [[], ["table1"]])
def test_a_figure_of_the_users_stays(
    tmp_path: Path, run: Run, tables: list[str]
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    path = users_file(target / FIGURE)
    before = contents(target)
    later = with_figure(run)
    with refusal(f"{path} {UNKNOWN}, or give another folder$"):
        publish(later, target, tables, ROOT)
    assert contents(target) == before
    path.write_text("of the run")  # nothing is lost
    publish(later, target, tables, ROOT)
    path.write_text("of a published figure that was edited")
    publish(later, target, tables, ROOT)
    assert path.read_text() == "of the run"


@pytest.mark.parametrize("name", ["config.yaml", "report.html", "costs.tsv"])
def test_a_file_beside_studies_stays(tmp_path: Path, run: Run, name: str) -> None:
    target = tmp_path / "published"
    target.mkdir()
    (target / "provenance.json").write_text('{"studies": {"study_drift": {}}}')
    path = users_file(target / name)
    with refusal(f"{path} {UNKNOWN}"):
        publish(run, target, root=ROOT)
    path.unlink()
    publish(run, target, root=ROOT)
    publish(run, target, root=ROOT)


def test_a_file_of_the_users_in_a_presets_folder_stays(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    paper = recorded(Run(make_run(scores, "paper")))
    target = publish(paper, tmp_path / "published", root=ROOT)
    comparisons = "tables/table1-comparisons.csv"
    record = json.loads((target / "provenance.json").read_text())
    del record["files"][comparisons]
    (target / "provenance.json").write_text(json.dumps(record))
    users_file(target / comparisons)
    with refusal(f"paper/{comparisons} {UNKNOWN}"):
        publish(paper, tmp_path / "published", root=ROOT)


@pytest.mark.parametrize("name", [FIGURE, "claims.csv", "provenance.json"])
def test_a_link_of_the_users_stays(tmp_path: Path, run: Run, name: str) -> None:
    """A file in its place would not be seen where the link leads."""
    target = publish(run, tmp_path / "published", root=ROOT)
    path = target / name
    path.parent.mkdir(exist_ok=True)
    elsewhere = tmp_path / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with refusal(rf"{path} is a link, which publishing would replace by a file; move"):
        publish(with_figure(run), target, root=ROOT)
    assert path.is_symlink()


@pytest.mark.parametrize("name", ["claims.csv", "provenance.json", "report.html"])
def test_a_pipe_in_the_place_of_a_file_is_refused(
    tmp_path: Path, run: Run, name: str
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    (target / name).unlink()
    os.mkfifo(target / name)
    with refusal(f"{target / name} is a pipe, not a file"):
        publish(run, target, root=ROOT)


def test_what_publishing_does_not_write_may_be_anything(
    tmp_path: Path, run: Run
) -> None:
    """Nothing is copied of it, which a pipe, or a link in a circle, would not end."""
    target = publish(run, tmp_path / "published", root=ROOT)
    os.mkfifo(target / "pipe")
    (target / "circle").symlink_to(".")
    (target / "nothing").symlink_to("nothing")
    publish(run, target, root=ROOT)
    assert (target / "circle").is_symlink()


@pytest.mark.parametrize("tables", [[], ["table1"]])
def test_costs_that_were_edited_stay(
    tmp_path: Path, run: Run, tables: list[str]
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    path = target / "costs.tsv"
    content = path.read_text()
    path.write_text(f"{content}train\tmine\t1\t1\n")
    with refusal(f"{path} has changed since it was published; move it away, or rest"):
        publish(run, target, tables, ROOT)
    path.unlink()
    publish(run, target, tables, ROOT)
    assert path.read_text() == content


@pytest.mark.parametrize("content", ["mine", "rule\tplace\tseconds\tmemory_mb\tx\n"])
def test_costs_without_a_note_are_read(tmp_path: Path, run: Run, content: str) -> None:
    """They were published before costs had a digest in the record."""
    target = publish(run, tmp_path / "published", root=ROOT)
    record = json.loads((target / "provenance.json").read_text())
    del record["files"]["costs.tsv"]
    (target / "provenance.json").write_text(json.dumps(record))
    path = target / "costs.tsv"
    before = path.read_text()
    path.write_text(content)
    columns = "rule, place, seconds, memory_mb"
    with refusal(rf"{path} is damaged \(its columns must be {columns}; got '.*; rest"):
        publish(run, target, root=ROOT)
    assert path.read_text() == content
    path.write_text(before)
    publish(run, target, root=ROOT)


def test_what_is_computed_again_replaces_nothing_of_the_users(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: pd.DataFrame())
    target = publish(run, tmp_path / "published", ["table1"], ROOT)
    path = users_file(target / "claims.csv")
    with refusal(f"{path} {UNKNOWN}$"):
        publish_again.publish_again(target, ROOT)
    assert path.read_text() == "the user's"
    path.unlink()
    publish_again.publish_again(target, ROOT)


def git(folder: Path, *words: str) -> None:
    """Call git, whatever the user's settings are."""
    user = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *user, *words], cwd=folder, check=True, capture_output=True)


def test_a_file_of_a_study_is_replaced_where_git_has_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of results/study from before files were noted."""
    source = users_file(run.folder / "studies" / "drift.csv")
    recorded(run)
    monkeypatch.setattr(
        "kerhrm_paper.reporting.publish_studies.files_of", lambda _: [source.name]
    )
    target = tmp_path / "study"
    target.mkdir()
    (target / "provenance.json").write_text('{"studies": {"study_drift": {}}}')
    path = users_file(target / source.name)
    path.write_text("of an earlier version")
    with refusal(f"{path} {UNKNOWN}, or give another folder$"):
        publish_studies(run, target, ["study_drift"])
    git(target, "init")
    with refusal(UNKNOWN):
        publish_studies(run, target, ["study_drift"])
    git(target, "add", ".")
    git(target, "commit", "-m", "earlier")
    path.write_text("edited since")
    with refusal(UNKNOWN):
        publish_studies(run, target, ["study_drift"])
    path.write_text("of an earlier version")
    publish_studies(run, target, ["study_drift"])
    assert path.read_text() == "the user's"


def test_a_picture_beside_the_tables_of_a_study_stays(tmp_path: Path) -> None:
    (tmp_path / "provenance.json").write_text('{"studies": {"study_scale": {}}}')
    for name in ("pretest.csv", "pretest_draws.csv", "pretest.png"):
        users_file(tmp_path / name)
    with refusal(rf"pretest\.png {UNKNOWN}$"):
        draw_again(tmp_path, ROOT)


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line of an error."""
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kerhrm: error: ").rstrip("\n")


@pytest.mark.parametrize("content", [b"{", b"", b"[]", b"\xff", b'{"files": 5}'])
def test_a_damaged_record_is_restored_and_not_deleted(
    tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    """Without it nothing could be published there."""
    target = publish(run, tmp_path / "published", root=ROOT)
    record = target / "provenance.json"
    record.write_bytes(content)
    for words in (
        ["publish", str(run.folder), "--reference", str(target)],
        ["claims", str(target)],
        ["verify", str(run.folder), "--reference", str(target)],
    ):
        assert main(words) == 1
        line = line_of(capsys)
        assert line.startswith(f"{record} is damaged (")
        assert line.endswith(f"; restore it: git checkout {record}, or from a copy")
        assert record.read_bytes() == content


def test_a_damaged_file_that_was_published_is_restored(
    tmp_path: Path, run: Run
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    path = target / "config.yaml"
    path.write_text("")
    with refusal(rf"damaged \(it is empty\); restore it: git checkout {path}, or from"):
        _ = Run(target).config


def test_again_is_of_the_folder_with_scores(
    tmp_path: Path,
    run: Run,
    make_run: Make,
    scores: pd.DataFrame,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / "published"
    publish(run, target, root=ROOT)
    paper = recorded(Run(make_run(scores, "paper")))
    apart = publish(paper, target, root=ROOT)
    assert main(["publish", str(apart), "--again"]) == 1
    assert line_of(capsys) == (
        f"{apart} was published without scores, from which --again computes; name the "
        f"folder that has them: kerhrm publish {target} --again"
    )
    alone = publish(paper, tmp_path / "new", root=ROOT)
    assert main(["publish", str(alone), "--again"]) == 1
    assert line_of(capsys).endswith("; name the folder that has them")


def test_a_reference_that_is_a_link_to_nothing(tmp_path: Path, run: Run) -> None:
    link = tmp_path / "link"
    link.symlink_to("nothing")
    for target in (link, link / "new"):
        with refusal(f"{link} is a link to nothing, not a folder; give --reference a"):
            publish(run, target, root=ROOT)


@pytest.mark.parametrize("is_link", [True, False])
def test_a_lock_that_is_no_file_is_moved_away(
    tmp_path: Path, run: Run, is_link: bool
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    lock = target / LOCK
    if is_link:
        lock.symlink_to("nothing")
    else:
        lock.mkdir()
    kind = "link" if is_link else "folder"
    with refusal(rf"cannot lock {lock}: .*; move this {kind} away, then run the same"):
        publish(run, target, root=ROOT)


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("x" * 300, "File name too long; give a shorter name"),
        ("/proc/x", "No such file or directory; give another path: no folder can be"),
    ],
)
def test_a_reference_that_cannot_be_made_has_its_own_cure(
    tmp_path: Path, run: Run, reference: str, told: str
) -> None:
    target = tmp_path / reference
    with refusal(f"cannot write {target}: {told}"):
        publish(run, target, root=ROOT)
