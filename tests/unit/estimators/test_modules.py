"""A module of one's own as the network."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from sklearn.base import clone
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kerhrm import (
    ERM,
    KerHRMRegressor,
    NetworkOptions,
    TangentRidge,
    build,
)
from kerhrm.networks.modules import derivatives_of, of_module
from tests.unit.estimators.conftest import SMALL, flipped_labels, flipped_slopes

pytestmark = [
    pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning"),
    # few steps are enough here
    pytest.mark.filterwarnings("ignore:a constant does better"),
]

SLOPES = flipped_slopes(500, 0)
LABELS = flipped_labels(400, 0)


def small_module() -> nn.Sequential:
    """A perceptron of three inputs."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    )


# --- modules --------------------------------------------------------------------------


def test_a_module_starts_a_fit_by_its_own_weights() -> None:
    """Training it is training a perceptron that was drawn with the same weights."""
    options: dict[str, Any] = {
        "task": "regression",
        "steps": 20,
        "evaluate_every": None,
        "random_state": 0,
    }
    drawn = ERM(network=(32,), **options)
    drawn.fit(SLOPES.x, SLOPES.y)
    perceptron = NetworkOptions(widths=[32])
    start = build(perceptron, drawn.seed_, d=3).weights
    module = small_module()
    with torch.no_grad():
        # a perceptron sees the columns in an order of its own
        columns = drawn._units.columns
        module[0].weight[:, columns] = start["weight_0"]
        module[0].bias.copy_(start["bias_0"])
        module[2].weight.copy_(start["weight_1"])
        module[2].bias.copy_(start["bias_1"])
    before = {}
    for name, weight in module.named_parameters():
        before[name] = weight.detach().clone()
    module.train()
    n_rows = len(SLOPES.x) // 2
    rows = SLOPES.x[:n_rows]
    targets = SLOPES.y[:n_rows]
    x_last = SLOPES.x[-9:]
    validation = (x_last, SLOPES.y[-9:])
    drawn = ERM(network=(32,), **options)
    given = ERM(network=module, **options)
    for model in (drawn, given):
        model.fit(rows, targets, validation=validation)
    expected = drawn.predict(SLOPES.x)
    predictions = given.predict(SLOPES.x)
    assert_allclose(predictions, expected, rtol=1e-4, atol=1e-4)
    # and the module is as it was
    assert module.training
    for name, weight in module.named_parameters():
        assert torch.equal(weight, before[name])


def test_kerhrm_learns_along_a_direction_of_a_module() -> None:
    module = small_module()
    start = SMALL | {"network": module}
    model = KerHRMRegressor(**start, predictor="network")
    model.fit(SLOPES.x, SLOPES.y)
    assert model.predictor_ == "network"
    errors = model.predict(SLOPES.x) - SLOPES.y
    error = np.mean(errors**2)
    assert error < np.var(SLOPES.y)
    agreement = np.mean(model.environments_ == SLOPES.hidden)
    assert max(agreement, 1 - agreement) > 0.85


def test_a_module_is_cloned_searched_and_saved(tmp_path: Path) -> None:
    import joblib

    start = SMALL | {"network": small_module()}
    model = KerHRMRegressor(**start)
    twin = clone(model)
    twin.fit(SLOPES.x, SLOPES.y)
    model.fit(SLOPES.x, SLOPES.y)
    predictions = model.predict(SLOPES.x)
    assert np.array_equal(predictions, twin.predict(SLOPES.x))
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(predictions, again.predict(SLOPES.x))


class Unsteady(nn.Module):
    """Draws its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        noise = torch.randn(len(x), 1)
        return self.layer(x) + noise


class Changed(nn.Module):
    """A layer and what is done to its outputs."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self.layer(x))


def frozen() -> nn.Module:
    module = small_module()
    module[0].weight.requires_grad_(False)
    return module


def scripted() -> nn.Module:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return torch.jit.script(small_module())


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
    "compiled": (scripted, "give the module as it is before torch.jit"),
    "on several devices": (
        lambda: nn.DataParallel(small_module()),
        "wraps a module for several devices; give module.module",
    ),
    "complex": (
        lambda: nn.Linear(3, 1, dtype=torch.complex64),
        "weights of type complex64 in weight; use real weights",
    ),
    "nowhere": (lambda: small_module().to("meta"), "cannot be copied to the CPU"),
    "not finite": (
        lambda: Changed(lambda f: torch.log(-f.abs())),
        "outputs that are not finite; look for a logarithm",
    ),
    "truth values": (lambda: Changed(lambda f: f > 0), "real numbers; got bool"),
    "detached": (lambda: Changed(lambda f: f.detach()), "without a gradient; leave"),
}


