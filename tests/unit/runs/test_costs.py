"""Costs of jobs: measured, and those of jobs that are to run."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm.cli import main
from kerhrm.errors import KerhrmError
from kerhrm_paper.runs.costs import (
    COLUMNS,
    estimate,
    measured,
    place,
    planned,
    stored,
    summary,
)

COSTS = pd.DataFrame(
    [
        ("train", "houses/erm", 10.0, 500.0),
        ("train", "houses/irm", 30.0, 700.0),
        ("train", "classification+r2=0.7/erm", 100.0, 300.0),
        ("score", "table1", 2.0, 100.0),
    ],
    columns=COLUMNS,
)


def test_a_study_is_one_job_of_its_declared_minutes() -> None:
    files = ["run/studies/drift.csv", "run/studies/drift_draws.csv"]
    assert {place(file) for file in files} == {"studies"}
    nothing = pd.DataFrame(columns=COLUMNS)
    jobs = [("study_drift", "studies"), ("score", "table1")]
    known, unknown = estimate(jobs, nothing, {"study_drift": 900.0})
    assert known["seconds"].tolist() == [900.0]
    assert unknown == {"score": 1}


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
    assert stored(tmp_path / "nothing.tsv").empty
    (tmp_path / "costs.tsv").write_text("rule\tseconds\ntrain\tlong\n")
    with pytest.raises(KerhrmError, match="is damaged"):
        stored(tmp_path / "costs.tsv")


def test_the_nearest_job_counts() -> None:
    jobs = [
        ("train", "houses/erm"),  # known
        ("train", "houses/dro"),  # as those on houses
        ("train", "regression+r=1.5/erm"),  # as all of the rule
        ("score", "table2"),
        ("train_network", "houses/kerhrm"),
    ]
    known, unknown = estimate(jobs, COSTS)
    seconds = known["seconds"].tolist()
    memory = known["memory_mb"].tolist()
    assert seconds == pytest.approx([10, 20, 140 / 3, 2])
    assert memory == [500, 700, 700, 100]
    assert unknown == {"train_network": 1}
    assert estimate([], COSTS)[0].empty


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
        ("paper/config.yaml", "config"),
    ],
)
def test_a_file_names_its_job(file: str, expected: str) -> None:
    assert place(file) == expected


def test_targets_are_planned_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KerhrmError, match=r"no Snakefile; cd to the checkout"):
        planned(["table1"])
    (tmp_path / "Snakefile").touch()
    with pytest.raises(
        KerhrmError, match="table1,table2 does not exist; write table1 t"
    ):
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
