"""What is published: complete runs alone, whole, with digests; and what is known of a
cell."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml
from folders import complete, contents, recorded
from refusals import refusal

from kerhrm.cli import main
from kerhrm.errors import KerhrmError
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.reporting import publish_again
from kerhrm_paper.reporting.publish import publish
from kerhrm_paper.reporting.run import BAND, Run
from kerhrm_paper.runs import provenance

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "results" / "reference"
Make = Callable[..., Path]


def test_the_held_out_run_goes_to_the_top_and_others_below(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    target = tmp_path / "published"
    run = recorded(complete(make_run(scores)))
    assert publish(run, target, root=ROOT) == target
    other = recorded(Run(make_run(scores, "paper")))
    assert publish(other, target, root=ROOT) == target / "paper"
    costs = (target / "costs.tsv").read_text()
    study = Run(make_run(scores, "paper", "study"))
    benchmarks = study.folder / "benchmarks" / "score"
    benchmarks.mkdir(parents=True)
    (benchmarks / "study.tsv").write_text("s\tmax_rss\tcpu_time\n2.0\t70.0\t1.9\n")
    assert publish(recorded(study), target, ["study"], ROOT) == target
    costs_of_both = (target / "costs.tsv").read_text()
    assert costs_of_both == costs + "score\tstudy\t2\t70\n"
    # a run that lacks a published table leaves the costs of its jobs
    publish(run, target, root=ROOT)
    assert (target / "costs.tsv").read_text() == costs_of_both
    top = Run(target)
    assert top.tables == ["table1", "study"]
    assert top.preset("table1") == "fresh"
    assert top.preset("study") == "paper"
    noted = top.provenance
    assert "tables/study.csv" in noted["files"]
    for name in noted["files"]:
        assert not name.startswith("paper/")
    assert not Run(target / "paper").has("scores/table1.csv.gz")
    assert "data:image/png" in (target / "report.html").read_text()
    record = provenance.read(run.folder, "tables/table1.csv")
    assert record is not None
    for key in ("commit", "python", "platform"):
        assert noted["tables"]["table1"][key] == record[key]


@pytest.mark.usefixtures("no_page")
def test_a_table_has_the_commit_of_its_job_and_not_of_its_publishing(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run = recorded(complete(make_run(scores)))
    path = run.folder / "provenance" / "tables" / "table1.csv.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"commit": "of the job"}))
    target = publish(run, tmp_path / "published", root=ROOT)
    noted = Run(target).provenance
    assert noted["tables"]["table1"]["commit"] == "of the job"
    del record["commit"]  # of a run by an earlier version
    path.write_text(json.dumps(record))
    publish(run, target, root=ROOT)
    assert Run(target).provenance["tables"]["table1"]["commit"] is None


@pytest.mark.usefixtures("no_page")
def test_a_table_brings_no_file_of_other_tables(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    """The picture of the endpoints would not fit those that are published."""
    target = tmp_path / "published"
    run = complete(make_run(scores))
    figures = run.folder / "figures"
    figures.mkdir(exist_ok=True)
    for name in ("table1", "endpoints", "selection"):
        (figures / f"{name}.png").write_bytes(b"picture")
    for name in ("choices.csv", BAND):
        (run.folder / name).write_text("of other tables\n")
    publish(recorded(run), target, ["table1"], ROOT)
    hidden = target / "tables" / "._table1.csv"
    hidden.write_bytes(b"\x00\x05\x16\x07")
    assert Run(target).tables == ["table1"]
    hidden.unlink()
    published = {path.name for path in target.rglob("*") if path.is_file()}
    assert {"table1.csv", "table1.png", "table1.csv.gz"} <= published
    others = {"endpoints.png", "selection.png", "choices.csv", BAND}
    assert not others & published


@pytest.mark.usefixtures("no_page")
def test_a_new_table_brings_the_configuration_that_knows_it(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    """Its picture, drawn again, has its title from there."""
    target = tmp_path / "published"
    publish(recorded(complete(make_run(scores))), target, root=ROOT)
    before = (target / "config.yaml").read_text()
    later = Run(make_run(scores, "fresh", "study", name="later"))
    config = yaml.safe_load(before)
    config["tables"]["study"] = {"title": "Study"}
    path = later.folder / "config.yaml"
    path.write_text(yaml.safe_dump(config | {"changes": {"data": {}}}))
    publish(recorded(later), target, ["study"], ROOT)
    assert (target / "config.yaml").read_text() == before
    path.write_text(yaml.safe_dump(config))
    publish(recorded(Run(later.folder)), target, ["study"], ROOT)
    assert yaml.safe_load((target / "config.yaml").read_text()) == config
    config["tables"]["study"]["title"] = "Another title"  # and one that says otherwise
    path.write_text(yaml.safe_dump(config))
    publish(recorded(Run(later.folder)), target, ["study"], ROOT)
    assert yaml.safe_load((target / "config.yaml").read_text()) == config


def test_endpoints_and_claims_are_computed_again(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "published"
    run = recorded(complete(make_run(scores)))
    publish(run, target, root=ROOT)
    table = (target / "tables/table1.csv").read_bytes()
    picture = target / "figures" / "table1.png"
    picture.parent.mkdir(exist_ok=True)
    picture.write_text("of older code")
    record = json.loads((target / "provenance.json").read_text())
    record["files"]["figures/table1.png"] = "digest of older code"
    (target / "provenance.json").write_text(json.dumps(record))
    users = picture.with_name("users.png")
    users.write_text("the user's")
    texts = {"where": "Table 1", "statement": "stated"}
    texts |= {"status": "open", "status_pooled": "supported"}
    numbers = {"claim": 7, "effect": 0.1, "ci_low": 0.0, "ci_high": 0.2}
    claims = pd.DataFrame([texts | numbers])
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: claims)
    assert publish_again.publish_again(target, ROOT) == target
    run = Run(target)
    assert run.claims()["claim"].tolist() == [7]
    assert set(run.endpoints()["table"]) == {"table1"}
    assert "outcome_exact" in run.endpoints()
    assert (target / "tables/table1.csv").read_bytes() == table
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert users.read_text() == "the user's"
    page = (target / "report.html").read_text()
    assert re.search(r"stated</td>\s*<td>open</td>\s*<td>supported</td>", page)
    noted = run.provenance
    assert "figures/table1.png" in noted["again"]["files"]
    assert noted["tables"]["table1"]["preset"] == "fresh"
    for name in noted["again"]["files"]:
        content = (target / name).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        assert noted["files"][name] == found

    def fail(*_: object) -> None:
        raise KerhrmError("no", "evidence")

    (target / "endpoints.csv").write_text("as it was")
    monkeypatch.setattr(publish_again, "evaluate", fail)
    with refusal("no"):
        publish_again.publish_again(target, ROOT)
    assert (target / "endpoints.csv").read_text() == "as it was"
    assert Run(target).provenance == noted


@pytest.mark.usefixtures("no_page")
def test_the_band_is_published_and_computed_again(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Computed again where all of its tables are published."""
    target = tmp_path / "published"
    run = complete(make_run(scores))
    (run.folder / BAND).write_text("table,part,method,lowest,highest,outcome\n")
    publish(recorded(run), target, root=ROOT)
    band_of_run = (run.folder / BAND).read_bytes()
    assert (target / BAND).read_bytes() == band_of_run
    assert BAND in Run(target).provenance["files"]
    no_claims = pd.DataFrame()
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: no_claims)
    publish_again.publish_again(target, ROOT)
    assert BAND not in Run(target).provenance["again"]["files"]
    spec = load_endpoints(ROOT / "config/endpoints.yaml")
    grids = [*spec.band.tables.values()]
    for name in grids:
        folder = make_run(scores, table=name, name=name)
        study = Run(folder)
        publish(recorded(study), target, [name], ROOT)
    publish_again.publish_again(target, ROOT)
    assert BAND in Run(target).provenance["again"]["files"]
    band = Run(target).band()
    assert band is not None
    tables = spec.band.tables
    assert set(band["table"]) == set(tables)
    assert set(band["outcome"]) == {"incomplete"}


