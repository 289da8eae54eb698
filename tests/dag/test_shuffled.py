"""Shuffled test data, run for real: what was learned stays the same to the last bit."""

from pathlib import Path

import numpy as np
import pytest
from dagtools import SMOKE, Checkout
from expected import CONFIG, LABELLED

from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.arrays import load_arrays, save_arrays

pytestmark = pytest.mark.dag

#: every method, both tasks, the pre-test: the others would repeat them
DATA = ("classification+r2=0.7", "houses")
#: what is learned, or chosen, without a look at the data of test points
LEARNED = (
    "features/training.npz",
    "*/heterogeneity.npz",
    "*/iterations/*/environments.npz",
    "*/iterations/*/directions.npz",
)

Arrays = dict[str, np.ndarray]


def change(run: Path, path: Path, **arrays: np.ndarray) -> None:
    """Replace arrays of a file, leave its metadata, and note its new digest."""
    kept, meta = load_arrays(path)
    save_arrays(path, kept | arrays, **meta)
    provenance.write(run, "change", [path], {}, {})


def parts(arrays: Arrays, *, of_test: bool) -> dict[str, bytes]:
    """Arrays of a file, those of test points or all others."""
    return {n: a.tobytes() for n, a in arrays.items() if n.endswith("test") == of_test}


def test_learning_needs_no_test_data(smoke: Checkout, tmp_path: Path) -> None:
    """All of two data sets again with other test points and without test labels.

    True environments are wrong, too.
    """
    copy = smoke.copy(tmp_path / "copy")
    run = copy.folder / "results/smoke"
    places = [run / name for name in DATA]
    found = [
        path for pattern in LEARNED for place in places for path in place.glob(pattern)
    ]
    learned = {path: load_arrays(path)[0] for path in found}
    predictions = {
        p: load_arrays(p)[0]
        for place in places
        for p in place.glob("*/predictions.npz")
    }
    assert len(learned) > 8
    assert len(predictions) > 15

    misled = set()
    for folder in (place / "data" for place in places):
        (folder / "test_labels.npz").write_bytes(b"no labels here")
        inputs, _ = load_arrays(folder / "test_inputs.npz")
        change(run, folder / "test_inputs.npz", x=inputs["x"][:, ::-1] + 1)
        old, _ = load_arrays(folder / "environments.npz")
        new = {n: np.random.default_rng(0).permuted(a, axis=1) for n, a in old.items()}
        change(run, folder / "environments.npz", **new)
        if any((old[part] != new[part]).any() for part in old):
            misled.add(folder.parent)
    assert run / DATA[0] in misled

    files = [str(path.relative_to(copy.folder)) for path in (*learned, *predictions)]
    copy.run(*files, *SMOKE)

    for path, arrays in learned.items():
        after, _ = load_arrays(path)
        assert {n: a.tobytes() for n, a in after.items()} == {
            n: a.tobytes() for n, a in arrays.items()
        }, path
    for path, arrays in predictions.items():
        after, _ = load_arrays(path)
        data, learner, _ = path.relative_to(run).parts
        labelled = CONFIG.learner(data, learner).method in LABELLED
        same = parts(after, of_test=False) == parts(arrays, of_test=False)
        assert same == (not (labelled and run / data in misled)), path
        assert parts(after, of_test=True) != parts(arrays, of_test=True), path
