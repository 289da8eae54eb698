"""Costs of jobs that have run, and the jobs that are to run."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from refusals import refusal

from kerhrm.cli import main
from kerhrm.files import write_text
from kerhrm_paper.runs.costs import (
    SINGLE,
    measured,
    place,
    planned,
    stored,
    summary,
)

SMK = Path("workflow/rules")
#: of a rule, and of the file that its benchmark goes to
RULE = re.compile(r'^rule (\w+):|"<run>/benchmarks/([^"]+)\.tsv"', re.MULTILINE)


def test_rules_of_a_single_job_are_those_whose_benchmark_names_no_place() -> None:
    single = set()
    for file in SMK.glob("*.smk"):
        for name, benchmark in RULE.findall(file.read_text("utf-8")):
            if name:
                rule = name
            elif benchmark == rule:
                single.add(rule)
    assert single == set(SINGLE)


def test_a_job_counts_once_however_many_files_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of several learners has the place of its first one."""
    together = "together_houses_erm_a1b2c3"
    files = [
        ("run/houses/erm/predictions.npz", together),
        ("run/houses/erm+select=oracle/predictions.npz", together),
        ("run/houses/dro+select=oracle/predictions.npz", "train"),
        ("run/tables/table1.csv", "make_table"),
        ("run/tables/table1.html", "make_table"),
        ("run/tables/table1-comparisons.csv", "make_table"),
        ("run/endpoints.csv", "test_endpoints"),
        ("run/figures/selection.png", "test_endpoints"),
        ("run/studies/drift.csv", "study_drift"),
        ("run/studies/drift_draws.csv", "study_drift"),
    ]
    pending = pd.DataFrame(files, columns=["output_file", "rule"])
    pending["plan"] = "update pending"
    made = pd.DataFrame([("run/scores/table1.csv.gz", "score", "no update")])
    made.columns = pending.columns
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    table = pd.concat([pending, made])
    monkeypatch.setattr("kerhrm_paper.runs.costs.summary", lambda words: table)
    assert planned(["all"]) == [
        ("train", "houses/erm"),
        ("train", "houses/dro+select=oracle"),
        ("make_table", "table1"),
        ("test_endpoints", ""),
        ("study_drift", "studies"),
    ]


def test_costs_are_read_from_benchmarks(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks/train/houses+h=1.5"
    folder.mkdir(parents=True)
    header = "s\th:m:s\tmax_rss\tcpu_time\n"
    jobs = {
        "erm": "12.5\t0:00:12\t345.6\t12.1",
        "irm": "0.5\t0:00:00\tNA\tNA",
        "suspended": "2767\t0:46:07\t313.4\t27.5",
        "two_threads": "100\t0:01:40\t500\t190",
    }
    for learner, job in jobs.items():
        path = folder / f"{learner}.tsv"
        path.write_text(f"{header}{job}\n")
    assert measured(tmp_path).to_numpy().tolist() == [
        ["train", "houses+h=1.5/erm", 12.5, 345.6],
        ["train", "houses+h=1.5/irm", 0.5, 0.0],
        ["train", "houses+h=1.5/suspended", 57.5, 313.4],
        ["train", "houses+h=1.5/two_threads", 100.0, 500.0],
    ]
    # irm is of a later job since, which begins with erm
    for learner in ("erm", "irm"):
        record = {"params": {"learners": [{"name": "erm"}, {"name": "irm"}]}}
        record |= {"sha256": "", "inputs": {}}
        file = f"provenance/houses+h=1.5/{learner}/predictions.npz.json"
        write_text(tmp_path / file, json.dumps(record))
    places = measured(tmp_path)["place"].tolist()
    names = ["erm", "suspended", "two_threads"]
    assert places == [f"houses+h=1.5/{name}" for name in names]
    assert stored(tmp_path / "nothing.tsv").empty
    (tmp_path / "costs.tsv").write_text("rule\tseconds\ntrain\tlong\n")
    with refusal("is damaged"):
        stored(tmp_path / "costs.tsv")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("a/paper/houses+h=1.5/data/train.npz", "houses+h=1.5"),
        (
            "a/paper/houses+h=1.5/kerhrm/iterations/2/environments.npz",
            "houses+h=1.5/kerhrm/2",
        ),
        ("a/paper/houses+h=1.5/erm/predictions.npz", "houses+h=1.5/erm"),
        ("a/paper/scores/table1.csv.gz", "table1"),
        ("a/paper/tables/table1-comparisons.csv", "table1"),
        ("a/paper/tables/v1.2-comparisons.csv", "v1.2"),
        ("a/paper/scores/v1.2.csv.gz", "v1.2"),
        ("a/paper/notebooks/v1.2.ipynb", "v1.2"),
        ("paper/config.yaml", "config"),
    ],
)
def test_a_file_names_its_job(file: str, expected: str) -> None:
    assert place(file) == expected


def test_targets_are_planned_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refusal(r"no Snakefile; cd to the checkout"):
        planned(["table1"])
    (tmp_path / "Snakefile").touch()
    for option in ("-n", "--unlock"):  # Snakemake would follow it
        with refusal(f"{option} is an option of Snakemake, and no target; leave it"):
            planned([option, "table1"])
    with refusal("table1,table2 does not exist; write table1 t"):
        planned(["all", "table1,table2"])


def test_a_file_in_the_checkout_hides_no_module_of_python(tmp_path: Path) -> None:
    """Snakemake imports ``random``; a user's file may have that name."""
    (tmp_path / "random.py").write_text("raise RuntimeError('a file of the user')")
    rule = "rule all:\n    output: 'made.txt'\n    shell: 'touch {output}'\n"
    (tmp_path / "Snakefile").write_text(rule)
    found = summary(["all"], tmp_path)
    assert found["output_file"].tolist() == ["made.txt"]


def test_a_configuration_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["cost", "table1", "--configfile", "missing.yaml"]) == 1
    line = "missing.yaml: No such file or directory; give the path of a YAML file"
    assert capsys.readouterr().err == f"kerhrm: error: {line}\n"
