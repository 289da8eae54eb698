"""What is published: complete runs alone, whole, with digests; and what is known of a
cell."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from kerhrm.cli import main
from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.spelling import spell
from kerhrm_paper.config.strict_yaml import read_yaml
from kerhrm_paper.evaluation.effects import decide, paired
from kerhrm_paper.evaluation.tables import METRICS, primary
from kerhrm_paper.reporting import publish_again
from kerhrm_paper.reporting.explain import explain
from kerhrm_paper.reporting.publish import publish
from kerhrm_paper.reporting.run import BAND, Run
from kerhrm_paper.reporting.tables import render, results_of
from kerhrm_paper.runs import provenance

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "results" / "reference"
Make = Callable[..., Path]
#: methods that their headline criterion makes significantly worse than their defaults
WORSE = {
    ("table1", "DRO"),
    ("table1", "IRM"),
    ("table1", "ref: inter-gradient alignment (labels)"),
    ("table3", "DRO"),
    ("table3", "EIIL"),
    ("table3", "KerHRM"),
}
CELL = ("table1", "r2=0.7", "ERM", "test_acc")


def complete(folder: Path) -> Run:
    """The run with its claims and endpoints."""
    (folder / "claims.csv").write_text("claim\n1\n")
    names = "table,part,method,metric,mean,difference,ci_low,ci_high,margin,outcome"
    names += ",ci_low_exact,ci_high_exact"
    values = "table1,,ERM,test_acc,0.4,0.0,-0.1,0.1,0.03,open,-0.05,0.05"
    (folder / "endpoints.csv").write_text(f"{names}\n{values}\n")
    return Run(folder)


def recorded(run: Run) -> Run:
    """The run with a record of every file, as its jobs write them."""
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    provenance.write(run.folder, "made", files, {}, {})
    return run


def test_every_published_file_has_the_digest_that_is_noted() -> None:
    noted = Run(REFERENCE).provenance["files"]
    assert len(noted) > 40
    for name, digest in noted.items():
        found = hashlib.sha256((REFERENCE / name).read_bytes()).hexdigest()
        assert found == digest, name


def test_the_published_means_follow_from_the_published_seeds() -> None:
    run = Run(REFERENCE)
    keys = ["setting", "method", "metric", "selection"]
    for table in run.tables:
        groups = run.scores(table).groupby(keys)
        means = groups["value"].mean()
        cells = run.cells(table).set_index(keys)["mean"]
        assert set(means.index) == set(cells.index)
        assert means.reindex(cells.index).to_numpy() == pytest.approx(
            cells.to_numpy(), abs=1e-12
        )


def test_the_held_out_run_goes_to_the_top_and_others_below(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    target = tmp_path / "published"
    run = recorded(complete(make_run(scores)))
    assert publish(run, target, root=ROOT) == target
    assert (
        publish(recorded(Run(make_run(scores, "paper"))), target, root=ROOT)
        == target / "paper"
    )
    costs = (target / "costs.tsv").read_text()
    study = Run(make_run(scores, "paper", "study"))
    (study.folder / "benchmarks" / "score").mkdir(parents=True)
    (study.folder / "benchmarks" / "score" / "study.tsv").write_text(
        "s\tmax_rss\n2.0\t70.0\n"
    )
    assert publish(recorded(study), target, ["study"], ROOT) == target
    assert (target / "costs.tsv").read_text() == costs + "score\tstudy\t2\t70\n"
    top = Run(target)
    assert top.tables == ["table1", "study"]
    assert top.preset("table1") == "fresh"
    assert top.preset("study") == "paper"
    assert "tables/study.csv" in top.provenance["files"]
    assert not any(name.startswith("paper/") for name in top.provenance["files"])
    assert not Run(target / "paper").has("scores/table1.csv.gz")
    assert "data:image/png" in (target / "report.html").read_text()
    assert len(top.provenance["tables"]["table1"]["commit"]) >= 40


def test_endpoints_and_claims_are_computed_again(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "published"
    publish(recorded(complete(make_run(scores))), target, root=ROOT)
    table = (target / "tables/table1.csv").read_bytes()
    claims = pd.DataFrame({"claim": [7]})
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: claims)
    assert publish_again.publish_again(target, ROOT) == target
    run = Run(target)
    assert run.claims()["claim"].tolist() == [7]
    assert set(run.endpoints()["table"]) == {"table1"}
    assert "outcome_exact" in run.endpoints()
    assert (target / "tables/table1.csv").read_bytes() == table
    noted = run.provenance
    assert noted["tables"]["table1"]["preset"] == "fresh"
    for name in noted["again"]["files"]:
        found = hashlib.sha256((target / name).read_bytes()).hexdigest()
        assert noted["files"][name] == found

    def fail(*_: object) -> None:
        raise KerhrmError("no", "evidence")

    (target / "endpoints.csv").write_text("as it was")
    monkeypatch.setattr(publish_again, "evaluate", fail)
    with pytest.raises(KerhrmError, match="no"):
        publish_again.publish_again(target, ROOT)
    assert (target / "endpoints.csv").read_text() == "as it was"
    assert Run(target).provenance == noted


def test_the_band_is_published_and_computed_again(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Computed again where all of its tables are published."""
    for module in ("publish", "publish_again"):  # the page has a test of its own
        name = f"kerhrm_paper.reporting.{module}.write_report"
        monkeypatch.setattr(name, lambda *_: None)
    target = tmp_path / "published"
    run = complete(make_run(scores))
    (run.folder / BAND).write_text("table,part,method,lowest,highest,outcome\n")
    publish(recorded(run), target, root=ROOT)
    assert (target / BAND).read_bytes() == (run.folder / BAND).read_bytes()
    assert BAND in Run(target).provenance["files"]
    monkeypatch.setattr(publish_again, "evaluate", lambda *_: pd.DataFrame())
    publish_again.publish_again(target, ROOT)
    assert BAND not in Run(target).provenance["again"]["files"]
    spec = read_yaml(ROOT / "config/endpoints.yaml")
    grids = [*spec["band"]["tables"].values()]
    for name in grids:
        study = Run(make_run(scores, table=name, name=name))
        publish(recorded(study), target, [name], ROOT)
    publish_again.publish_again(target, ROOT)
    assert BAND in Run(target).provenance["again"]["files"]
    band = Run(target).band()
    assert band is not None
    assert set(band["table"]) == {*spec["band"]["tables"]}
    assert set(band["outcome"]) == {"incomplete"}


