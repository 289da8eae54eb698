"""What a method is given comes from the data set's files, and nothing else does."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from kerhrm.data.dataset import FILES, Dataset, Split, Task
from kerhrm.data.samples import (
    Inferred,
    Samples,
    load_inputs,
    load_labels,
    load_points,
    load_samples,
    memberships,
)

SEEDS, STARTS, D = (102, 100), (7, 8), 3  # of the data, and of what a method draws
CPU = torch.device("cpu")


def split(n: int, number: int) -> Split:
    rng = np.random.default_rng(number)
    shape = (len(SEEDS), n)
    return Split(
        rng.standard_normal((*shape, D)).astype(np.float32),
        rng.standard_normal(shape).astype(np.float32),
        rng.integers(0, 3, shape).astype(np.int8),
    )


def dataset(task: Task = "regression") -> Dataset:
    return Dataset(split(6, 0), split(5, 1), split(4, 2), "synthetic", ["a", "b"], SEEDS, task)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.npz" for name in FILES}
    dataset().save(paths)
    return paths


def test_points_and_labels_are_those_of_the_files(files: dict[str, Path]) -> None:
    samples, data = load_samples(files, CPU, STARTS), dataset()
    for name, expected in (
        ("x", data.train.x),
        ("y", data.train.y),
        ("x_validation", data.validation.x),
        ("y_validation", data.validation.y),
    ):
        got = getattr(samples, name)
        assert got.dtype == torch.float32
        np.testing.assert_array_equal(got.numpy(), expected)
    assert samples.environment is not None
    assert samples.environment.dtype == torch.int64
    np.testing.assert_array_equal(samples.environment.numpy(), data.train.environment)
    assert samples.seeds == STARTS


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_task_is_the_data_sets(files: dict[str, Path], task: Task) -> None:
    dataset(task).save(files)
    assert load_samples(files, CPU, STARTS).task == task


@pytest.mark.parametrize("nothing", [{}, {"environments": []}])
def test_environments_only_where_they_are_given(
    files: dict[str, Path], nothing: dict[str, list[str]]
) -> None:
    """A rule without the file names no path, or Snakemake's empty list."""
    without = {n: p for n, p in files.items() if n != "environments"} | nothing
    assert load_samples(without, CPU, STARTS).environment is None


def test_test_points_are_not_opened(files: dict[str, Path]) -> None:
    for name in ("test_inputs", "test_labels"):
        files.pop(name).unlink()
    samples = load_samples(files, CPU, STARTS)
    assert not [f.name for f in fields(Samples) if "test" in f.name]
    assert samples.x.shape == (len(SEEDS), 6, D)


def test_points_and_labels_alone(files: dict[str, Path]) -> None:
    data = dataset()
    for got, part in zip(
        load_points(files, CPU), (data.train, data.validation, data.test), strict=True
    ):
        np.testing.assert_array_equal(got.numpy(), part.x)
    y, y_validation, task = load_labels(files, CPU, torch.float64)
    assert task == "regression"
    for got, part in ((y, data.train), (y_validation, data.validation)):
        assert got.dtype == torch.float64
        np.testing.assert_array_equal(got.numpy(), part.y)


def test_inputs_alone_where_their_files_are_given(files: dict[str, Path]) -> None:
    data, found = dataset(), load_inputs([files["train"], files["validation"]], CPU)
    assert found is not None
    for got, part in zip(found, (data.train, data.validation), strict=True):
        np.testing.assert_array_equal(got.numpy(), part.x)
    assert load_inputs([], CPU) is None


def test_memberships_are_those_of_the_labels() -> None:
    labels = torch.tensor([[0, 2, 1, 0], [2, 2, 2, 0]])
    got = memberships(labels, 4)
    expected = torch.nn.functional.one_hot(labels, 4).mT.float()
    assert got.dtype == torch.float32
    assert torch.equal(got, expected)


def test_what_inferred_environments_predicts_as_its_predictor() -> None:
    predictor = Inferred(lambda x: 2 * x.sum(-1), memberships(torch.zeros(1, 3).long(), 2))
    assert torch.equal(predictor(torch.ones(1, 3, 5)), torch.full((1, 3), 10.0))
