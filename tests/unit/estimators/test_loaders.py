"""Rows from data loaders, read once and in order, and from files."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
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
    TangentRidge,
)
from kerhrm.estimators import DataWarning, HeterogeneityNotDetectedWarning
from tests.unit.estimators.conftest import SMALL, flipped_labels, flipped_slopes

pytestmark = [
    pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning"),
    # few steps are enough here
    pytest.mark.filterwarnings("ignore:a constant does better"),
]

SLOPES = flipped_slopes(500, 0)
LABELS = flipped_labels(400, 0)


def loader(
    x: np.ndarray, y: np.ndarray, **options: Any
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of 64 rows."""
    points = torch.from_numpy(x)
    targets = torch.from_numpy(y)
    data = TensorDataset(points, targets)
    return DataLoader(data, batch_size=64, **options)


# --- loaders --------------------------------------------------------------------------


def test_a_loader_is_the_table_that_it_reads() -> None:
    x = LABELS.x
    y = LABELS.y
    model = KerHRMClassifier(**SMALL)
    model.fit(x, y)
    of_loader = KerHRMClassifier(**SMALL)
    of_loader.fit(loader(x, y))
    assert np.array_equal(model.environments_, of_loader.environments_)
    rows = loader(x, y)
    predictions = model.predict(x)
    assert np.array_equal(predictions, of_loader.predict(rows))
    assert model.score(x, y) == of_loader.score(rows)
    expected = model.predict_environment_proba(x, y)
    assert np.array_equal(expected, of_loader.predict_environment_proba(rows))
    table = model.report(x, y).errors
    assert table.equals(of_loader.report(rows).errors)
    points = torch.from_numpy(x)
    only_points = DataLoader(points, batch_size=100)
    assert np.array_equal(predictions, of_loader.predict(only_points))


def test_a_loader_of_images_gives_them_flattened() -> None:
    columns = LABELS.x[:, :, None].repeat(2, axis=2)
    images = torch.from_numpy(columns).to(torch.bfloat16)
    targets = torch.from_numpy(LABELS.y)[:, None]
    data = TensorDataset(images, targets)
    flat = images.float().flatten(1).numpy()
    environments = np.arange(len(flat)) % 2
    model = IRM(steps=5, network=(16,), random_state=0)
    batches = DataLoader(data, batch_size=150)
    model.fit(batches, environments=environments)
    expected = clone(model)
    expected.fit(flat, LABELS.y, environments=environments)
    predictions = model.predict(flat)
    assert np.array_equal(predictions, expected.predict(flat))


def test_a_loader_may_validate() -> None:
    x = LABELS.x
    y = LABELS.y
    rows = (x[:300], y[:300])
    held_out = (x[300:], y[300:])
    by_loader = KerHRMClassifier(**SMALL)
    by_loader.fit(loader(*rows), validation=loader(*held_out))
    by_arrays = KerHRMClassifier(**SMALL)
    by_arrays.fit(*rows, validation=held_out)
    predictions = by_loader.predict(x)
    assert np.array_equal(predictions, by_arrays.predict(x))


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
    points, targets = zip(*batch, strict=True)
    x = torch.stack(points)
    width = 1 + int(x[0, 0])
    return x.repeat(1, width), torch.stack(targets)


def batches_of_labels(**options: Any) -> DataLoader[Any]:
    return loader(LABELS.x, LABELS.y, **options)


def targets_of_two_kinds() -> DataLoader[Any]:
    numbers = SIGNS.numpy()
    texts = numbers.astype(str)
    stream: Any = Stream([(NUMBERS, numbers), (NUMBERS, texts)])
    return DataLoader(stream, batch_size=None, collate_fn=list)


def shuffled_batches() -> DataLoader[Any]:
    order = RandomSampler(NUMBERS)
    batches = BatchSampler(order, 4, drop_last=False)
    return DataLoader(TensorDataset(NUMBERS, SIGNS), batch_sampler=batches)


