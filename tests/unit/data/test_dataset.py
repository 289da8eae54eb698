"""Data sets on disk: who may know what stands in which file."""

from pathlib import Path

import numpy as np
import pytest

from kerhrm.paper.data.dataset import Dataset, Split
from kerhrm.paper.runs.arrays import load_arrays

SEEDS, D = (102, 7, 100), 4
FILES = ("train", "validation", "test_inputs", "environments", "test_labels")
SIZES = {"train": 6, "validation": 5, "test": 3}


def split(n: int, number: int) -> Split:
    rng = np.random.default_rng(number)
    shape = (len(SEEDS), n)
    return Split(
        rng.standard_normal((*shape, D)).astype(np.float32),
        rng.standard_normal(shape).astype(np.float32),
        rng.integers(0, 3, shape).astype(np.int8),
    )


def dataset() -> Dataset:
    parts = [split(n, number) for number, n in enumerate(SIZES.values())]
    return Dataset(*parts, ("r=-2", "r=-3"), SEEDS, "regression", "fallback:a")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.npz" for name in FILES}
    dataset().save(paths)
    return paths


def test_arrays_come_back_as_they_were(files: dict[str, Path]) -> None:
    data = dataset()
    expected = {
        "train": {"x": data.train.x, "y": data.train.y},
        "validation": {"x": data.validation.x, "y": data.validation.y},
        "test_inputs": {"x": data.test.x},
        "environments": {
            "train": data.train.environment,
            "validation": data.validation.environment,
        },
        "test_labels": {
            "y": data.test.y,
            "environment": data.test.environment,
            "unit": np.ones(len(data.seeds)),
        },
    }
    for name, path in files.items():
        arrays, _ = load_arrays(path)
        assert set(arrays) == set(expected[name])
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, expected[name][key])
            assert array.dtype == expected[name][key].dtype