def test_only_what_is_published_is_computed_again(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match="holds no published files"):
        publish_again.publish_again(tmp_path)
    with pytest.raises(SystemExit):
        main(["publish", str(REFERENCE), "--again", "table1"])


@pytest.mark.parametrize("gap", ["scores/table1.csv.gz", "claims.csv"])
def test_an_incomplete_run_is_refused_and_nothing_written(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, gap: str
) -> None:
    run = complete(make_run(scores))
    (run.folder / gap).unlink()
    with pytest.raises(KerhrmError, match=f"{gap} does not exist"):
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
    with pytest.raises(KerhrmError, match=problem):
        publish(complete(make_run(scores)), tmp_path / "published")


def test_a_report_that_fails_leaves_the_published_files_as_they_were(
    tmp_path: Path,
    make_run: Make,
    scores: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = recorded(complete(make_run(scores)))
    target = publish(run, tmp_path / "published", root=ROOT)
    before = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()}

    def fail(*_: object, **__: object) -> None:
        raise KerhrmError("the kernel died")

    monkeypatch.setattr("kerhrm_paper.reporting.publish.render", fail)
    (target / "claims.csv").unlink()
    before.pop(target / "claims.csv")
    with pytest.raises(KerhrmError, match="the kernel died"):
        publish(run, target, root=ROOT)
    assert {p: p.read_bytes() for p in target.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("inside", ["config.yaml", "notes.txt", "tables/mine.csv"])
def test_a_folder_of_other_files_is_refused_and_stays(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame, inside: str
) -> None:
    run = complete(make_run(scores))
    (tmp_path / "mine" / inside).parent.mkdir(parents=True)
    (tmp_path / "mine" / inside).write_text("mine")
    for target, problem in ((tmp_path / "mine", "holds files"), (run.folder, "itself")):
        before = set(tmp_path.rglob("*"))
        with pytest.raises(KerhrmError, match=problem):
            publish(run, target)
        assert set(tmp_path.rglob("*")) == before
    assert (tmp_path / "mine" / inside).read_text() == "mine"


def test_a_file_that_was_edited_is_refused(
    tmp_path: Path, make_run: Make, scores: pd.DataFrame
) -> None:
    run = complete(make_run(scores))
    path = run.folder / "tables" / "table1.csv"
    provenance.write(run.folder, "make_table", [path], {}, {})
    path.write_text(path.read_text().replace("ERM", "DRO"))
    with pytest.raises(KerhrmError, match="has changed since rule make_table made it"):
        publish(run, tmp_path / "published")


def test_a_cell_is_explained_by_its_seeds_and_files(
    make_run: Make, scores: pd.DataFrame
) -> None:
    run = Run(make_run(scores, "paper"))
    folder = run.folder
    parts = {
        "classification+r2=0.7/erm/predictions.npz": [],
        "classification+r2=0.7/kerhrm_x/predictions.npz": [],
        "scores/table1.csv.gz": [
            "classification+r2=0.7/erm/predictions.npz",
            "classification+r2=0.7/kerhrm_x/predictions.npz",
        ],
        "tables/table1.csv": ["scores/table1.csv.gz"],
    }
    for name, inputs in parts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
        digests = {one: provenance.digest(folder / one) for one in inputs}
        provenance.write(folder, "a_rule", [folder / name], digests, {})
    found = explain(run, *CELL, root=ROOT)
    own = scores[
        (scores[["setting", "method", "metric"]] == list(CELL[1:])).all(axis=1)
    ]
    own = own[own["selection"] == "pooled validation"]
    expected = own["value"].tolist()
    assert [one["value"] for one in found["seeds"]] == pytest.approx(expected)
    mean = own["value"].mean()
    assert found["cell"]["mean"] == pytest.approx(mean)
    names = [one["file"] for one in found["files"]]
    assert names == [name for name in reversed(parts) if "kerhrm_x" not in name]
    oracle = explain(run, *CELL, selection="oracle", root=ROOT)
    assert oracle["cell"]["selection"] == "oracle"
    assert json.dumps(oracle)


def test_a_cell_that_is_not_there_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["--run", str(REFERENCE)]
    assert main(["explain", "table1", "r2=0.70", "KerHRM", "test_acc", *where]) == 1
    assert "no setting 'r2=0.70'; it has r2=0.7; r2=0.75" in capsys.readouterr().err
    assert main(["explain", "table1", "r2=0.7", "KerHRM", "test_acc", *where]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["seeds"]) == found["cell"]["n_seeds"] == 20
    assert found["commit"]
    assert main(["explain", "tabel1", "r2=0.7", "KerHRM", "test_acc", *where]) == 1
    assert "has no table 'tabel1'; it has table1" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "a\x00,b\n1", "preset: [", "- 1"])