NUMBERS = torch.arange(40.0).reshape(20, 2)
SIGNS = torch.tensor([1.0, -1.0] * 10)
REFUSED_LOADERS: dict[str, tuple[Callable[[], DataLoader[Any]], str]] = {
    "shuffles": (
        lambda: batches_of_labels(shuffle=True),
        "shuffles: .* another order in each pass; make one with shuffle=False",
    ),
    "is sampled": (
        lambda: batches_of_labels(sampler=SubsetRandomSampler(range(400))),
        "SubsetRandomSampler does not give each row of the dataset once, in its order",
    ),
    "shuffles in batches": (
        shuffled_batches,
        "the loader shuffles",
    ),
    "half of the rows": (
        lambda: batches_of_labels(sampler=range(0, 400, 2)),
        "range does not give each row .*; make one without a sampler; of some rows",
    ),
    "never ends": (
        lambda: batches_of_labels(sampler=Endless()),
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
        lambda: batches_of_labels(drop_last=True),
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
    with refusal(words) as caught:
        KerHRMClassifier(**SMALL).fit(made())
    assert "\n" not in str(caught.value)


def test_a_shuffling_loader_of_a_few_rows_is_refused_each_time() -> None:
    """Also where the order that it would draw is the right one."""
    model = TangentRidge(network=(4,))
    model.fit(LABELS.x, LABELS.y)
    rows = torch.from_numpy(LABELS.x[:2])
    for seed in range(8):
        torch.manual_seed(seed)
        with refusal("shuffles"):
            model.predict(DataLoader(rows, shuffle=True))


def state_of_numpy() -> np.ndarray:
    _, numbers, *_ = np.random.get_state()
    return numbers.copy()


def test_reading_draws_nothing_of_the_callers() -> None:
    own = torch.Generator()
    rows = loader(LABELS.x, LABELS.y, generator=own)
    torch_state = torch.random.get_rng_state()
    own_state = own.get_state()
    numpy_state = state_of_numpy()
    model = ERM(steps=2, network=(4,), random_state=0)
    model.fit(rows)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert torch.equal(own.get_state(), own_state)
    assert np.array_equal(state_of_numpy(), numpy_state)


def test_an_empty_batch_has_no_rows() -> None:
    empty = NUMBERS[:0], SIGNS[:0]
    stream = Stream([(NUMBERS, SIGNS), empty, (-NUMBERS, SIGNS)])
    batches = DataLoader(stream, batch_size=None)
    model = TangentRidge(network=(4,))
    model.fit(batches)
    assert len(model.predict(batches)) == 40


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
    model = KerHRMClassifier(**SMALL)
    rows = loader(LABELS.x, LABELS.y)
    with refusal("leave y out"):
        model.fit(rows, LABELS.y)


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_path_is_no_table(as_path: Any) -> None:
    model = KerHRMClassifier(**SMALL)
    path = as_path("embeddings.npy")
    with refusal(r"got the path .*give np\.load\(path\)"):
        model.fit(path, LABELS.y)


def test_a_loader_in_a_list_is_told() -> None:
    model = KerHRMClassifier(**SMALL)
    rows = loader(LABELS.x, LABELS.y)
    with refusal("give the loader itself"):
        model.fit([rows])


def test_batches_without_a_loader_are_told() -> None:
    model = KerHRMClassifier(**SMALL)
    rows = loader(LABELS.x, LABELS.y)
    with refusal("got a generator; give a DataLoader, or one array"):
        model.fit(batch for batch in rows)
    with refusal("got a list of batches; give a DataLoader, or one array"):
        model.fit(list(rows))


def test_embeddings_with_nan_are_told_by_column_and_row() -> None:
    x = LABELS.x.astype(np.float32)
    x[17, 1] = np.nan
    model = KerHRMClassifier(**SMALL)
    rows = loader(x, LABELS.y)
    with refusal(r"column 1 has missing .*1 row, .* 17"):
        model.fit(rows)


# --- files ----------------------------------------------------------------------------


def test_a_file_in_memory_maps_to_the_same_fit(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, LABELS.x.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    before = path.read_bytes()
    read = np.asarray(mapped)
    model = KerHRMClassifier(**SMALL)
    model.fit(mapped, LABELS.y)
    expected = KerHRMClassifier(**SMALL)
    expected.fit(read, LABELS.y)
    predictions = model.predict(mapped)
    assert np.array_equal(predictions, expected.predict(read))
    assert path.read_bytes() == before
    given = (model._given.X, expected._given.X)
    for held in given:
        assert held.shape == mapped.shape
