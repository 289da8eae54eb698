"""What is not published: stale, changed and running runs; and nothing over edits."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from folders import complete, contents, recorded
from refusals import refusal

from kerhrm.files import unwritable
from kerhrm.threads import torch_threads
from kerhrm_paper.reporting import publish as of_publish
from kerhrm_paper.reporting import publish_again, publish_checks
from kerhrm_paper.reporting.publish import publish
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.locks import (
    SNAKEMAKE,
    TEMPORARY,
    hold_run,
    holder,
    locked,
)

ROOT = Path(__file__).parents[3]
SCORES = "scores/table1.csv.gz"
TABLE = "tables/table1.csv"
PREDICTIONS = "classification+r2=0.7/erm/predictions.npz"
Make = Callable[..., Path]

pytestmark = pytest.mark.usefixtures("no_page")


def made_of(
    run: Run,
    name: str,
    *inputs: str,
    params: Mapping[str, Any] | None = None,
) -> None:
    """Write the record of a file's job, with its inputs as they are."""
    digests = {}
    for file in inputs:
        digests[file] = provenance.digest(run.folder / file)
    provenance.write(run.folder, "made", [run.folder / name], digests, params or {})


def made_again(run: Run, name: str, *inputs: str) -> None:
    """Another content of a file, and its record."""
    path = run.folder / name
    path.write_bytes(path.read_bytes() + b"\n")
    made_of(run, name, *inputs)


@pytest.fixture
def run(make_run: Make, scores: pd.DataFrame) -> Run:
    """A run of preset fresh: its table is made of scores, these of predictions."""
    folder = make_run(scores)
    file = folder / PREDICTIONS
    file.parent.mkdir(parents=True)
    file.write_bytes(b"outputs")
    made = recorded(complete(folder))
    made_of(made, SCORES, PREDICTIONS)
    made_of(made, TABLE, SCORES, "config.yaml")
    return made


@pytest.fixture
def study(make_run: Make, scores: pd.DataFrame) -> Run:
    """A run with one more table."""
    folder = make_run(scores, "fresh", "study", name="later")
    return recorded(Run(folder))


def change(run: Run, **values: Any) -> Run:
    """The run with other values in its configuration."""
    path = run.folder / "config.yaml"
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(content | values))
    made_of(run, "config.yaml")
    return Run(run.folder)


def edit(path: Path) -> None:
    """Append a line, a comment of YAML."""
    path.write_bytes(path.read_bytes() + b"# edited\n")


# --- the run --------------------------------------------------------------------------


@pytest.mark.parametrize("tables", [[], ["table1"]])
def test_a_table_of_other_scores_is_refused(
    tmp_path: Path, run: Run, tables: list[str]
) -> None:
    target = publish(run, tmp_path / "published", tables, ROOT)
    before = contents(target)
    made_again(run, SCORES, PREDICTIONS)
    with refusal(rf"{TABLE} was made of another {SCORES}; run snakemake for it again"):
        publish(run, target, tables, ROOT)
    assert contents(target) == before
    made_of(run, TABLE, SCORES)
    publish(run, target, tables, ROOT)


def test_scores_of_other_predictions_are_refused(tmp_path: Path, run: Run) -> None:
    """Not those of predictions that were deleted to save space."""
    target = tmp_path / "published"
    (run.folder / PREDICTIONS).rename(tmp_path / "kept.npz")
    publish(run, target, root=ROOT)
    (tmp_path / "kept.npz").rename(run.folder / PREDICTIONS)
    made_again(run, PREDICTIONS)
    with refusal(rf"{SCORES} was made of another classification\+r2=0\.7/erm/"):
        publish(run, target, root=ROOT)


def test_a_configuration_that_has_grown_makes_no_table_old(
    tmp_path: Path, run: Run
) -> None:
    """Jobs have what they take from it among their parameters."""
    more = {"table1": {"title": "1"}, "mine": {"title": "Mine"}}
    publish(change(run, tables=more), tmp_path / "published", root=ROOT)


def test_other_options_are_refused(tmp_path: Path, run: Run) -> None:
    """Also those of a table alone, which an earlier command has made."""
    target = tmp_path / "published"
    words = "options differ from the published: learners.erm.options.steps"
    with refusal(rf"cannot be published: {words}; run it in a new folder without"):
        publish(change(run, mark=words), target, ["table1"], ROOT)
    unmarked = change(run, mark="")
    made_of(unmarked, TABLE, SCORES, params={"mark": words})
    with refusal(words):
        publish(unmarked, target, root=ROOT)
    assert not target.exists()
    made_of(unmarked, TABLE, SCORES, params={"mark": ""})
    publish(unmarked, target, root=ROOT)