def test_only_what_is_published_is_computed_again(tmp_path: Path) -> None:
    with refusal("holds no published files"):
        publish_again.publish_again(tmp_path)
    with pytest.raises(SystemExit):
        main(["publish", str(REFERENCE), "--again", "table1"])


def test_what_is_computed_again_goes_to_no_other_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of --reference would have stayed as it is, and RUN not."""
    run = tmp_path / "run"
    other = tmp_path / "other"
    assert main(["publish", str(run), "--again", "--reference", str(other)]) == 1
    told = f"--again writes to {run}, not to {other}; leave --reference out\n"
    assert capsys.readouterr().err == f"kerhrm: error: {told}"


@pytest.mark.parametrize(
    "words",
    [
        ["publish", "run", "--reference", "other", "table1"],
        ["check", "file.csv", "--target", "house", "price"],
    ],
)
def test_a_name_that_no_option_takes_has_a_hint(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    told = f"unrecognized arguments: {words[-1]}; quote a name with blanks; write names"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("gap", ["scores/table1.csv.gz", "claims.csv"])
def test_an_incomplete_run_is_refused_and_nothing_written(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, gap: str
) -> None:
    run = complete(make_run(scores))
    (run.folder / gap).unlink()
    with refusal(f"{gap} does not exist"):
        publish(run, tmp_path / "published")
    assert not (tmp_path / "published").exists()


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("data_source", "fallback:digits", "has stand-ins for real data in table1"),
        ("value", None, "failed cells"),
    ],
)
def test_fallback_data_and_failures_are_refused(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    column: str,
    value: object,
    problem: str,
) -> None:
    scores.loc[:2, column] = value
    with refusal(problem):
        publish(complete(make_run(scores)), tmp_path / "published")


@pytest.mark.parametrize("tables", [[], ["table1"]])
def test_a_contest_is_not_published(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, tables: list[str]
) -> None:
    """Its tables have a method that no table of the project has."""
    run = complete(make_run(scores))
    file = run.folder / "config.yaml"
    content = yaml.safe_load(file.read_text())
    learners = content.setdefault("learners", {})
    learners["mine"] = {"method": "mine", "timeout": 10.0}
    file.write_text(yaml.safe_dump(content))
    target = tmp_path / "published"
    with refusal("is a contest of mine; give a run of snake"):
        publish(Run(run.folder), target, tables)
    assert not target.exists()


def test_a_report_that_fails_leaves_the_published_files_as_they_were(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = recorded(complete(make_run(scores)))
    target = publish(run, tmp_path / "published", root=ROOT)
    before = contents(target)

    def fail(*_: object, **__: object) -> None:
        raise KerhrmError("the kernel died")

    monkeypatch.setattr("kerhrm_paper.reporting.publish.render", fail)
    (target / "claims.csv").unlink()
    before.pop(target / "claims.csv")
    with refusal("the kernel died"):
        publish(run, target, root=ROOT)
    assert contents(target) == before


def test_a_file_that_was_edited_is_refused(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run = complete(make_run(scores))
    path = run.folder / "tables" / "table1.csv"
    provenance.write(run.folder, "make_table", [path], {}, {})
    edited = path.read_text().replace("ERM", "DRO")
    path.write_text(edited)
    with refusal("has changed since rule make_table made it"):
        publish(run, tmp_path / "published")


@pytest.mark.parametrize("text", ["", "a\x00,b\n1", "preset: [", "- 1"])
def test_damaged_files_are_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("")
    with refusal(r"config\.yaml is damaged"):
        Run(tmp_path).config.get("preset")
    with refusal(r"t\.csv is damaged"):
        Run(tmp_path).cells("t")


def test_some_tables_go_to_a_new_folder_with_their_configuration(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    """And to the folder of a preset's publication, which has none at its top."""
    run = recorded(Run(make_run(scores, "paper")))
    target = tmp_path / "new"
    assert publish(run, target, ["table1"], ROOT) == target
    assert (target / "report.html").is_file()
    assert Run(target).config["preset"] == "paper"
    apart = tmp_path / "apart"
    assert publish(run, apart, root=ROOT) == apart / "paper"
    assert publish(run, apart, ["table1"], ROOT) == apart
    assert Run(apart).tables == ["table1"]


def test_publishing_elsewhere_than_in_a_checkout_is_refused(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run = recorded(Run(make_run(scores, "paper")))
    with refusal("is not a checkout of the workflow: .*; cd to the checkout, and run"):
        publish(run, tmp_path / "new", ["table1"], tmp_path)
    assert not (tmp_path / "new").exists()
