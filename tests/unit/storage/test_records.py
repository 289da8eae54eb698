"""Records come back from the disk as they were: names, types, shapes and values."""

import pickle
import zipfile
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import load_arrays, save_arrays
from kerhrm.storage.records import Record


@dataclass(frozen=True)
class Fit(Record):
    """A record with a field of every kind."""

    theta: Tensor
    converged: Tensor
    count: Tensor


DTYPES = [torch.float64, torch.bool, torch.int64]


def fit(*shape: int) -> Fit:
    """A record with leading axes ``shape``; its numbers change from call to call."""
    return Fit(
        theta=torch.randn((*shape, 3), dtype=torch.float64),
        converged=torch.rand(shape) > 0.5,
        count=torch.randint(-(2**62), 2**62, shape),
    )


def assert_same(a: Fit, b: Fit) -> None:
    for name in Fit.names():
        torch.testing.assert_close(getattr(a, name), getattr(b, name), rtol=0, atol=0)


def test_names_are_the_fields_in_order() -> None:
    assert Fit.names() == ["theta", "converged", "count"]


def test_arrays_hold_the_fields() -> None:
    record = fit(4)
    arrays = record.to_arrays()
    assert list(arrays) == Fit.names()
    assert [a.dtype for a in arrays.values()] == [np.float64, np.bool_, np.int64]
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, getattr(record, name).numpy())


def test_arrays_carry_no_gradient() -> None:
    theta = torch.ones(3, requires_grad=True)
    record = Fit(2 * theta, torch.tensor(True), torch.tensor(1))
    np.testing.assert_array_equal(record.to_arrays()["theta"], [2.0, 2.0, 2.0])


@pytest.mark.parametrize("shape", [(), (4,), (2, 5), (0,)])
def test_a_record_comes_back_as_it_was(tmp_path: Path, shape: tuple[int, ...]) -> None:
    record = fit(*shape)
    record.save(tmp_path / "fit.npz")
    again = Fit.load(tmp_path / "fit.npz")
    assert isinstance(again, Fit)
    assert [getattr(again, name).dtype for name in Fit.names()] == DTYPES
    assert {getattr(again, name).device.type for name in Fit.names()} == {"cpu"}
    assert_same(again, record)


def test_single_precision_and_odd_values_come_back(tmp_path: Path) -> None:
    theta = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45], dtype=torch.float32)
    Fit(theta, torch.tensor(False), torch.tensor(2**63 - 1)).save(tmp_path / "fit.npz")
    again = Fit.load(tmp_path / "fit.npz")
    assert again.theta.dtype == torch.float32
    assert again.theta.numpy().tobytes() == theta.numpy().tobytes()
    assert again.count == 2**63 - 1


def test_a_record_goes_to_the_device_asked_for(tmp_path: Path) -> None:
    """The meta device stands for those that this machine may lack."""
    fit(4).save(tmp_path / "fit.npz")
    again = Fit.load(tmp_path / "fit.npz", device="meta")
    assert {getattr(again, name).device.type for name in Fit.names()} == {"meta"}
    assert [getattr(again, name).dtype for name in Fit.names()] == DTYPES
    (again,) = Fit.load_all([tmp_path / "fit.npz"], device=torch.device("meta"))
    assert {getattr(again, name).device.type for name in Fit.names()} == {"meta"}


def test_facts_are_saved_along(tmp_path: Path) -> None:
    fit(2).save(tmp_path / "fit.npz", k=15, setting="r2=0.70")
    arrays, facts = load_arrays(tmp_path / "fit.npz")
    assert facts == {"k": 15, "setting": "r2=0.70"}
    assert sorted(arrays) == sorted(Fit.names())


def test_stack_then_take_gives_each_back() -> None:
    records = [fit(2) for _ in range(3)]
    stacked = Fit.stack(iter(records))
    assert isinstance(stacked, Fit)
    assert stacked.theta.shape == (3, 2, 3)
    assert stacked.converged.shape == stacked.count.shape == (3, 2)
    assert [getattr(stacked, name).dtype for name in Fit.names()] == DTYPES
    for i, record in enumerate(records):
        assert_same(stacked.take(i), record)


