"""Rows from data loaders, read once and in order, and from files."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    TensorDataset,
)

from kerhrm import (
    ERM,
    IRM,
    KerHRMClassifier,
    KerhrmError,
    TangentRidge,
)
from kerhrm.estimators import DataWarning, HeterogeneityNotDetectedWarning
from tests.unit.estimators.conftest import SMALL, flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")

SLOPES = flipped_slopes(500, 0)
LABELS = flipped_labels(400, 0)


def loader(
    x: np.ndarray, y: np.ndarray, **options: Any
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of 64 rows."""
    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    return DataLoader(data, batch_size=64, **options)


# --- loaders --------------------------------------------------------------------------


def test_a_loader_is_the_table_that_it_reads() -> None:
    model = KerHRMClassifier(**SMALL)
    model.fit(LABELS.x, LABELS.y)
    of_loader = KerHRMClassifier(**SMALL).fit(loader(LABELS.x, LABELS.y))
    assert np.array_equal(model.environments_, of_loader.environments_)
    rows = loader(LABELS.x, LABELS.y)
    assert np.array_equal(model.predict(LABELS.x), of_loader.predict(rows))
    assert model.score(LABELS.x, LABELS.y) == of_loader.score(rows)
    expected = model.predict_environment_proba(LABELS.x, LABELS.y)
    assert np.array_equal(expected, of_loader.predict_environment_proba(rows))
    table = model.report(LABELS.x, LABELS.y).errors
    assert table.equals(of_loader.report(rows).errors)
    only_points = DataLoader(torch.from_numpy(LABELS.x), batch_size=100)
    assert np.array_equal(model.predict(LABELS.x), of_loader.predict(only_points))


def test_a_loader_of_images_gives_them_flattened() -> None:
    images = torch.from_numpy(LABELS.x[:, :, None].repeat(2, axis=2)).to(torch.bfloat16)
    data = TensorDataset(images, torch.from_numpy(LABELS.y)[:, None])
    flat = images.float().flatten(1).numpy()
    environments = np.arange(len(flat)) % 2
    model = IRM(steps=5, network=(16,), random_state=0)
    model.fit(DataLoader(data, batch_size=150), environments=environments)
    expected = clone(model).fit(flat, LABELS.y, environments=environments)
    assert np.array_equal(model.predict(flat), expected.predict(flat))


def test_a_loader_may_validate() -> None:
    x, y = LABELS.x, LABELS.y
    by_loader = KerHRMClassifier(**SMALL).fit(
        loader(x[:300], y[:300]), validation=loader(x[300:], y[300:])
    )
    by_arrays = KerHRMClassifier(**SMALL).fit(
        x[:300], y[:300], validation=(x[300:], y[300:])
    )
    assert np.array_equal(by_loader.predict(x), by_arrays.predict(x))


