"""Networks: their initial weights, and that they are what PyTorch would make."""

import copy
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from torch import Tensor, nn
from torch.testing import assert_close

from kerhrm import KerhrmError, NetworkOptions, build
from kerhrm.networks.base import Network
from kerhrm.networks.build import (
    MLP,
    init_mlp,
)
from kerhrm.networks.modules import ModuleNetwork, small_cnn
from kerhrm.networks.training import train

N = 12
CNN = "kerhrm.networks.modules:small_cnn"
MODULES = {
    "factories:mlp": 5,
    "factories:Tied": 5,
    "factories:dropout_switched_off": 5,
    CNN: 32,
}


def as_torch(network: Network) -> nn.Module:
    """The network as a module with its weights."""
    if isinstance(network, ModuleNetwork):
        module = copy.deepcopy(network.module)
        weights = {}
        for name, weight in network.weights.items():
            weights[name] = weight.clone()
        module.load_state_dict(weights, strict=False)
        return module
    assert isinstance(network, MLP)
    layers: list[nn.Module] = []
    for weight, bias in network.layers:
        n_outputs, n_inputs = weight.shape
        linear = nn.Linear(n_inputs, n_outputs)
        linear.weight.data = weight.clone()
        linear.bias.data = bias.clone()
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@pytest.fixture(params=[*MODULES, (16,), (16, 8), ()], ids=str)
def case(request: pytest.FixtureRequest) -> tuple[NetworkOptions, int]:
    given = request.param
    if isinstance(given, str):
        return NetworkOptions(module=given), MODULES[given]
    return NetworkOptions(widths=list(given)), 5


def test_outputs_and_training_are_those_of_torch(
    case: tuple[NetworkOptions, int],
) -> None:
    options, d = case
    network = build(options, 3, d)
    x = torch.randn(N, d)
    y = torch.randn(N)
    module = as_torch(network)
    expected = module(x).reshape(N)
    assert_close(network(x), expected)
    sizes = [parameter.numel() for parameter in module.parameters()]
    assert network.n_parameters == sum(sizes)

    def squared_error(f: Tensor, network: Network, step: int) -> Tensor:
        errors = f - y
        return (errors**2).mean()

    before = {}
    for name, weight in network.weights.items():
        before[name] = weight.clone()
    trained = train(network, x, squared_error, steps=20, learning_rate=1e-2)
    parameters = module.parameters()
    optimiser = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(20):
        outputs = module(x).reshape(N)
        loss = nn.functional.mse_loss(outputs, y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    outputs = trained(x)
    expected = module(x).reshape(N)
    assert_close(outputs, expected, rtol=1e-3, atol=1e-4)
    errors = outputs - y
    errors_before = network(x) - y
    error = (errors**2).mean()
    error_before = (errors_before**2).mean()
    assert error < 0.9 * error_before
    for name, w in network.weights.items():  # the initial network stays as it is
        assert torch.equal(w, before[name])
        assert not w.requires_grad
        assert not trained.weights[name].requires_grad


def test_weights_depend_on_the_seed_alone(case: tuple[NetworkOptions, int]) -> None:
    state = torch.random.get_rng_state()
    options, d = case
    first = build(options, 3, d).weights
    again = build(options, 3, d).weights
    other = build(options, 4, d).weights
    state_after = torch.random.get_rng_state()
    assert torch.equal(state_after, state)
    for name in first:
        expected = first[name]
        assert torch.equal(again[name], expected)
    is_same = []
    for name in first:
        is_same.append(torch.equal(first[name], other[name]))
    assert not all(is_same)


def test_initial_weights_are_uniform_within_the_default_bounds() -> None:
    network = init_mlp(0, (9, 300, 40, 1))
    shapes = []
    for layer in network.layers:
        shapes += [tuple(weight.shape) for weight in layer]
    assert shapes == [(300, 9), (300,), (40, 300), (40,), (1, 40), (1,)]
    fans_in = (9, 300, 40)
    for fan_in, layer in zip(fans_in, network.layers, strict=True):
        for t in layer:
            assert t.dtype == torch.float32
            u = t.flatten().double() * fan_in**0.5  # U(-1, 1)
            n = len(u)
            mean = float(u.mean())
            mean_square = float((u**2).mean())
            assert u.abs().max() <= 1 + 1e-6
            variance_of_mean = 1 / 3 / n
            assert abs(mean) < 5 * variance_of_mean**0.5
            # u^2 has mean 1/3 and variance 4/45
            variance_of_mean_square = 4 / 45 / n
            distance = abs(mean_square - 1 / 3)
            assert distance < 5 * variance_of_mean_square**0.5


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("vector", r"16 points one number each; got \(16, 2\)"),
        ("BatchMean", r"16 points one number each; got \(1,\)"),
        ("dropout", r"the same output in every batch and call; .*module\.eval\(\)"),
        ("batch_statistics", "the same output in every batch"),
        ("running_statistics", r"has the buffer 1\.running_mean"),
        ("images_only", r"fails on points of shape \(16, 5\)"),
        ("nothing_to_train", r"is no torch\.nn\.Module with parameters"),
        ("no_module", r"is no torch\.nn\.Module"),
        ("number", "is neither a function written in Python nor a class"),
        ("in_c", "is neither a function written in Python nor a class"),
        ("fails", r"fails with 5 inputs"),
        ("leaves", r"fails with 5 inputs"),
        ("not_finite", "has weights that are not finite in weight"),
        ("double_precision", "has weights of type float64 in weight"),
    ],
)
def test_modules_that_are_refused(entry: str, message: str) -> None:
    options = NetworkOptions(module=f"factories:{entry}")
    expected = f"module 'factories:{entry}' .*{message}"
    with refusal(expected) as error:
        build(options, 0, 5)
    assert "\n" not in str(error.value)