def test_damaged_files_are_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("")
    with pytest.raises(KerhrmError, match=r"config\.yaml is damaged"):
        Run(tmp_path).config.get("preset")
    with pytest.raises(KerhrmError, match=r"t\.csv is damaged"):
        Run(tmp_path).cells("t")


def test_who_is_worse_than_with_the_librarys_defaults_is_known() -> None:
    """A finding (docs/findings.md): no criterion without test data does
    right by all."""
    worse = set()
    for table in ("table1", "table3"):
        scores = Run(REFERENCE).scores(table)
        metric = results_of(scores)[0]
        higher_is_better = METRICS[metric].higher_is_better
        scores = scores[scores["metric"] == metric]
        for method, rows in scores.groupby("method"):
            parts = rows[primary(rows)], rows[rows["selection"] == "library defaults"]
            if all(map(len, parts)):
                effect = paired(
                    *(part.groupby("seed")["value"].mean() for part in parts)
                )
                if decide(effect, higher_is_better=higher_is_better) == "worse":
                    worse.add((table, method))
    assert worse == WORSE


@pytest.mark.parametrize("table", Run(REFERENCE).tables)
def test_latex_fits_a_page(table: str) -> None:
    cells = Run(REFERENCE).cells(table)
    results = results_of(cells)
    for metric in results:
        text = render(cells[cells["metric"] == metric], "latex")
        # of 55 settings
        assert len(text.splitlines()) <= (70 if table == "mechanism" else 60)
    text = render(cells, "latex")
    assert text.count(r"\begin") == text.count(r"\end") == 3 * len(results)


def published_names() -> list[tuple[str, str]]:
    """Data and learner of every published value."""
    frames = [pd.read_csv(path) for path in sorted(REFERENCE.glob("scores/*.csv.gz"))]
    cells = pd.concat(frames)
    names = cells[["data", "learner"]].fillna("").drop_duplicates()
    return [(str(data), str(learner)) for data, learner in names.to_numpy()]


def test_every_published_name_is_one_of_the_configuration() -> None:
    """Read, and spelled again, it is the same; each part of it is declared once."""
    config = load_config({"preset": "fresh"}, root=ROOT)
    resolver = config.resolved.resolver
    names = published_names()
    assert len(names) > 300
    for data, learner in names:
        base, options = resolver.schemas.parse_data(data)
        assert spell(base, options, resolver.schemas.data_schema(base)) == data
        assert (ROOT / "config/data" / f"{base}.yaml").is_file()
        if learner:
            base, options = resolver.schemas.parse_learner(learner)
            assert (
                spell(base, options, resolver.schemas.learner_schema(base)) == learner
            )
            assert config.learner(data, learner).name == learner
            text = (ROOT / "config/learners.yaml").read_text()
            assert len(re.findall(rf"^{re.escape(base)}:", text, re.M)) == 1
