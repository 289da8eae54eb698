"""Training never sees test labels or true environments."""

import re
from pathlib import Path

import numpy as np
import pytest
from dagtools import SMOKE, Checkout, Job

from kerhrm.arrays import load_arrays, save_arrays

pytestmark = pytest.mark.dag

SETTING = "results/smoke/classification/r2=0.70"
# Rules between the data set and the predictions.
TRAINING = {
    "extract_ntf",
    "reduce_ntf",
    "cluster",
    "learn_invariant",
    "predict_ntf",
    "train_network",
    "train_erm",
}


def readers(dag: list[Job], pattern: str) -> set[str]:
    """Rules with an input that matches."""
    return {job.rule for job in dag if any(re.search(pattern, file) for file in job.input)}


def test_only_score_reads_test_labels(dag: list[Job]) -> None:
    assert sum(re.search(r"/data/test_labels\.npz$", f) is not None for j in dag for f in j.output)
    assert readers(dag, r"/data/test_labels\.npz$") == {"score"}


def test_no_method_reads_true_environments(dag: list[Job]) -> None:
    assert any(f.endswith("/data/environments.npz") for job in dag for f in job.output)
    assert readers(dag, r"/data/environments\.npz$") == set()


def test_raw_data_reach_the_generator_alone(dag: list[Job]) -> None:
    assert readers(dag, r"/raw/") == {"generate_data"}


def test_nothing_downstream_of_scores_is_read_by_training(dag: list[Job]) -> None:
    assert rules_of(dag) >= TRAINING
    reports = r"scores|tables|notebooks|restarts|README|paper_values"
    assert not readers(dag, reports) & TRAINING


def rules_of(dag: list[Job]) -> set[str]:
    return {job.rule for job in dag}


def test_inputs_hold_no_labels_of_test_points(results: Path) -> None:
    for path in results.glob("*/*/data/*.npz"):
        arrays, _ = load_arrays(path)
        assert (
            set(arrays)
            == {
                "train": {"x", "y"},
                "validation": {"x", "y"},
                "test_inputs": {"x"},
                "environments": {"train", "validation"},
                "test_labels": {"y", "environment"},
            }[path.stem]
        )


def test_training_without_labels_and_scoring_with_wrong_ones(
    smoke: Checkout, dag: list[Job], tmp_path: Path
) -> None:
    """Repeat one setting with the files that nobody may read made unreadable."""
    copy = smoke.copy(tmp_path / "copy")
    folder = copy.folder / SETTING
    labels = folder / "data" / "test_labels.npz"
    arrays, facts = load_arrays(labels)
    scores = (folder / "scores.csv").read_text(encoding="utf-8")
    before = {
        p: p.read_bytes() for k in ("predictions", "candidates") for p in (folder / k).iterdir()
    }
    assert len(before) == 6
    labels.write_bytes(b"no labels here")
    (folder / "data" / "environments.npz").write_bytes(b"nor environments")

    mine = [job for job in dag if job.rule in TRAINING and job.output[0].startswith(SETTING + "/")]
    targets = [str(path.relative_to(copy.folder)) for path in before]
    first = [job.output[0] for job in mine if job.rule in ("extract_ntf", "train_erm")]
    for path in before:
        path.unlink()
    ran = copy.run(*targets, "--forcerun", *first, *SMOKE)
    for rule in TRAINING:
        assert len(re.findall(rf"^(?:local)?rule {rule}:$", ran, re.MULTILINE)) == sum(
            job.rule == rule for job in mine
        )
    assert not re.search(r"rule (generate_data|score):", ran)
    assert {path: path.read_bytes() for path in before} == before

    shuffled = np.random.default_rng(0).permuted(arrays["y"], axis=1)
    save_arrays(labels, arrays | {"y": shuffled}, facts)
    ran = copy.run(f"{SETTING}/scores.csv", "--forcerun", "score", *SMOKE)
    assert set(re.findall(r"^(?:local)?rule (\w+):$", ran, re.MULTILINE)) == {"score"}
    assert {path: path.read_bytes() for path in before} == before
    after = (folder / "scores.csv").read_text(encoding="utf-8")
    old, new = scores.splitlines(), after.splitlines()
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        if "train_acc" in a and "oracle" not in a:
            assert a == b
    changed = [a for a, b in zip(old, new, strict=True) if a != b]
    assert any("ERM" in row and "test_acc" in row for row in changed)
    assert any("KerHRM (NTF)" in row and "test_acc" in row for row in changed)