def test_what_cannot_be_called_is_refused_with_the_options() -> None:
    with refusal("'os:sep' is '/', which cannot be called"):
        NetworkOptions(module="os:sep")


def test_the_cnn_is_for_images_with_two_channels() -> None:
    for side in (4, 7, 28):
        d = 2 * side**2
        network = small_cnn(d)
        outputs = network(torch.randn(3, d))
        assert outputs.shape == (3, 1)
    with refusal("got d=10"):
        small_cnn(10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_weights_do_not_depend_on_the_default_type(dtype: torch.dtype) -> None:
    options = NetworkOptions(module="kerhrm.networks.modules:small_cnn")
    expected = build(options, 0, 128)
    torch.set_default_dtype(dtype)
    try:
        found = build(options, 0, 128)
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)
    for name, weight in expected.weights.items():
        assert torch.equal(found.weights[name], weight)


def test_what_a_factory_sets_for_the_process_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rude_factory.py").write_text(
        "import random\nimport numpy as np\nimport torch\n"
        "def make(d):\n"
        "    torch.use_deterministic_algorithms(True)\n"
        "    torch.set_num_threads(torch.get_num_threads() + 1)\n"
        "    torch.set_grad_enabled(False)\n"
        "    torch.set_default_dtype(torch.float64)\n"
        "    np.random.seed(0)\n"
        "    random.seed(0)\n"
        "    return torch.nn.Linear(d, 1, dtype=torch.float32)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def state() -> tuple[Any, ...]:
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.get_default_dtype(),
            np.random.get_state()[1].tobytes(),
            random.getstate(),
        )

    before = state()
    build(NetworkOptions(module="rude_factory:make"), 0, 5)
    assert state() == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nn.LazyLinear(1)", "has weights without a shape in weight; give its layers"),
        (
            "nn.Sequential(nn.Linear(d, 4).requires_grad_(False), nn.Linear(4, 1))",
            "has frozen weights in 0.weight; leave them trainable, or put the frozen",
        ),
    ],
)
def test_weights_that_training_could_not_move_are_refused(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"stiff_{'lazy' if 'Lazy' in line else 'frozen'}"
    code = f"from torch import nn\ndef make(d):\n    return {line}\n"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    options = NetworkOptions(module=f"{name}:make")
    with pytest.raises(KerhrmError) as error:
        build(options, 0, 5)
    text = str(error.value)
    assert text.startswith(f"module '{name}:make' {message}")
    assert "\n" not in text
