"""Option sets that train side by side, as on a GPU, against one after the other."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from methodtools import small

from kerhrm.data.dataset import FILES, Dataset, Split
from kerhrm.data.predictions import Trial
from kerhrm.data.samples import Samples
from kerhrm.entries import load
from kerhrm.methods import points
from kerhrm.methods.candidates import lots, train_candidates
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.registry import METHODS, Method
from kerhrm.networks import training

SEEDS, D, N, M = [7, 3, 12], 4, 70, 40
NETWORK = {"widths": [16]}
STACKED = {n: m for n, m in METHODS.items()
           if m.reads == "points" and load(m.options).per_network}  # fmt: skip
each_method = pytest.mark.parametrize("method", STACKED.values(), ids=STACKED)


@pytest.fixture
def files(draw_samples: Callable[..., Samples], tmp_path: Any) -> dict[str, Any]:
    paths = {name: tmp_path / f"{name}.npz" for name in FILES}
    drawn = draw_samples("classification", SEEDS, n=N, m=M, d=D, environments=2, noise=1.0)
    assert drawn.environment is not None
    labels = drawn.environment.numpy().astype("int8")
    held_out = Split(drawn.x_validation.numpy(), drawn.y_validation.numpy(), labels[:, :M])
    train = Split(drawn.x.numpy(), drawn.y.numpy(), labels)
    Dataset(train, held_out, held_out, "synthetic", list("abcd"), SEEDS, "classification").save(
        paths
    )
    return paths


def on_trial(method: Method) -> list[Any]:
    """Every combination of two values of the path and of each option per network."""
    kind = load(method.options)
    fields = [method.path, *sorted(kind.per_network)]
    ends = {"learning_rate": (0.01, 0.03), "rho": (0.1, 2.0), "weight": (0.5, 300.0),
            "penalty": (1.0, 50.0), method.path: (4, 9)}  # fmt: skip
    sets = product(*(ends[name] for name in fields))
    return [small(kind(), **dict(zip(fields, one, strict=True))) for one in sets]


def run(method: Method, files: dict[str, Any], *, side_by_side: bool) -> tuple[Trial, list[int]]:
    """Predictions, and how many groups every training took."""
    given = files | ({} if method.labels else {"environments": []})
    seeds = {"network": SEEDS, "clustering": SEEDS}
    entry, cpu = load(method.entry), torch.device("cpu")
    train = points.prepare(entry, given, seeds, NETWORK, cpu, path=method.path)
    sizes = []

    def watched(lot: Any) -> Any:
        sizes.append(len(lot))
        return train(lot)

    (trial,) = train_candidates(
        on_trial(method), watched, path=method.path, side_by_side=side_by_side
    )
    return trial, sizes


@each_method
def test_each_network_is_trained_as_alone(method: Method, files: dict[str, Any]) -> None:
    """To the last bit where networks train one after the other."""
    alone, one = run(method, files, side_by_side=False)
    together, all_of_them = run(method, files, side_by_side=True)
    assert set(one) == {1}
    assert all_of_them == [len(one)]
    for name in Trial.names():
        assert torch.equal(getattr(alone, name), getattr(together, name)), name
    outputs = together.test.transpose(0, 1)  # no option set is another
    for c in range(len(outputs)):
        for other in outputs[c + 1 :]:
            assert not torch.equal(outputs[c], other)


@each_method
def test_all_of_them_are_one_batch(
    method: Method, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU: the longest training is of all option sets and seeds."""
    alone, _ = run(method, files, side_by_side=False)
    batches = []
    plain = training._minimise_group

    def watched(networks: Any, *rest: Any) -> Any:
        batches.append(networks.n_networks)
        return plain(networks, *rest)

    monkeypatch.setattr(training, "_minimise_group", watched)
    monkeypatch.setattr(training, "networks_at_once", lambda device, n: n)
    together, (groups,) = run(method, files, side_by_side=True)
    stops = len(on_trial(method)) // groups
    assert max(batches) == groups * len(SEEDS) * (stops if method.name == "eiil" else 1)
    assert len(batches) == (2 if method.name == "eiil" else 1)
    for name in Trial.names():
        torch.testing.assert_close(
            getattr(alone, name), getattr(together, name), rtol=1e-3, atol=1e-3
        )


def test_what_differs_otherwise_stays_apart() -> None:
    slow, fast = ERM(learning_rate=1e-3), ERM(learning_rate=1e-2)
    rare = ERM(evaluate_every=50)
    short, long = {"steps": 3}, {"steps": 9}

    def path(options: ERM, *changes: dict[str, int]) -> list[ERM]:
        return [options.model_copy(update=change) for change in changes]

    whole, other = path(slow, short, long), path(fast, short, long)
    half, looked = path(fast, long), path(rare, short, long)
    assert lots([whole, other, half, looked]) == [[whole, other], [half], [looked]]
    assert lots([]) == []


def test_samples_again_and_again(draw_samples: Callable[..., Samples]) -> None:
    drawn = draw_samples("regression", SEEDS, n=5, m=4, d=2, environments=2)
    twice = drawn.copies(2)
    assert twice.seeds == [*SEEDS, *SEEDS]
    assert twice.task == "regression"
    for name in ("x", "y", "x_validation", "y_validation", "environment"):
        assert torch.equal(getattr(twice, name), torch.cat([getattr(drawn, name)] * 2))
    assert replace(drawn, environment=None).copies(3).environment is None
    assert drawn.copies(1) is drawn