class Broken(Dataset[tuple[Tensor, float]]):
    """Fails at the third row."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, i: int) -> tuple[Tensor, float]:
        if i == 2:
            raise OSError("no such\nimage")
        return torch.zeros(3), float(i % 2)


class Stream(IterableDataset[tuple[Tensor, ...]]):
    """Rows whose number nobody knows beforehand."""

    def __init__(self, rows: list[tuple[Tensor, ...]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        return iter(self.rows)


class Endless(Sampler[int]):
    """Gives row 0 for ever."""

    def __len__(self) -> int:
        return 10

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 0


def widening(batch: list[Any]) -> Any:
    """Batches of ever more columns."""
    x = torch.stack([x for x, _ in batch])
    width = 1 + int(x[0, 0])
    return x.repeat(1, width), torch.stack([y for _, y in batch])


NUMBERS = torch.arange(40.0).reshape(20, 2)
SIGNS = torch.tensor([1.0, -1.0] * 10)
REFUSED_LOADERS: dict[str, tuple[Callable[[], DataLoader[Any]], str]] = {
    "shuffles": (
        lambda: loader(LABELS.x, LABELS.y, shuffle=True),
        "shuffles: .* another order in each pass; make one with shuffle=False",
    ),
    "is sampled": (
        lambda: loader(LABELS.x, LABELS.y, sampler=SubsetRandomSampler(range(400))),
        "SubsetRandomSampler does not give each row of the dataset once, in its order",
    ),
    "shuffles in batches": (
        lambda: DataLoader(
            TensorDataset(NUMBERS, SIGNS),
            batch_sampler=BatchSampler(RandomSampler(NUMBERS), 4, drop_last=False),
        ),
        "the loader shuffles",
    ),
    "half of the rows": (
        lambda: loader(LABELS.x, LABELS.y, sampler=range(0, 400, 2)),
        "range does not give each row .*; make one without a sampler; of some rows",
    ),
    "never ends": (
        lambda: loader(LABELS.x, LABELS.y, sampler=Endless()),
        "Endless does not give each row",
    ),
    "a stream for each worker": (
        lambda: DataLoader(Stream([(NUMBERS, SIGNS)]), num_workers=2),
        "2 workers give each row of a stream, .*num_workers=0",
    ),
    "a broken stream": (
        lambda: DataLoader(Stream(None)),  # type: ignore[arg-type]
        "batch 0 of the loader cannot be read: TypeError",
    ),
    "targets of two kinds": (
        lambda: DataLoader(
            Stream([(NUMBERS, SIGNS.numpy()), (NUMBERS, SIGNS.numpy().astype(str))]),
            batch_size=None,
            collate_fn=list,
        ),
        "batch 1 of the loader has targets of another kind than the first one",
    ),
    "a data set": (
        lambda: TensorDataset(NUMBERS, SIGNS),  # type: ignore[dict-item,return-value]
        r"got the data set TensorDataset; give DataLoader\(dataset",
    ),
    "drops": (
        lambda: loader(LABELS.x, LABELS.y, drop_last=True),
        "leaves out the rows of its last batch .*drop_last=False",
    ),
    "empty": (lambda: DataLoader(Stream([])), "the loader has no batches"),
    "no targets": (lambda: DataLoader(NUMBERS), "batch 0 of the loader has no targets"),
    "three parts": (
        lambda: DataLoader(TensorDataset(NUMBERS, SIGNS, SIGNS)),
        "batch 0 of the loader holds 3 parts; give batches",
    ),
    "two targets": (
        lambda: DataLoader(TensorDataset(NUMBERS, NUMBERS), batch_size=5),
        r"5 points and targets of shape \(5, 2\)",
    ),
    "a dictionary": (
        lambda: DataLoader([{"x": row} for row in NUMBERS]),
        "has no points .*got dict",
    ),
    "numbers": (lambda: DataLoader(SIGNS), r"no points .*got shape \(1,\)"),
    "fails": (
        lambda: DataLoader(Broken(), batch_size=2),
        "batch 1 of the loader cannot be read: OSError: no such image",
    ),
    "widens": (
        lambda: DataLoader(
            TensorDataset(NUMBERS, SIGNS), batch_size=5, collate_fn=widening
        ),
        "batch 1 of the loader has 22 columns, and the first one 2",
    ),
}


@pytest.mark.parametrize("name", REFUSED_LOADERS)
def test_a_loader_that_is_no_table_is_refused(name: str) -> None:
    made, words = REFUSED_LOADERS[name]
    with pytest.raises(KerhrmError, match=words) as caught:
        KerHRMClassifier(**SMALL).fit(made())
    assert "\n" not in str(caught.value)


def test_a_shuffling_loader_of_a_few_rows_is_refused_each_time() -> None:
    """Also where the order that it would draw is the right one."""
    model = TangentRidge(network=(4,)).fit(LABELS.x, LABELS.y)
    rows = torch.from_numpy(LABELS.x[:2])
    for seed in range(8):
        torch.manual_seed(seed)
        with pytest.raises(KerhrmError, match="shuffles"):
            model.predict(DataLoader(rows, shuffle=True))


def test_reading_draws_nothing_of_the_callers() -> None:
    own = torch.Generator()
    rows = loader(LABELS.x, LABELS.y, generator=own)
    torch_state = torch.random.get_rng_state()
    own_state = own.get_state()
    numpy_state = np.random.get_state()[1].copy()
    ERM(steps=2, network=(4,), random_state=0).fit(rows)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert torch.equal(own.get_state(), own_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)


def test_an_empty_batch_has_no_rows() -> None:
    empty = NUMBERS[:0], SIGNS[:0]
    stream = Stream([(NUMBERS, SIGNS), empty, (-NUMBERS, SIGNS)])
    model = TangentRidge(network=(4,)).fit(DataLoader(stream, batch_size=None))
    assert len(model.predict(DataLoader(stream, batch_size=None))) == 40


def test_embeddings_that_are_all_alike_are_told() -> None:
    x = np.ones((60, 4), np.float32)
    y = np.arange(60) % 2
    with (
        warnings.catch_warnings(
            action="ignore", category=HeterogeneityNotDetectedWarning
        ),
        pytest.warns(DataWarning, match="X is constant: all rows are alike"),
    ):
        KerHRMClassifier(**SMALL).fit(x, y)


def test_a_parameter_that_is_none_names_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"networks: no parameter; .*network"):
        KerHRMClassifier(networks=())  # type: ignore[call-arg]


def test_targets_beside_a_loader_are_refused() -> None:
    with pytest.raises(KerhrmError, match="leave y out"):
        KerHRMClassifier(**SMALL).fit(loader(LABELS.x, LABELS.y), LABELS.y)


def test_embeddings_with_nan_are_told_by_column_and_row() -> None:
    x = LABELS.x.astype(np.float32)
    x[17, 1] = np.nan
    with pytest.raises(KerhrmError, match=r"column 1 has missing .*1 rows, .* 17"):
        KerHRMClassifier(**SMALL).fit(loader(x, LABELS.y))


# --- files ----------------------------------------------------------------------------


def test_a_file_in_memory_maps_to_the_same_fit(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, LABELS.x.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    before = path.read_bytes()
    model = KerHRMClassifier(**SMALL).fit(mapped, LABELS.y)
    expected = KerHRMClassifier(**SMALL).fit(np.asarray(mapped), LABELS.y)
    assert np.array_equal(model.predict(mapped), expected.predict(np.asarray(mapped)))
    assert path.read_bytes() == before
    for held in (model._given.X, expected._given.X):
        assert held.shape == mapped.shape
