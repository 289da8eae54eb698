"""Declarations of the studies, what runs them, and what is published of them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from refusals import refusal

from kerhrm.cli import main
from kerhrm.entries import load_entry
from kerhrm_paper.data.mnist import Digits
from kerhrm_paper.reporting.publish_studies import publish_studies
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.checkpoints import Checkpoint
from kerhrm_paper.runs.code_hash import PACKAGES, sources
from kerhrm_paper.studies.registry import STUDIES
from kerhrm_paper.studies.study import NOTE, Frames, Study, Unit, spread, stand_in

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results" / "study"
PROTOCOL = ROOT / "config" / "real_tables.yaml"
FILES = {"raw": "raw.npz", "protocol": str(PROTOCOL)}


def load(name: str) -> Study:
    """The study of a declaration."""
    study = load_entry(STUDIES[name].entry)
    assert isinstance(study, Study)
    return study


def published(*names: str) -> Frames:
    tables = {}
    for name in names:
        tables[name] = pd.read_csv(PUBLISHED / f"{name}.csv")
    return tables


@pytest.mark.parametrize("name", STUDIES)
def test_units_are_of_declared_tables_and_have_keys_of_their_own(name: str) -> None:
    units = list(load(name).units(FILES))
    tables = {unit.table for unit in units}
    assert tables <= set(STUDIES[name].tables)
    keys = []
    for unit in units:
        values = unit.key.values()
        keys.append(json.dumps([unit.table, *values]))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("pretest", "pretest_draws"),
        ("drift", "drift_draws"),
        ("labels", "labels_draws"),
        ("real_tables", "real_tables_errors"),
    ],
)
def test_published_summaries_follow_from_the_published_draws(
    name: str, drawn: str
) -> None:
    """And the declared tables are those that are made."""
    declaration = STUDIES[name]
    tables = published(drawn)
    made = load(name).summaries(tables)
    assert [drawn, *made] == list(declaration.tables)
    for table, rows in made.items():
        expected = pd.read_csv(PUBLISHED / f"{table}.csv")
        shown = pd.DataFrame(rows.to_dict("list"))
        truth_values = shown.select_dtypes("bool")
        shown = shown.astype(dict.fromkeys(truth_values, bool))
        for column in expected:
            if expected[column].dtype == float:
                numbers = expected[column]
                assert_allclose(shown[column], numbers, atol=2e-4)
                continue
            texts = [str(cell) for cell in shown[column]]
            expected_texts = [str(cell) for cell in expected[column]]
            assert texts == expected_texts
    figures = load(name).figures(tables | made)
    assert list(figures) == list(declaration.figures)


@pytest.mark.parametrize("name", ["pretest", "drift"])
def test_a_unit_gives_the_published_row(name: str) -> None:
    units = iter(load(name).units(FILES))
    unit = next(units)
    values = unit.compute().iloc[0]
    row_of_unit = unit.key | dict(values)
    computed = pd.DataFrame(row_of_unit, index=[0])
    rows = published(unit.table)[unit.table]
    row = rows.iloc[:1]
    assert list(computed.columns) == list(row.columns)
    for column in row:
        value = computed[column].item()
        expected = row[column].item()
        if row[column].dtype == float:
            expected = pytest.approx(expected, 1e-3)
        assert value == expected


def test_an_edit_of_the_configuration_reruns_no_study() -> None:
    script = ROOT / "workflow" / "scripts" / "run_study.py"
    for declaration in STUDIES.values():
        used = sources(script, declaration.entry, packages=PACKAGES)
        rooms = {file.parent.name for file in used}
        files = {file.name for file in used}
        assert "resolver.py" not in files
        assert "studies" in rooms


def test_an_edit_of_a_method_reruns_the_studies_that_train_it() -> None:
    """Whose code is loaded by name, when a study runs."""
    script = ROOT / "workflow" / "scripts" / "run_study.py"
    ridge = ROOT / "src" / "kerhrm" / "methods" / "ridge.py"
    reruns = set()
    train = set()
    for name, declaration in STUDIES.items():
        modules = [declaration.entry, *declaration.methods]
        used = sources(script, *modules, packages=PACKAGES)
        if ridge in used:
            reruns.add(name)
        own = [file for file in used if file.parent.name == "studies"]
        if any("TangentRidge(" in file.read_text("utf-8") for file in own):
            train.add(name)
    assert reruns == train
    assert len(train) == 4


# --- running ------------------------------------------------------------------------


def counting(counts: list[int]) -> Study:
    """A study of ten squares, which notes what it computes."""

    def square(number: int) -> pd.DataFrame:
        counts.append(number)
        squares = [number**2]
        return pd.DataFrame({"square": squares})

    def unit(number: int) -> Unit:
        compute: Callable[[], pd.DataFrame] = lambda: square(number)  # noqa: E731
        return Unit("squares", {"number": number}, compute)

    def summaries(drawn: Frames) -> Frames:
        total = drawn["squares"].sum()
        return {"sum": total.to_frame().T}

    return Study(
        units=lambda files: map(unit, range(10)),
        summaries=summaries,
        figures=lambda tables: {"figure": Figure()},
    )


def test_an_interrupted_study_computes_what_is_left(tmp_path: Path) -> None:
    counts: list[int] = []
    study = counting(counts)
    checkpoint = Checkpoint(tmp_path)
    study.run({}, checkpoint, few=2)
    checkpoint.save()
    resumed = Checkpoint(tmp_path)
    tables, figures = study.run({}, resumed)
    assert sorted(counts) == [*range(10)]
    squares = tables["squares"]["square"]
    expected = [n**2 for n in range(10)]
    assert squares.tolist() == expected
    total = tables["sum"]["square"]
    assert total.tolist() == [285]
    assert figures["figure"].get_suptitle() == ""


def test_few_units_are_spread_and_say_so(tmp_path: Path) -> None:
    counts: list[int] = []
    study = counting(counts)
    checkpoint = Checkpoint(tmp_path)
    tables, figures = study.run({}, checkpoint, few=3)
    assert counts == [0, 4, 8]
    for rows in tables.values():
        assert set(rows["note"]) == {NOTE}
    assert figures["figure"].get_suptitle() == NOTE


def test_results_say_what_stands_in_for_real_data(tmp_path: Path) -> None:
    path = tmp_path / "raw.npz"
    Digits.fallback().save(path)
    source = stand_in({"raw": str(path)})
    assert source is not None
    assert source.startswith("fallback:")
    assert stand_in({}) is None
    study = counting([])
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    tables, figures = study.run({}, checkpoint, stand_in=source)
    note = f"stand-ins for real data: {source}"
    for rows in tables.values():
        assert set(rows["note"]) == {note}
    assert figures["figure"].get_suptitle() == note


def test_few_units_are_of_every_table() -> None:
    for name, declaration in STUDIES.items():
        units = list(load(name).units(FILES))
        chosen = spread(units, declaration.smoke)
        tables = {unit.table for unit in units}
        assert {unit.table for unit in chosen} == tables
        for table in tables:
            of_table = [unit for unit in chosen if unit.table == table]
            assert len(of_table) <= declaration.smoke


# --- publishing ---------------------------------------------------------------------


def make_study(folder: Path, note: str | None = None) -> Run:
    """A run that has made the study ``drift``."""
    run = folder / "results" / "paper"
    folder_of_studies = run / "studies"
    files = [folder_of_studies / file for file in STUDIES["drift"].files]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        names = [file.stem]
        rows = pd.DataFrame({"name": names})
        if note is not None:
            rows["note"] = note
        rows.to_csv(file, index=False)
    provenance.write(run, "study_drift", files, {}, {})
    return Run(run)


def test_a_study_is_published_with_its_provenance(tmp_path: Path) -> None:
    run = make_study(tmp_path)
    target = tmp_path / "study"
    publish_studies(run, target, ["study_drift"])
    written = (target / "provenance.json").read_text()
    record = json.loads(written)
    for file in STUDIES["drift"].files:
        made = run.folder / "studies" / file
        published_file = target / file
        digest = provenance.digest(made)
        assert record["files"][file] == digest
        assert published_file.read_text() == made.read_text()
    noted = record["studies"]["study_drift"]
    assert noted["command"] == "snakemake --cores 2 study_drift --config preset=paper"
    of_job = provenance.read(run.folder, "studies/drift.csv")
    assert of_job is not None
    assert noted["commit"] == of_job["commit"]


def test_the_command_publishes_studies_next_to_the_tables(tmp_path: Path) -> None:
    run = make_study(tmp_path)
    reference = tmp_path / "reference"
    words = ["publish", str(run.folder), "study_drift"]
    assert main([*words, "--reference", str(reference)]) == 0
    assert (tmp_path / "study" / "drift.csv").exists()
    assert not reference.exists()


def test_a_folder_of_other_files_gets_no_study(tmp_path: Path) -> None:
    """The folder next to the tables may be somebody's."""
    run = make_study(tmp_path)
    file = tmp_path / "study" / "drift.csv"
    file.parent.mkdir()
    file.write_text("mine")
    words = ["publish", str(run.folder), "study_drift"]
    assert main([*words, "--reference", str(tmp_path / "reference")]) == 1
    assert [*file.parent.iterdir()] == [file]
    assert file.read_text() == "mine"


