"""Groups and balanced samples are those of SpuCo (Joshi et al. 2023), an independent
package, on 2 000 points."""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from torch import Tensor

from kerhrm.methods.balancing import balance, groups_of
from kerhrm.methods.eiil import EIILOptions, train_eiil
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.irm import IRMOptions, train_pooled
from kerhrm.methods.jtt import JTTOptions, train_jtt

ROOT = Path(__file__).parents[3]
ORACLES = ROOT / "build" / "oracles"
#: what SpuCo imports for its data sets, language models and figures
ABSENT = "transformers", "torchvision", "umap", "wilds", "pytorch_grad_cam", "wandb"
N = 2000
Draw = Callable[..., Inputs]


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for every package that is absent."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = MagicMock(spec_set=None, name=spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@pytest.fixture(scope="module")
def spuco() -> Iterator[SimpleNamespace]:
    """Its packages for inferred groups and for robust training."""
    if not (ORACLES / "spuco").is_dir():
        pytest.skip(
            "SpuCo is not installed; make build/oracles/installed, by a network"
        )
    finder = Absent()
    before = {*sys.modules}
    sys.path.append(str(ORACLES))
    sys.meta_path.append(finder)
    try:
        importlib.import_module("spuco.utils.random_seed").set_seed(0)
        yield SimpleNamespace(
            infer=importlib.import_module("spuco.group_inference"),
            train=importlib.import_module("spuco.robust_train"),
        )
    finally:
        sys.meta_path.remove(finder)
        sys.path.remove(str(ORACLES))
        for name in {*sys.modules} - before:
            package, _, _ = name.partition(".")
            if package in (*ABSENT, "spuco"):
                del sys.modules[name]


@pytest.fixture
def inputs(draw: Draw) -> Inputs:
    """A first network gets some of these points wrong."""
    return draw(n=N, m=20, d=6, noise=1.0)


def as_split(partition: dict[Any, Sequence[int]]) -> Tensor:
    """Groups (n,) of a partition into numbers of points, in the order of its names."""
    split = torch.full((N,), -1)
    for number, name in enumerate(sorted(partition)):
        numbers = partition[name]
        points = torch.tensor(numbers, dtype=torch.int64)
        split[points] = number
    return split


def classes(y: Tensor) -> list[int]:
    return (y > 0).long().tolist()


def test_eiil_s_environments(spuco: Any, inputs: Inputs) -> None:
    """Of logits (0, f): the same two sets of points, from another random start."""
    options = EIILOptions(loss="logistic", reference_steps=30, steps=1)
    fitted = train_eiil(inputs, options)
    assert fitted.environments is not None
    found = fitted.environments.argmax(1)[:N]
    logistic = IRMOptions(loss="logistic")
    reference = train_pooled(inputs, logistic, 30)
    with torch.no_grad():
        f = reference(inputs.x)
    zeros = torch.zeros_like(f)
    logits = torch.stack([zeros, f], dim=1)
    # after 1 000 steps a point of its start has not reached its side
    labels = classes(inputs.y)
    inference = spuco.infer.EIIL(logits, labels, num_steps=3000, lr=1e-2)
    split = as_split(inference.infer_groups())
    share = float(found.double().mean())
    assert 0.02 < share < 0.98
    agreeing = int((split == found).sum())
    assert agreeing in (0, N)


def test_jtt_s_error_set(spuco: Any, inputs: Inputs) -> None:
    options = JTTOptions(identification_steps=30, steps=1)
    fitted = train_jtt(inputs, options)
    assert fitted.environments is not None
    found = fitted.environments.argmax(1)[:N]
    logistic = IRMOptions(loss="logistic")
    first = train_pooled(inputs, logistic, 30)
    outputs = first(inputs.x).detach()
    predictions = classes(outputs)
    labels = classes(inputs.y)
    inference = spuco.infer.JTTInference(predictions, labels)
    assert 0 < int(found.sum()) < N
    split = as_split(inference.infer_groups())
    assert torch.equal(split, found)


def test_balanced_groups(spuco: Any, inputs: Inputs) -> None:
    """Sizes of its smaller sample, and chances of its weighted draws."""
    options = JTTOptions(identification_steps=30, steps=1)
    fitted = train_jtt(inputs, options)
    assert fitted.environments is not None
    wrong = fitted.environments.argmax(1)[:N]
    groups = groups_of(wrong, inputs.y, "environments_and_labels")
    partition = {}
    for name in groups.unique().tolist():
        points = torch.nonzero(groups == name).flatten()
        partition[name // 2, name % 2] = points.tolist()
    assert len(partition) == 4
    weights = torch.zeros(1, requires_grad=True)
    shared = {
        "model": torch.nn.Linear(1, 1),
        "trainset": SimpleNamespace(group_partition=partition),
        "batch_size": 8,
        "optimizer": torch.optim.SGD([weights], lr=0.1),
        "num_epochs": 1,
        "group_partition": partition,
    }
    with pytest.MonkeyPatch.context() as patch:
        for module in ("downsample_erm", "group_balance_batch_erm"):
            # which would load data sets
            patch.setattr(f"spuco.robust_train.{module}.Trainer", MagicMock())
        fewer = spuco.train.DownSampleERM(**shared)
        drawn = spuco.train.GroupBalanceBatchERM(**shared)
    sample = balance(groups, "subsample", seed=0)
    ours = groups[sample.points].bincount()
    numbers = torch.tensor(fewer.indices)
    theirs = groups[numbers].bincount()
    assert torch.equal(theirs, ours)
    chances = torch.zeros(N, dtype=torch.float64)
    chances[torch.tensor(drawn.base_indices)] = torch.tensor(
        drawn.sampling_weights, dtype=torch.float64
    )
    weighted = balance(groups, "reweight", seed=0)
    expected = torch.arange(N)
    assert torch.equal(weighted.points, expected)
    expected = chances / chances.sum()
    torch.testing.assert_close(weighted.weights, expected)