def test_take_indexes_every_field_alike() -> None:
    record = fit(4, 5)
    one = record.take(2, 3)
    assert_same(one, Fit(record.theta[2, 3], record.converged[2, 3], record.count[2, 3]))
    column = record.take(slice(None), 1)
    assert_same(column, Fit(record.theta[:, 1], record.converged[:, 1], record.count[:, 1]))
    best, rows = torch.tensor([0, 4, 1, 1]), torch.arange(4)
    picked = record.take(rows, best)
    for i in range(4):
        assert_same(picked.take(i), record.take(i, int(best[i])))
    masked = record.take(record.converged)
    assert bool(masked.converged.all())
    assert len(masked.theta) == len(masked.count) == int(record.converged.sum())


def test_many_files_come_back_in_the_order_asked_for(tmp_path: Path) -> None:
    records = [fit(2) for _ in range(3)]
    paths = [tmp_path / f"{i}.npz" for i in range(3)]
    for record, path in zip(records, paths, strict=True):
        record.save(path)
    for again, record in zip(Fit.load_all(reversed(paths)), reversed(records), strict=True):
        assert_same(again, record)
    assert Fit.load_all([]) == []


def test_files_hold_plain_arrays(tmp_path: Path) -> None:
    """Neither an array nor anything beside the arrays needs pickle."""
    fit(4).save(tmp_path / "fit.npz", k=15)
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as content:
        assert not any(content[name].dtype.hasobject for name in content.files)
    with zipfile.ZipFile(tmp_path / "fit.npz") as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())


def test_pickled_objects_are_not_read(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (ran,)

    trap, ones = np.array([Trap()], dtype=object), np.ones(1, bool)
    np.savez(tmp_path / "array.npz", theta=trap, converged=ones, count=ones)
    (tmp_path / "whole.npz").write_bytes(pickle.dumps(Trap()))
    for name in ("array", "whole"):
        with pytest.raises(KerhrmError, match="delete it and run again"):
            Fit.load(tmp_path / f"{name}.npz")
    assert not ran.exists()


def test_records_do_not_change() -> None:
    record = fit(2)
    with pytest.raises(FrozenInstanceError):
        record.theta = torch.zeros(2, 3)  # type: ignore[misc]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match=r"fit\.npz does not exist"):
        Fit.load(tmp_path / "fit.npz")


def test_a_file_of_another_kind_is_told(tmp_path: Path) -> None:
    save_arrays(tmp_path / "fit.npz", {"theta": np.zeros(3), "extra": np.zeros(1)})
    with pytest.raises(KerhrmError, match=r"fit\.npz has no converged, count; .* delete it"):
        Fit.load(tmp_path / "fit.npz")


@dataclass(frozen=True)
class Named(Record):
    """A record with facts beside its tensors."""

    values: Tensor
    task: str
    seeds: list[int]


def test_facts_come_back_with_the_tensors(tmp_path: Path) -> None:
    record = Named(torch.arange(6.0).reshape(2, 3), "regression", [101, 7])
    record.save(tmp_path / "named.npz", extra=1)
    again = Named.load(tmp_path / "named.npz")
    assert (again.task, again.seeds) == ("regression", [101, 7])
    assert torch.equal(again.values, record.values)
    assert (Named.names(), Named.facts()) == (["values"], ["task", "seeds"])
    taken = record.take(1)
    assert taken.values.tolist() == [3, 4, 5]
    assert taken.task == Named.stack([taken, taken]).task == "regression"
    save_arrays(tmp_path / "named.npz", {"values": np.zeros(3)}, {"task": "regression"})
    with pytest.raises(KerhrmError, match=r"named\.npz has no seeds"):
        Named.load(tmp_path / "named.npz")
