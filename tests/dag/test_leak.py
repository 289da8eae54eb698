"""Nothing that is trained or selected has test data among its inputs."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from dagtools import Job, with_ancestors, with_descendants
from expected import LABELLED, TRAINING, TUNED

from kerhrm.methods.registry import tunable
from kerhrm.storage.arrays import load_arrays

pytestmark = pytest.mark.dag

TEST_LABELS = r"/data/test_labels\.npz$"
ENVIRONMENTS = r"/data/environments\.npz$"
TEST_INPUTS = r"/data/test_inputs\.npz$"
#: whatever may come of test labels: figures for people
AFTER_LABELS = {
    "score",
    "collect_scores",
    "summarise",
    "render_notebook",
    "render_figure",
    "render_variants",
    "check_failures",
    "all",
}


def readers(dag: Iterable[Job], pattern: str) -> list[Job]:
    """Jobs with an input that matches."""
    return [job for job in dag if any(re.search(pattern, file) for file in job.input)]


def rules(jobs: Iterable[Job]) -> set[str]:
    return {job.rule for job in jobs}


def test_the_dag_is_whole(dag: list[Job]) -> None:
    """Else the tests below would prove nothing."""
    assert rules(dag) >= TRAINING | {"generate_data", "select_hyperparameters"}
    assert rules(dag) >= AFTER_LABELS
    for pattern in (TEST_LABELS, ENVIRONMENTS, TEST_INPUTS):
        made = {f for job in dag for f in job.output if re.search(pattern, f)}
        assert len(made) == sum(job.rule == "generate_data" for job in dag) > 5


def test_test_labels_are_read_by_scores_alone(dag: list[Job]) -> None:
    assert rules(readers(dag, TEST_LABELS)) == {"score"}
    assert not [job for job in readers(dag, TEST_LABELS) if "/tune-" in " ".join(job.input)]


def test_true_environments_reach_only_those_who_are_given_them(dag: list[Job]) -> None:
    given = readers(dag, ENVIRONMENTS)
    assert rules(given) == {"train_method", "train_on_features", "select_hyperparameters"}
    assert {m for job in given for m in stems(job)} == set(LABELLED)


def stems(job: Job) -> list[str]:
    """Methods whose predictions a job writes."""
    return re.findall(r"/predictions/([\w-]+)\.npz", " ".join(job.output))


def test_test_inputs_reach_only_those_who_predict(dag: list[Job]) -> None:
    """What they learn does not depend on them: see the tests of shuffled data."""
    assert rules(readers(dag, TEST_INPUTS)) == {
        "extract_ntf",
        "train_method",
        "train_network",
        "train_whole",
    }


def test_algorithm_1_has_one_file_with_what_it_may_know(dag: list[Job]) -> None:
    """M_c and M_p read it, and what they have left themselves."""
    for rule in ("learn_environments", "learn_direction"):
        jobs = [job for job in dag if job.rule == rule]
        assert jobs
        for job in jobs:
            (known,) = [f for f in job.input if not re.search(r"/iterations/\d+/\w+\.npz$", f)]
            assert known.endswith("/features/training.npz"), job.name
    made = re.compile(r"/features/test\.npz$")
    assert rules(readers(dag, made.pattern)) == {
        "predict_ntf",
        "train_on_features",
        "train_whole",
        "score",
    }


def test_that_file_holds_no_test_points(results: Path) -> None:
    files = list(results.glob("*/*/features/training.npz"))
    assert len(files) > 3
    for file in files:
        (known, _), (test, _) = (
            load_arrays(file.with_name(f"{n}.npz")) for n in ("training", "test")
        )
        n, m = known["y"].shape[1], known["y_validation"].shape[1]
        assert {array.shape[1] for name, array in known.items() if name != "s"} == {n, m}
        rows = {row.tobytes() for row in known["psi_validation"][0]}
        rows |= {row.tobytes() for row in known["u"][0] * known["s"][0]}
        assert len(rows) > n
        assert not rows & {row.tobytes() for row in test["psi"][0]}


def test_raw_data_reach_the_generator_alone(dag: list[Job]) -> None:
    assert rules(readers(dag, r"/raw/")) == {"generate_data"}


def test_nothing_that_is_trained_or_selected_descends_from_test_labels(dag: list[Job]) -> None:
    touched = with_descendants(dag, lambda job: job in readers(dag, TEST_LABELS))
    after = [job for job in dag if job.name in touched]
    assert rules(after) == AFTER_LABELS
    assert not [file for job in after for file in job.output if "/tuned/" in file]
    # The same from the other end: no ancestor of a prediction or of a choice reads them.
    checked = set()
    for job in dag:
        if job.rule in TRAINING or job.rule == "select_hyperparameters":
            for file in job.output:
                for ancestor in with_ancestors(dag, file):
                    assert not readers([ancestor], TEST_LABELS), (file, ancestor.name)
            checked.add(job.rule)
    assert checked == TRAINING | {"select_hyperparameters"}


def test_every_choice_has_an_honest_ancestry(dag: list[Job]) -> None:
    made = [f for job in dag for f in job.output if re.search(r"/tuned/.*\.yaml$", f)]
    assert len(made) == len(TUNED) > 2
    for file in made:
        ancestors = with_ancestors(dag, file)
        assert rules(ancestors) <= {
            "select_hyperparameters",
            "train_method",
            "train_on_features",
            "train_whole",
            "test_heterogeneity",
            "reduce_ntf",
            "extract_ntf",
            "generate_data",
            "fetch_raw",
        }
        assert not readers(ancestors, TEST_LABELS)
        methods = {Path(job.output[0]).stem for job in ancestors if job.rule.startswith("train_")}
        assert methods
        assert methods <= set(tunable())
    for job in dag:  # or else the walk above sees nothing
        if job.rule == "score":
            assert readers(with_ancestors(dag, job.output[0]), TEST_LABELS)


def test_tuning_uses_no_setting_of_a_table(dag: list[Job]) -> None:
    tables = {f for job in dag for f in job.output if "/tune" not in f}
    for job in dag:
        if any("/tune" in file for file in job.output):
            assert not [f for f in job.input if f in tables and "/raw/" not in f], job.name
        elif job.rule != "tune":
            assert not [f for f in job.input if "/tune" in f], job.name
