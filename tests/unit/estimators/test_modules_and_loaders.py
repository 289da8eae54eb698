"""A module of one's own as the network, and rows from loaders and files."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor, nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    SubsetRandomSampler,
    TensorDataset,
)

from kerhrm import (
    ERM,
    IRM,
    KerHRMClassifier,
    KerhrmError,
    KerHRMRegressor,
    NetworkOptions,
    build,
)
from kerhrm.estimators import DataWarning, HeterogeneityNotDetectedWarning
from tests.unit.estimators.conftest import SMALL, flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")

SLOPES = flipped_slopes(500, 0)
LABELS = flipped_labels(400, 0)


def small_module() -> nn.Sequential:
    """A perceptron of three inputs."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))


def loader(
    x: np.ndarray, y: np.ndarray, **options: Any
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of 64 rows."""
    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    return DataLoader(data, batch_size=64, **options)


# --- modules --------------------------------------------------------------------------


def test_a_module_starts_a_fit_by_its_own_weights() -> None:
    """Training it is training a perceptron that was drawn with the same weights."""
    options: dict[str, Any] = {"task": "regression", "steps": 20}
    options |= {"evaluate_every": None, "random_state": 0}
    drawn = ERM(network=(32,), **options).fit(SLOPES.x, SLOPES.y)
    start = build(NetworkOptions(widths=[32]), drawn.seed_, d=3).weights
    module = small_module()
    with torch.no_grad():
        # a perceptron sees the columns in an order of its own
        module[0].weight[:, drawn._units.columns] = start["weight_0"]
        module[0].bias.copy_(start["bias_0"])
        module[2].weight.copy_(start["weight_1"])
        module[2].bias.copy_(start["bias_1"])
    before = {name: w.detach().clone() for name, w in module.named_parameters()}
    module.train()
    rows = SLOPES.x[: len(SLOPES.x) // 2]
    validation = SLOPES.x[-9:], SLOPES.y[-9:]
    targets = SLOPES.y[: len(rows)]
    drawn = ERM(network=(32,), **options)
    given = ERM(network=module, **options)
    for model in (drawn, given):
        model.fit(rows, targets, validation=validation)
    expected = drawn.predict(SLOPES.x)
    np.testing.assert_allclose(given.predict(SLOPES.x), expected, rtol=1e-4, atol=1e-4)
    # and the module is as it was
    assert module.training
    for name, weight in module.named_parameters():
        assert torch.equal(weight, before[name])


def test_kerhrm_learns_along_a_direction_of_a_module() -> None:
    module = small_module()
    model = KerHRMRegressor(**SMALL | {"network": module}, predictor="network")
    model.fit(SLOPES.x, SLOPES.y)
    assert model.predictor_ == "network"
    error = np.mean((model.predict(SLOPES.x) - SLOPES.y) ** 2)
    assert error < np.var(SLOPES.y)
    agreement = np.mean(model.environments_ == SLOPES.hidden)
    assert max(agreement, 1 - agreement) > 0.85


def test_a_module_is_cloned_searched_and_saved(tmp_path: Path) -> None:
    import joblib

    model = KerHRMRegressor(**SMALL | {"network": small_module()})
    twin = clone(model).fit(SLOPES.x, SLOPES.y)
    model.fit(SLOPES.x, SLOPES.y)
    assert np.array_equal(model.predict(SLOPES.x), twin.predict(SLOPES.x))
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(model.predict(SLOPES.x), again.predict(SLOPES.x))


class Unsteady(nn.Module):
    """Draws its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + torch.randn(len(x), 1)


def frozen() -> nn.Module:
    module = small_module()
    module[0].weight.requires_grad_(False)
    return module


REFUSED_MODULES: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "no parameters": (
        nn.Identity,
        "module 'Identity' is no .* with parameters; give hidden widths, as network=",
    ),
    "two outputs": (lambda: nn.Linear(3, 2), r"one number each; got \(16, 2\)"),
    "other inputs": (lambda: nn.Linear(4, 1), r"fails on points of shape \(16, 3\)"),
    "buffers": (
        lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1)),
        "buffer 0.running_mean; use layers without running statistics",
    ),
    "frozen": (frozen, "frozen weights in 0.weight; .* put the frozen part before"),
    "unsteady": (Unsteady, "same output in every batch and call"),
    "lazy": (lambda: nn.LazyLinear(1), "weights without a shape"),
}


@pytest.mark.parametrize("name", REFUSED_MODULES)
def test_what_is_no_network_is_refused(name: str) -> None:
    module, words = REFUSED_MODULES[name]
    model = KerHRMRegressor(**SMALL | {"network": module()})
    with pytest.raises(KerhrmError, match=words) as caught:
        model.fit(SLOPES.x, SLOPES.y)
    assert "\n" not in str(caught.value)


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
        "shuffles: .*make one without its sampler",
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
    before = torch.random.get_rng_state()
    with pytest.raises(KerhrmError, match=words) as caught:
        KerHRMClassifier(**SMALL).fit(made())
    assert "\n" not in str(caught.value)
    if name == "shuffles":  # looking at a sampler draws nothing of the caller's
        assert torch.equal(before, torch.random.get_rng_state())


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


def test_a_class_in_place_of_a_module_is_told_how_to_be_one() -> None:
    words = r"give a module itself, as network=Linear\(3, \.\.\.\)"
    with pytest.raises(KerhrmError, match=words):
        ERM(network=nn.Linear).fit(LABELS.x.repeat(2, 1)[:, :3], LABELS.y)


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
