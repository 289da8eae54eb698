"""Derivatives along directions of the weights are what the kernel says of the features."""

import numpy as np
import pytest
import torch

from kerhrm import NetworkOptions, NTFMap, build
from kerhrm.estimators.tangents import BLOCK, Tangents, blocks
from kerhrm.features.landmarks import LandmarkMap
from kerhrm.features.options import Landmarks


@pytest.mark.parametrize(
    "options",
    [
        NetworkOptions(widths=[64]),
        NetworkOptions(widths=[32, 16]),
        NetworkOptions(module="factories:mlp"),
        NetworkOptions(module="factories:Tied"),
    ],
    ids=["one layer", "two layers", "a module", "tied weights"],
)
def test_they_are_the_reduced_features(options: NetworkOptions) -> None:
    random = torch.Generator().manual_seed(0)
    network = build(options, [0], 4)
    x, new = (torch.randn(1, n, 4, generator=random) for n in (150, 80))
    features = NTFMap.fit(network, x, 5)
    psi, f0 = features.transform(new)
    tangents = Tangents.of(network, x[0], features.reduction.u[0] / features.reduction.s[0])
    outputs, along = tangents(new[0])
    np.testing.assert_allclose(outputs, f0[0], atol=1e-5)
    np.testing.assert_allclose(along, psi[0], atol=2e-4 * float(psi.abs().max()))
    one, other = tangents.take(slice(1, 2)).to(torch.device("cpu"))(new[0])
    np.testing.assert_array_equal(one, outputs)
    np.testing.assert_allclose(other[:, 0], along[:, 1], rtol=1e-12)


def test_landmarks_are_carried_over_as_well() -> None:
    random = torch.Generator().manual_seed(0)
    network = build(NetworkOptions(widths=[64]), [0], 4)
    x, new = (torch.randn(1, n, 4, generator=random) for n in (300, 50))
    found, _, _ = LandmarkMap.fit(network, x, 5, Landmarks(landmarks=100), [0])
    psi, _ = found.transform(new)
    _, along = Tangents.of(network, found.z[0], found.weights[0])(new[0])
    np.testing.assert_allclose(along, psi[0], atol=1e-3 * float(psi.abs().max()))


@pytest.mark.parametrize("n", [0, 1, BLOCK, BLOCK + 1])
def test_blocks_cover_all_points(n: int) -> None:
    covered = [i for rows in blocks(n) for i in range(n)[rows]]
    assert covered == list(range(n))