@pytest.mark.parametrize("words", [["study_drift", "study_x"], ["drift"]])
def test_an_unknown_study_is_refused_before_anything_is_written(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_study(tmp_path)
    reference = str(tmp_path / "reference")
    folder = str(run.folder)
    command = ["publish", folder, *words, "--reference", reference]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "did you mean" in error
    assert not (tmp_path / "study").exists()


def test_smoke_sizes_edited_and_missing_files_are_not_published(tmp_path: Path) -> None:
    target = tmp_path / "study"
    for number, note in enumerate((NOTE, "stand-ins for real data: fallback:digits")):
        run = make_study(tmp_path / str(number), note)
        with refusal(note):
            publish_studies(run, target, ["study_drift"])
    run = make_study(tmp_path)
    (run.folder / "studies" / "drift.csv").write_text("name\nother\n")
    with refusal("has changed since"):
        publish_studies(run, target, ["study_drift"])
    with refusal("snakemake --cores 2 study_labels"):
        publish_studies(run, target, ["study_labels"])
    with refusal("did you mean 'study_drift'"):
        publish_studies(run, target, ["study_drft"])
    assert not target.exists()


def test_published_figures_are_drawn_again(tmp_path: Path) -> None:
    """Those whose tables are published; tables and other figures stay."""
    target = tmp_path / "study"
    shutil.copytree(PUBLISHED, target)
    for name in ("learning_curve", "starts_selection"):
        (target / f"{name}.png").write_text("of older code")
    (target / "starts_summary.csv").unlink()
    before = Run(target).provenance
    assert main(["publish", str(target), "--again"]) == 0
    drawn = target / "learning_curve.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")
    # one of the tables of this study is not there
    assert (target / "starts_selection.png").read_text() == "of older code"
    for path in {*PUBLISHED.glob("*.csv")} - {PUBLISHED / "starts_summary.csv"}:
        assert (target / path.name).read_bytes() == path.read_bytes()
    after = Run(target).provenance
    assert after["studies"] == before["studies"]
    assert "learning_curve.png" in after["again"]["files"]
    for file in after["again"]["files"]:
        assert after["files"][file] == provenance.digest(target / file)
