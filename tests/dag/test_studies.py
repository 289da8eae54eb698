"""Studies as rules: what they make, and what makes them again."""

from pathlib import Path

import pandas as pd
import pytest
from dagtools import SMOKE, Checkout, edited, rules, statement

from kerhrm_paper.studies.registry import STUDIES, TARGET

pytestmark = pytest.mark.dag

STUDY_CODE = Path("src/kerhrm_paper/studies")
QUICK = "study_drift", "study_pretest"


def test_every_study_is_a_rule_with_the_declared_files(checkout: Checkout) -> None:
    planned = checkout.plan("studies", *SMOKE)
    jobs = {job.rule: job for job in planned}
    for name, study in STUDIES.items():
        made = [f"results/smoke/studies/{file}" for file in study.files]
        job = jobs[f"{TARGET}{name}"]
        assert [*job.output] == made
        assert job.log == (f"results/smoke/logs/{TARGET}{name}.log",)
        assert job.benchmark == f"results/smoke/benchmarks/{TARGET}{name}.tsv"
    read = {"config/real_tables.yaml", "envs/tables.lock"}
    assert {*jobs["study_real_tables"].input} == read
    others = {"fetch_raw", *(f"{TARGET}{name}" for name in STUDIES)}
    assert rules(planned) == others
    assert rules(checkout.plan("study_scale", *SMOKE)) == {"fetch_raw", "study_scale"}


def test_an_edit_runs_its_study_again_and_nothing_else(checkout: Checkout) -> None:
    shown = checkout.run(*QUICK, *SMOKE)
    assert "results/smoke/studies/pretest.png" in shown
    drift = pd.read_csv(checkout.folder / "results/smoke/studies/drift.csv")
    assert set(drift["note"]) == {"smoke sizes"}
    assert checkout.plan(*QUICK, *SMOKE) == []
    for module, stale in {
        "drift.py": {"study_drift"},
        "pretest.py": {"study_pretest"},
        "labels.py": set(),
        "registry.py": set(),
        "laws.py": {"study_pretest"},
        "noises.py": {*QUICK},
    }.items():
        with edited(checkout.folder / STUDY_CODE / module, statement):
            assert rules(checkout.plan(*QUICK, *SMOKE)) == stale, module
    library = checkout.folder / "src/kerhrm/heterogeneity/test.py"
    with edited(library, statement):
        assert rules(checkout.plan(*QUICK, *SMOKE)) == {*QUICK}


def test_packages_that_are_missing_are_one_line(checkout: Checkout) -> None:
    done = checkout.snakemake("study_real_tables", *SMOKE)
    assert done.returncode != 0
    assert "wage2.csv.bz2 does not exist" in done.stdout
    folder = checkout.folder
    command = f"--target {folder}/build/tables -r {folder}/envs/tables.lock"
    assert command in done.stdout
    assert "Traceback" not in done.stdout