@pytest.mark.parametrize("name", REFUSED_MODULES)
def test_what_is_no_network_is_refused(name: str) -> None:
    module, words = REFUSED_MODULES[name]
    start = SMALL | {"network": module()}
    model = KerHRMRegressor(**start)
    with refusal(words) as caught:
        model.fit(SLOPES.x, SLOPES.y)
    assert "\n" not in str(caught.value)


def test_a_class_in_place_of_a_module_is_told_how_to_be_one() -> None:
    words = r"give a module itself, as network=Linear\(3, \.\.\.\)"
    doubled = LABELS.x.repeat(2, 1)
    three_columns = doubled[:, :3]
    model = ERM(network=nn.Linear)
    with refusal(words):
        model.fit(three_columns, LABELS.y)


def in_place() -> nn.Sequential:
    """Its first layer overwrites what it is given."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.ReLU(inplace=True),
        nn.Linear(3, 8),
        nn.Linear(8, 1),
    )


def test_a_module_that_changes_its_inputs_is_the_function_that_it_computes() -> None:
    plain = in_place()
    plain[0] = nn.ReLU()
    predictions = []
    for module in (in_place(), plain):
        trained = ERM(
            task="regression",
            network=module,
            steps=5,
            random_state=0,
        )
        ridge = TangentRidge(task="regression", network=module)
        for model in (trained, ridge):
            model.fit(SLOPES.x, SLOPES.y)
            predictions.append(model.predict(SLOPES.x))
    trained, ridge, trained_plain, ridge_plain = predictions
    assert np.array_equal(trained, trained_plain)
    assert np.array_equal(ridge, ridge_plain)


class Attention(nn.Module):
    """Each point is a sequence of three numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Linear(1, 4)
        self.layer = nn.MultiheadAttention(4, 1, batch_first=True)
        self.after = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.before(x[..., None])
        attended, _ = self.layer(tokens, tokens, tokens, need_weights=False)
        return self.after(attended.mean(-2))


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_attention_has_tangent_features() -> None:
    torch.manual_seed(0)
    start = SMALL | {"network": Attention()}
    model = KerHRMRegressor(**start)
    x = SLOPES.x[:100]
    y = SLOPES.y[:100]
    model.fit(x, y)
    assert np.isfinite(model.theta_).all()


class Branching(nn.Module):
    """Its code asks for values."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        if bool((x > 100).all()):
            return -self.layer(x)
        return self.layer(x)


class Recurrent(nn.Module):
    """Its cell writes into a state that all points share."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(1, 4, batch_first=True)
        self.after = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.layer(x[..., None])
        return self.after(states[:, -1])


class Checkpointed(nn.Module):
    """It computes its hidden layer twice, to save memory."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Linear(3, 4)
        self.after = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = checkpoint(self.before, x, use_reentrant=False)
        return self.after(hidden)


@pytest.mark.parametrize("kind", [Branching, Recurrent, Checkpointed])
def test_what_cannot_be_differentiated_point_by_point_is_told(
    kind: type[nn.Module],
) -> None:
    """ERM needs no such derivatives."""
    erm = ERM(task="regression", network=kind(), steps=2)
    erm.fit(SLOPES.x, SLOPES.y)
    start = SMALL | {"network": kind()}
    model = KerHRMRegressor(**start)
    words = f"'{kind.__name__}' has no tangent features: .*; write forward .* by ERM"
    with refusal(words):
        model.fit(SLOPES.x, SLOPES.y)


def test_a_machine_without_memory_is_no_fault_of_a_module() -> None:
    network = of_module(nn.Linear(3, 1), 3)
    full = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
    starts = "DefaultCPUAllocator: can't allocate"
    with pytest.raises(RuntimeError, match=starts), derivatives_of(network):
        raise RuntimeError(full)


def test_memory_in_the_words_of_an_error_is_no_lack_of_it() -> None:
    network = of_module(nn.Linear(3, 1), 3)
    words = "has no tangent features: unsupported memory format"
    with refusal(words), derivatives_of(network):
        raise RuntimeError("unsupported memory format option Preserve")
