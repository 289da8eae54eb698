"""Nothing that is trained or selected has test data among its inputs."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from dagtools import Job, rules, with_ancestors, with_descendants
from expected import CONFIG, LABELLED, TRAINING

from kerhrm_paper.runs.arrays import load_arrays

pytestmark = pytest.mark.dag

TEST_LABELS = r"/data/test_labels\.npz$"
ENVIRONMENTS = r"/data/environments\.npz$"
TEST_INPUTS = r"/data/test_inputs\.npz$"


def readers(dag: Iterable[Job], pattern: str) -> list[Job]:
    """Jobs with an input that matches."""
    return [job for job in dag if any(re.search(pattern, file) for file in job.input)]


def method_of(job: Job) -> str:
    data, learner = job.output[0].split("/")[2:4]
    return CONFIG.learner(data, learner).method


def test_the_dag_is_whole(dag: list[Job]) -> None:
    """Otherwise the tests below would prove nothing."""
    assert rules(dag) >= TRAINING | {
        "generate_data",
        "score",
        "make_table",
        "render_notebook",
    }
    for pattern in (TEST_LABELS, ENVIRONMENTS, TEST_INPUTS):
        made = {f for job in dag for f in job.output if re.search(pattern, f)}
        assert len(made) == sum(job.rule == "generate_data" for job in dag) >= 5


def test_test_labels_are_read_by_scores_alone(dag: list[Job]) -> None:
    assert rules(readers(dag, TEST_LABELS)) == {"score"}


def test_true_environments_reach_only_methods_that_are_given_them(
    dag: list[Job],
) -> None:
    given = readers(dag, ENVIRONMENTS)
    assert rules(given) == {"train"}
    assert {method_of(job) for job in given} == LABELLED


def test_test_inputs_reach_only_jobs_that_predict(dag: list[Job]) -> None:
    """What they learn does not depend on them: see the tests of shuffled data."""
    assert rules(readers(dag, TEST_INPUTS)) <= {
        "extract_features",
        "train",
        "train_network",
    }


def test_algorithm_1_has_one_file_with_what_it_may_know(dag: list[Job]) -> None:
    """M_c and M_p read it, and their own results."""
    for rule in ("learn_environments", "learn_direction"):
        jobs = [job for job in dag if job.rule == rule]
        assert jobs
        for job in jobs:
            known = [
                f for f in job.input if not re.search(r"/iterations/\d+/\w+\.npz$", f)
            ]
            assert all(
                f.endswith(
                    (
                        "/features/training.npz",
                        "/data/train.npz",
                        "/data/validation.npz",
                    )
                )
                for f in known
            ), job.name
            assert any(f.endswith("/features/training.npz") for f in known)


def test_that_file_holds_no_test_points(results: Path) -> None:
    files = list(results.glob("*/features/training.npz"))
    assert len(files) > 2
    for file in files:
        known, test = (
            load_arrays(file.with_name(f"{n}.npz"))[0] for n in ("training", "test")
        )
        rows = {row.tobytes() for row in known["psi_validation"][0]}
        rows |= {row.tobytes() for row in known["u"][0] * known["s"][0]}
        assert len(rows) > known["y"].shape[1]
        assert not rows & {row.tobytes() for row in test["psi"][0]}


def test_raw_data_reach_the_generator_alone(dag: list[Job]) -> None:
    assert rules(readers(dag, r"/raw/")) == {"generate_data"}


def test_nothing_that_is_trained_descends_from_test_labels(dag: list[Job]) -> None:
    touched = with_descendants(dag, lambda job: job in readers(dag, TEST_LABELS))
    after = {job.rule for job in dag if job.name in touched}
    assert not after & (TRAINING | {"generate_data", "fetch_raw"})
    # The same from the other end: no ancestor of a prediction reads them.
    for job in dag:
        if job.rule in TRAINING:
            for file in job.output:
                assert not readers(with_ancestors(dag, file), TEST_LABELS), file


def test_nothing_that_a_search_trains_reads_test_labels(smoke) -> None:  # type: ignore[no-untyped-def]
    """Selection on the tuning seeds, the oracle's, too: its whole ancestry."""
    small = ("--configfile", "config/presets/smoke.yaml", "--config", "preset=tuning")
    dag = smoke.plan("--forceall", "select", *small)
    assert rules(readers(dag, TEST_LABELS)) == {"select_hyperparameters"}
    tables = {job.rule for job in dag} & {"score", "make_table"}
    assert tables == set()
