"""Shuffled test data, run for real: what was learned stays the same to the last bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dagtools import SMOKE, TARGETS, Checkout, Job, names, rules, with_descendants
from expected import LABELLED, TRAINING, params

from kerhrm.paper.runs.arrays import load_arrays, save_arrays

pytestmark = pytest.mark.dag

SETTING = "results/smoke/classification/r2=0.70"
#: every method, both tasks, the pre-test: the others would repeat them
SETTINGS = ("classification/r2=0.70", "houses/houses")
#: what is learned, or chosen, without a look at the data of test points
LEARNED = (
    "features/training.npz",
    "*/heterogeneity.npz",
    "*/iterations/*/environments.npz",
    "*/iterations/*/directions.npz",
)

Arrays = dict[str, np.ndarray]


@pytest.fixture
def copy(smoke: Checkout, tmp_path: Path) -> Checkout:
    return smoke.copy(tmp_path / "copy")


def change(path: Path, how: Callable[[Arrays], Arrays]) -> None:
    """Change the arrays of a file, leave its metadata, and forget its digest."""
    arrays, meta = load_arrays(path)
    save_arrays(path, how(arrays), **meta)
    for record in path.parents[len(path.parts) - path.parts.index("smoke") - 2].glob(
        f"provenance/**/{path.name}*.json"
    ):
        record.unlink()


def shuffled(*, by: str) -> Callable[[Arrays], Arrays]:
    """Shuffle one array of a file along the points, for each seed on its own."""

    def shuffle(arrays: Arrays) -> Arrays:
        return arrays | {by: np.random.default_rng(0).permuted(arrays[by], axis=1)}

    return shuffle


def parts(arrays: Arrays, *, of_test: bool) -> dict[str, bytes]:
    """Arrays of a file, those of test points or all others."""
    return {n: a.tobytes() for n, a in arrays.items() if n.endswith("/test") == of_test}


def test_learning_needs_no_test_data(copy: Checkout) -> None:
    """All of two settings again with other test points and without test labels.

    True environments are wrong, too.
    """
    run = copy.folder / "results/smoke"
    places = [run / name for name in SETTINGS]
    found = [path for pattern in LEARNED for place in places for path in place.glob(pattern)]
    learned = {path: load_arrays(path)[0] for path in found}
    predictions = {
        p: load_arrays(p)[0] for place in places for p in place.glob("*/predictions.npz")
    }
    assert len(learned) > 8
    assert len(predictions) > 15

    misled = set()
    for folder in (place / "data" for place in places):
        (folder / "test_labels.npz").write_bytes(b"no labels here")
        change(folder / "test_inputs.npz", lambda a: a | {"x": a["x"][:, ::-1] + 1})
        old, _ = load_arrays(folder / "environments.npz")
        for part in ("train", "validation"):
            change(folder / "environments.npz", shuffled(by=part))
        new, _ = load_arrays(folder / "environments.npz")
        if any((old[part] != new[part]).any() for part in old):
            misled.add(folder.parent)
    assert run / SETTINGS[0] in misled

    files = [str(path.relative_to(copy.folder)) for path in (*learned, *predictions)]
    copy.run(*files, *SMOKE)

    for path, arrays in learned.items():
        after, _ = load_arrays(path)
        assert {n: a.tobytes() for n, a in after.items()} == {
            n: a.tobytes() for n, a in arrays.items()
        }, path
    for path, arrays in predictions.items():
        after, _ = load_arrays(path)
        data, setting, learner, _ = path.relative_to(run).parts
        labelled = params(data, setting, learner)["method"] in LABELLED
        same = parts(after, of_test=False) == parts(arrays, of_test=False)
        assert same == (not (labelled and run / data / setting in misled)), path
        assert parts(after, of_test=True) != parts(arrays, of_test=True), path


def test_other_labels_change_scores_and_nothing_else(copy: Checkout, dag: list[Job]) -> None:
    """Labels of one setting are shuffled within its test points."""
    labels = f"{SETTING}/data/test_labels.npz"
    scores = copy.folder / "results/smoke/scores/table1.csv.gz"
    before = pd.read_csv(scores)
    kept = {p: p.read_bytes() for p in copy.folder.glob("results/smoke/**/*.npz")}
    change(copy.folder / labels, shuffled(by="y"))
    planned = copy.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: labels in job.input)
    assert not rules(planned) & TRAINING
    copy.run(str(scores.relative_to(copy.folder)), *SMOKE)
    changed = [p for p, content in kept.items() if p.read_bytes() != content]
    assert changed == [copy.folder / labels]
    after = pd.read_csv(scores)
    assert len(before) == len(after)
    differ = before["value"] != after["value"]
    train = (before["metric"] == "train_acc") & (before["selection"] != "oracle")
    assert not (differ & (train | (before["setting"] != "r2=0.70"))).any()
    for method in ("ERM", "HRM", "KerHRM", "KerHRM (linear predictor)"):
        assert (differ & (before["method"] == method)).any(), method
