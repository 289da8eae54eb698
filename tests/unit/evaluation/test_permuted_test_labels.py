"""Test labels in another order: nothing that is trained or chosen changes, but for the
oracle's choice.

Every method and every criterion, by the functions of the workflow's jobs.  A job gets
the paths of all files here, those that its rule would withhold, too.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from quick_methods import K, quick_options

from kerhrm.features.options import FeatureOptions
from kerhrm.methods.base import Method
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Task
from kerhrm_paper.config.criteria import ORACLE, WORDS
from kerhrm_paper.config.options import entry_of
from kerhrm_paper.data.draws import Split
from kerhrm_paper.data.registry import generate
from kerhrm_paper.evaluation.selection import best, search
from kerhrm_paper.runs.arrays import load_arrays, save_arrays
from kerhrm_paper.runs.checkpoints import Checkpoint
from kerhrm_paper.runs.extraction import extract_features
from kerhrm_paper.runs.replication import Replication, Seeds
from kerhrm_paper.runs.training import train_learners

SEEDS = Seeds.alike(1, 0)
DATA: dict[Task, dict[str, Any]] = {
    "classification": {
        "r_test": [0.1],
        "n_train_per_environment": 40,
        "n_validation_per_environment": 30,
        "n_test": 200,
    },
    "regression": {
        "test_r": [-2.0],
        "n_train": (50, 30),
        "n_validation": 60,
        "n_test": 200,
    },
}
PARTS = ("train", "validation", "test_inputs", "test_labels", "environments")
#: values of two candidates: of the first of these options that a method has
TRIED: dict[str, tuple[Any, Any]] = {
    "k": (2, K),
    "learning_rate": (1e-6, 1e-2),
    "gate_rate": (1e-6, 1e-2),
    "n_landmarks": (2, 1000),
}


class Case(NamedTuple):
    method: Method
    task: Task
    options: dict[str, Any]  #: of all candidates

    @property
    def candidates(self) -> dict[str, dict[str, Any]]:
        """Options of each candidate, by its learner's name; a method with nothing to
        choose is the only one."""
        name = self.method.name
        fields = self.method.options.model_fields
        known = [option for option in TRIED if option in fields]
        if not known:
            return {name: self.options}
        option = known[0]
        candidates = {}
        for value in TRIED[option]:
            single = option != "k" or isinstance(fields["k"].default, int)
            tried = {option: value if single else [value]}
            candidates[f"{name}+{option}={value}"] = self.options | tried
        return candidates

    @property
    def criteria(self) -> list[str]:
        """Names of all criteria that see no test data."""
        return [name for name, words in WORDS.items() if words in self.method.criteria]


def cases() -> Iterator[Any]:
    """Every method with every task it has; KerHRM by both rules of its own."""
    for name, method in METHODS.items():
        quick = quick_options(method)
        rules = ("worst_inferred", "pooled") if name == "kerhrm" else ("",)
        for task in method.tasks:
            for rule in rules:
                stop_by = {"stop_by": rule} if rule else {}
                case = Case(method, task, quick | stop_by)
                yield pytest.param(case, id=f"{name}-{task}-{rule}")


def replication(task: Task) -> Replication:
    network = NetworkOptions(widths=[16])
    return Replication(task, task, network, FeatureOptions(k=K), SEEDS)


def paths(folder: Path) -> dict[str, Path]:
    """Files of a data set, by their names in a rule."""
    files = {part: folder / f"data/{part}.npz" for part in PARTS}
    files["true_environments"] = files["environments"]
    files["wrong_environments"] = folder / "wrong_environments.npz"
    files["features"] = folder / "features/training.npz"
    files["test_features"] = folder / "features/test.npz"
    return files


def with_auxiliary(split: Split) -> Split:
    """Points with their first input as the auxiliary variable."""
    return replace(split, auxiliary=split.x[..., :1])


def extremes(split: Split, n: int = 60) -> Split:
    """The points with the n smallest and the n largest labels: n of each class."""
    (y,) = split.y
    order = np.argsort(y)
    rows = np.concatenate([order[:n], order[-n:]])
    return Split(split.x[:, rows], split.y[:, rows], split.environment[:, rows])


def save_features(folder: Path, task: Task) -> None:
    files = paths(folder)
    outputs = SimpleNamespace(
        training=files["features"],
        test=files["test_features"],
    )
    data = replication(task).params()
    checkpoint = Checkpoint(folder / "state")
    with torch.inference_mode():
        extract_features(files, data, torch.device("cpu"), outputs, checkpoint)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of two runs with the same data, but for what is hidden from training."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("drawn", "permuted")}
    for task, options in DATA.items():
        draws = generate(task, options, SEEDS.data)
        known = replace(
            draws,
            train=with_auxiliary(draws.train),
            validation=with_auxiliary(draws.validation),
            test=extremes(draws.test),
        )
        for name, folder in folders.items():
            known.save(paths(folder / task))
            if name == "permuted":
                permute_hidden(folder / task)
            save_features(folder / task, task)
    return folders


def permute_hidden(data: Path) -> None:
    """Permute environments at random, and the test labels so that the smallest gets
    the place of the largest, the second that of the second largest, ...: classes swap.
    """
    files = paths(data)
    arrays, facts = load_arrays(files["test_labels"])
    for y in arrays["y"]:
        order = np.argsort(y)
        y[order] = y[order[::-1]]
    save_arrays(files["test_labels"], arrays, **facts)
    random = np.random.default_rng(0)
    arrays, facts = load_arrays(files["environments"])
    permuted = {name: random.permuted(old, axis=1) for name, old in arrays.items()}
    save_arrays(files["wrong_environments"], permuted, **facts)


def trained(case: Case, run: Path, environments: str) -> dict[str, dict[str, Any]]:
    """Train all candidates; what a search is given of each, by ``DATA/LEARNER``."""
    method = case.method
    entries = {"train": entry_of(method.train), "options": entry_of(method.options)}
    learners = []
    cells = {}
    for name, options in case.candidates.items():
        parsed = method.options(**options)
        outputs = method.outputs_with(parsed)
        values = parsed.model_dump(mode="json")
        learner = {
            "name": name,
            "options": values,
            "n_seeds": len(SEEDS),
            "outputs": outputs,
            "infers": method.infers,
            "iterates": method.iterates,
            "entries": entries,
        }
        learners.append(learner)
        cells[f"{case.task}/{name}"] = {
            "outputs": outputs,
            "criteria": case.criteria,
            "options": values,
        }
    files = paths(run / case.task)
    files["true_environments"] = files[environments]
    params = SimpleNamespace(
        data=replication(case.task).params(), learners=learners, device="cpu", threads=1
    )
    outputs = [str(run / cell / "predictions.npz") for cell in cells]
    in_words = {name: str(path) for name, path in files.items()}
    train_learners(in_words, params, outputs, Checkpoint(run / "state"))
    return cells


def searched(
    case: Case, run: Path, environments: str
) -> tuple[list[dict[str, np.ndarray]], pd.DataFrame]:
    """What the jobs have saved of each candidate, and the scores of all."""
    cells = trained(case, run, environments)
    saved = []
    for cell in cells:
        arrays, _ = load_arrays(run / cell / "predictions.npz")
        saved.append(arrays)
    return saved, search(cells, run)


@pytest.mark.parametrize("case", list(cases()))
def test_what_is_hidden_changes_nothing_but_the_oracles_choice(
    case: Case, runs: dict[str, Path]
) -> None:
    """To the last bit: outputs, stopping, the method's own choices, and those of every
    criterion.  Methods that are given environments have the same ones twice."""
    before, scores = searched(case, runs["drawn"], "environments")
    is_given = case.method.needs_environments
    environments = "environments" if is_given else "wrong_environments"
    after, scores_after = searched(case, runs["permuted"], environments)
    for arrays, arrays_after in zip(before, after, strict=True):
        assert arrays.keys() == arrays_after.keys()
        for name, array in arrays.items():
            assert array.tobytes() == arrays_after[name].tobytes(), name
    oracle, oracle_after = scores.pop(ORACLE), scores_after.pop(ORACLE)
    pd.testing.assert_frame_equal(scores, scores_after, check_exact=True)
    if case.task == "regression":
        assert (oracle != oracle_after).all()
    else:  # what was right is wrong
        np.testing.assert_allclose(oracle_after, 1 - oracle)
        differ = oracle.nunique() > 1
        assert (oracle.idxmax() != oracle_after.idxmax()) == differ
        assert differ or case.method.name != "erm"  # once at least
    ((_, choices),) = best(scores).items()
    assert {*choices} == {*case.criteria}
