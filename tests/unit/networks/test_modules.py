"""Batches of any module: each is the module that torch would have made, and trains as it would."""

from pathlib import Path

import pytest
import torch
from torch import nn

from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.networks.build import build, load_network, save_network
from kerhrm.networks.examples import small_cnn
from kerhrm.networks.modules import Modules
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network, concatenate, pick
from kerhrm.networks.training import train

CNN = "kerhrm.networks.examples:small_cnn"
TAKEN = {"factories:mlp": 5, "factories:Tied": 5, "factories:dropout_switched_off": 5, CNN: 32}
SEEDS, N = [3, 101], 12


def batch(entry: str, seeds: list[int] = SEEDS) -> Network:
    return build(NetworkOptions(module=entry), seeds, TAKEN[entry])


def single(network: Network, b: int) -> nn.Module:
    """Network b as a module of its own."""
    assert isinstance(network, Modules)
    module: nn.Module = load(network.entry)(network.n_inputs)
    module.load_state_dict({n: w[b] for n, w in network.values.items()}, strict=False)
    return module


@pytest.fixture(params=TAKEN)
def network(request: pytest.FixtureRequest) -> Network:
    return batch(request.param)


def points(network: Network) -> torch.Tensor:
    return torch.randn(len(SEEDS), N, network.facts["n_inputs"])


def test_outputs_are_those_of_separate_modules(network: Network) -> None:
    x = points(network)
    modules = [single(network, b) for b in range(len(SEEDS))]
    expected = torch.stack([m(x[b]).reshape(N) for b, m in enumerate(modules)])
    torch.testing.assert_close(network(x), expected)
    assert network.n_parameters == sum(p.numel() for p in modules[0].parameters())
    assert network.n_networks == len(SEEDS)
    assert not any(p.requires_grad for p in network.parameters())


def test_a_network_depends_on_its_own_seed_alone(network: Network) -> None:
    state = torch.random.get_rng_state()
    other = build(NetworkOptions(**network.facts["network"]), [7, 101, 3],
                  network.facts["n_inputs"])  # fmt: skip
    assert torch.equal(torch.random.get_rng_state(), state)  # nobody else's numbers move
    for a, b in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b[[2, 1]])
    assert not all(torch.equal(p[0], p[1]) for p in network.parameters())


def test_each_network_is_trained_as_torch_would(network: Network) -> None:
    x, y = points(network), torch.randn(len(SEEDS), N)
    trained = train(
        network, x, lambda f, rows: ((f - y[rows]) ** 2).mean(-1), steps=20, learning_rate=1e-2
    )
    for b in range(len(SEEDS)):
        module = single(network, b)
        optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
        for _ in range(20):
            optimiser.zero_grad()
            nn.functional.mse_loss(module(x[b]).reshape(N), y[b]).backward()
            optimiser.step()
        torch.testing.assert_close(trained(x)[b], module(x[b]).reshape(N), rtol=1e-3, atol=1e-4)
    before, after = (((f(x) - y) ** 2).mean(-1) for f in (network, trained))
    assert bool((after < 0.9 * before).all())


@pytest.mark.parametrize("entry", [*TAKEN, None])
def test_round_trip_through_a_file(entry: str | None, tmp_path: Path) -> None:
    network = batch(entry) if entry else build(NetworkOptions(widths=[4, 3]), SEEDS, 5)
    network = network.each(lambda p: p + 1)  # not what the seed would draw
    save_network(tmp_path / "network.npz", network, beside=torch.arange(3))
    again, tensors = load_network(tmp_path / "network.npz")
    assert tensors["beside"].tolist() == [0, 1, 2]
    assert type(again) is type(network)
    assert again.facts == network.facts
    x = points(network)
    assert torch.equal(again(x), network(x))


def test_batches_are_cut_and_joined(network: Network) -> None:
    x, other = points(network), network.each(lambda p: p + 1)
    halves = [network.take(slice(b, b + 1)) for b in range(2)]
    assert torch.equal(concatenate(halves)(x), network(x))
    picked = pick([network, other], torch.tensor([1, 0]))
    torch.testing.assert_close(picked(x)[0], other(x)[0])
    torch.testing.assert_close(picked(x)[1], network(x)[1])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("vector", r"maps 16 points to \(16, 2\), not to one number a point; return an nn"),
        ("BatchMean", r"maps 16 points to \(1,\), not to one number"),
        ("dropout", r"another number in other company or a second time; .*module\.eval\(\)"),
        ("batch_statistics", "another number in other company"),
        ("running_statistics", r"has the buffer 1\.running_mean; use layers without"),
        ("images_only", r"fails on points of shape \(16, 5\)"),
        ("nothing_to_train", r"returns no torch\.nn\.Module with parameters"),
        ("no_module", r"returns no torch\.nn\.Module"),
        ("number", r"is neither a function written in Python nor a class of nn\.Module; return"),
        ("in_c", r"is neither a function written in Python nor a class of nn\.Module; return"),
        ("fails", r"fails with 5 inputs \(as a factory says it\)"),
    ],
)
def test_what_is_no_network_with_one_output_is_refused(entry: str, message: str) -> None:
    with pytest.raises(KerhrmError, match=f"module 'factories:{entry}' .*{message}") as told:
        build(NetworkOptions(module=f"factories:{entry}"), [0], 5)
    assert "\n" not in str(told.value)


def test_the_example_is_for_images_with_two_channels() -> None:
    for side in (4, 7, 14, 28):
        assert small_cnn(2 * side**2)(torch.randn(3, 2 * side**2)).shape == (3, 1)
    with pytest.raises(KerhrmError, match="10 inputs are no square image"):
        small_cnn(10)