def test_sizes_of_the_preset_are_its_own(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run = recorded(Run(make_run(scores, "smoke")))
    smoke = change(run, mark="smoke sizes")
    target = tmp_path / "published"
    assert publish(smoke, target, root=ROOT) == target / "smoke"
    with refusal("cannot be published: smoke sizes; options differ"):
        publish(change(run, mark="smoke sizes; options differ"), target, root=ROOT)


def test_a_run_at_work_is_refused(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "published"
    with (
        locked(run.folder / TEMPORARY / SNAKEMAKE),
        refusal("another command is at work in .*fresh .process .*; wait until it has"),
    ):
        publish(run, target, root=ROOT)
    assert not target.exists()
    publish(run, target, root=ROOT)


def test_no_command_starts_in_a_run_while_it_is_copied(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = of_publish._write
    lock = run.folder / TEMPORARY / SNAKEMAKE
    lock.parent.mkdir()

    def copying(plan: of_publish.Plan, files: list[str]) -> None:
        with refusal("another command is at work in .*fresh .process"):
            hold_run(run.folder)
        write(plan, files)

    monkeypatch.setattr(of_publish, "_write", copying)
    publish(run, tmp_path / "published", root=ROOT)
    assert holder(lock) is None


def test_a_run_on_a_read_only_disk_is_published(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_lock(path: Path) -> None:
        raise unwritable(path, PermissionError("read-only"), "lock")

    (run.folder / TEMPORARY).mkdir()
    monkeypatch.setattr(publish_checks, "acquire", no_lock)
    publish(run, tmp_path / "published", root=ROOT)


# --- what is published ----------------------------------------------------------------


def digests(target: Path) -> dict[str, str]:
    """What a publication notes of its files."""
    content = json.loads((target / "provenance.json").read_text())
    noted: dict[str, str] = content["files"]
    return noted


@pytest.mark.parametrize("name", [SCORES, TABLE, "claims.csv", "config.yaml"])
def test_nothing_is_published_beside_edited_files(
    tmp_path: Path, run: Run, study: Run, name: str
) -> None:
    """Their digests would be noted as if they were the run's."""
    target = publish(run, tmp_path / "published", root=ROOT)
    before = digests(target)
    edit(target / name)
    with refusal(rf"{name} has changed since it was published; restore it"):
        publish(study, target, ["study"], ROOT)
    assert digests(target) == before
    # the run itself may take the place of what was edited
    publish(run, target, root=ROOT)
    assert digests(target) == before


def test_a_new_table_notes_its_own_files_alone(
    tmp_path: Path, run: Run, study: Run
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    before = digests(target)
    (target / "tables" / "stray.csv").write_text("stray\n")
    publish(study, target, ["study"], ROOT)
    after = digests(target)
    assert before.items() <= after.items()
    of_study = {"scores/study.csv.gz", "tables/study.csv"}
    assert {*after} - {*before} == of_study | {"tables/study-comparisons.csv"}


def test_tables_leave_what_is_noted_of_studies(
    tmp_path: Path, run: Run, study: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table takes no study from a folder that has both; nor do figures."""
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: pd.DataFrame())
    target = publish(run, tmp_path / "published", root=ROOT)
    file = target / "provenance.json"
    noted = json.loads(file.read_text())
    noted["studies"] = {"study_drift": {"commit": "of the study"}}
    file.write_text(json.dumps(noted))
    publish_again.publish_again(target, ROOT)
    computed = Run(target).provenance
    assert computed == noted | {"files": computed["files"], "again": computed["again"]}
    publish(study, target, ["study"], ROOT)
    with_table = Run(target).provenance
    assert {*with_table["tables"]} == {"table1", "study"}
    for key in ("studies", "again"):
        assert with_table[key] == computed[key]
    publish(run, target, root=ROOT)  # whose files are those of the run again
    whole = Run(target).provenance
    assert whole["studies"] == noted["studies"]
    assert "again" not in whole


def test_a_published_file_that_is_gone_is_missed(
    tmp_path: Path, run: Run, study: Run
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    (target / "claims.csv").unlink()
    with refusal(r"claims\.csv was published, and is gone; restore it: git checkout"):
        publish(study, target, ["study"], ROOT)


def test_nothing_is_computed_again_from_edited_scores(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = publish(run, tmp_path / "published", root=ROOT)
    no_claims = pd.DataFrame()
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: no_claims)
    for name in ("claims.csv", "endpoints.csv", "report.html"):
        edit(target / name)  # which are written again
    publish_again.publish_again(target, ROOT)
    before = contents(target)
    path = target / SCORES
    content = path.read_bytes()
    edit(path)
    with refusal(rf"{SCORES} has changed since it was published"):
        publish_again.publish_again(target, ROOT)
    path.write_bytes(content)
    assert contents(target) == before


def test_small_runs_of_claims_have_one_thread(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the rule that checks claims, so that their digits do not change."""
    target = publish(run, tmp_path / "published", root=ROOT)
    threads = []

    def evaluate(*_: object) -> pd.DataFrame:
        threads.append(torch.get_num_threads())
        return pd.DataFrame()

    monkeypatch.setattr(publish_again, "evaluate", evaluate)
    with torch_threads(2):
        publish_again.publish_again(target, ROOT)
        assert torch.get_num_threads() == 2
    assert threads == [1]
