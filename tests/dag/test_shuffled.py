"""Shuffled test data, run for real: what was learned stays the same to the last bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from dagtools import SMOKE, TARGETS, Checkout, Job, names, with_descendants
from expected import EXPERIMENTS, LABELLED, stems

from kerhrm.storage.arrays import load_arrays, save_arrays

pytestmark = pytest.mark.dag

LABEL = "r2=0.70"
SETTING = f"results/smoke/classification/{LABEL}"
METHODS = stems(EXPERIMENTS["classification"].settings[LABEL].run)
#: what is learned without a look at the data of test points
LEARNED = ("iterations/1/environments", "iterations/1/theta", "iterations/2/theta", "direction")

Arrays = dict[str, np.ndarray]


@pytest.fixture
def copy(smoke: Checkout, tmp_path: Path) -> Checkout:
    return smoke.copy(tmp_path / "copy")


def change(path: Path, how: Callable[[Arrays], Arrays]) -> None:
    """Change the arrays of a file, and leave the facts."""
    arrays, facts = load_arrays(path)
    save_arrays(path, how(arrays), facts)


def shuffled(*, by: str) -> Callable[[Arrays], Arrays]:
    """Shuffle one array of a file along the points, for each seed on its own."""

    def shuffle(arrays: Arrays) -> Arrays:
        return arrays | {by: np.random.default_rng(0).permuted(arrays[by], axis=1)}

    return shuffle


def parts(arrays: Arrays, *, of_test: bool) -> dict[str, bytes]:
    """Arrays of a file, those of test points or all others."""
    return {n: a.tobytes() for n, a in arrays.items() if (n == "test") == of_test}


def test_learning_needs_no_test_data(copy: Checkout, dag: list[Job]) -> None:
    """One setting again with other test points, no test labels and wrong environments."""
    folder = copy.folder / SETTING
    files = [f"{folder}/predictions/{method}.npz" for method in METHODS]
    files += [f"{folder}/{name}.npz" for name in LEARNED]
    before = {Path(f): load_arrays(f)[0] for f in files}
    network = (folder / "networks/kerhrm.npz").read_bytes()
    (folder / "data/test_labels.npz").write_bytes(b"no labels here")
    change(folder / "data/test_inputs.npz", lambda a: {"x": a["x"][:, ::-1] + 1})
    for part in ("train", "validation"):
        change(folder / "data/environments.npz", shuffled(by=part))

    ran = copy.told(*(str(path.relative_to(copy.folder)) for path in before), *SMOKE)
    begun = [job["rule_name"] for job in ran if "rule_name" in job]
    assert not {"generate_data", "score"} & set(begun)
    for rule in (
        "extract_ntf",
        "learn_environments",
        "train_network",
        "train_method",
        "train_on_features",
        "train_whole",
    ):
        mine = [j for j in dag if j.rule == rule and j.output[0].startswith(f"{SETTING}/")]
        assert begun.count(rule) == len(mine) > 0

    for path, arrays in before.items():
        after, _ = load_arrays(path)
        learned = parts(after, of_test=False) == parts(arrays, of_test=False)
        assert learned == (path.stem not in LABELLED), path.stem
        if path.parent.name == "predictions":
            assert parts(after, of_test=True) != parts(arrays, of_test=True), path.stem
    assert (folder / "networks/kerhrm.npz").read_bytes() == network


def test_other_labels_change_scores_and_nothing_else(copy: Checkout, dag: list[Job]) -> None:
    """Labels of one setting are shuffled within its test points."""
    labels = f"{SETTING}/data/test_labels.npz"
    scores = copy.folder / SETTING / "scores.csv"
    before = scores.read_text(encoding="utf-8").splitlines()
    kept = {p: p.read_bytes() for p in copy.folder.glob("results/smoke/**/*.npz")}
    change(copy.folder / labels, shuffled(by="y"))
    planned = copy.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: labels in job.input)
    assert {job.rule for job in planned if job.output} == {
        "score",
        "collect_scores",
        "summarise",
        "render_notebook",
        "check_failures",
    }
    copy.run(f"{SETTING}/scores.csv", *SMOKE)
    changed = [p for p, content in kept.items() if p.read_bytes() != content]
    assert changed == [copy.folder / labels]
    after = scores.read_text(encoding="utf-8").splitlines()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if "train_acc" in old and "oracle" not in old:
            assert old == new
    differ = [old for old, new in zip(before, after, strict=True) if old != new]
    for method in ("ERM", "HRM", "KerHRM (NTF)", "KerHRM (network)"):
        assert any(f",{method}," in row and "test_acc" in row for row in differ), method
