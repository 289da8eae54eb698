"""Shuffled test data, run for real: what was learned stays the same to the last bit."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from dagtools import SMOKE, TARGETS, Checkout, Job, names, with_descendants
from expected import LABELLED, SETUPS, TRAINING

from kerhrm.storage.arrays import load_arrays, save_arrays

pytestmark = pytest.mark.dag

SETTING = "results/smoke/classification/r2=0.70"
#: what is learned, or chosen, without a look at the data of test points
LEARNED = (
    "features/training.npz",
    "heterogeneity.npz",
    "iterations/*/environments.npz",
    "iterations/*/theta.npz",
    "direction.npz",
    "pooled.npz",
    "released.npz",
    "networks/*.npz",
)
#: rules that see points, or what comes of them; not the data sets, the scores and the reports
RULES = TRAINING | {"select_hyperparameters"}

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
    """Everything of `all` and `tune` again, with other test points and without test labels.

    In the tables' settings true environments are wrong, too.
    """
    run = copy.folder / "results/smoke"
    learned = [p for pattern in LEARNED for p in run.glob(f"*/*/{pattern}")]
    learned += (run / "tuned").iterdir()
    before = {path: path.read_bytes() for path in learned}
    predictions = {p: load_arrays(p)[0] for p in run.glob("*/*/predictions/*.npz")}
    seen = {path.relative_to(run).parts[0] for path in predictions}
    assert seen >= {name for name in SETUPS if name != "iterations"}  # whose owner is another

    told = set()
    for folder in run.glob("*/*/data"):
        (folder / "test_labels.npz").write_bytes(b"no labels here")
        change(folder / "test_inputs.npz", lambda a: a | {"x": a["x"][:, ::-1] + 1})
        if not folder.parts[-3].startswith("tune-"):
            old, _ = load_arrays(folder / "environments.npz")
            for part in ("train", "validation"):
                change(folder / "environments.npz", shuffled(by=part))
            new, _ = load_arrays(folder / "environments.npz")
            if any((old[part] != new[part]).any() for part in old):
                told.add(folder.parent)
    assert {place.parent.name for place in told} >= {"classification", "colored_mnist"}

    files = [str(path.relative_to(copy.folder)) for path in (*before, *predictions)]
    ran = copy.told(*files, *SMOKE)
    begun = Counter(job["rule_name"] for job in ran if "rule_name" in job)
    assert begun == Counter(job.rule for job in dag if job.rule in RULES)

    for path, content in before.items():
        assert path.read_bytes() == content, path
    for path, arrays in predictions.items():
        after, _ = load_arrays(path)
        misled = path.stem in LABELLED and path.parents[1] in told
        same = parts(after, of_test=False) == parts(arrays, of_test=False)
        assert same == (not misled), path
        assert parts(after, of_test=True) != parts(arrays, of_test=True), path


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
