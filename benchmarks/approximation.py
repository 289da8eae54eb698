"""Reduced features by landmarks against the exact decomposition: n = 10 000 coloured images.

``python -m benchmarks.approximation`` writes ``results/scale/approximation.csv``.  Three ways to
features of points too many for a kernel matrix are compared: Nystrom's, whose directions are those
of the landmarks alone; the same landmarks with Rayleigh-Ritz over all points (``passes: 0``); and
further passes over the kernel of all points in blocks, matrix-free subspace iteration.

Errors are relative: of the singular values, the largest among the first k; of predictions, the
root mean square over test points of f - f_exact; besides, the share of points whose predicted
label differs.  Predictions are those of the direction invariant over the true colours.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from benchmarks.sizes import THREADS
from kerhrm.algorithm.invariant import invariant_direction
from kerhrm.data.colored_mnist.channels import colour
from kerhrm.data.registry import fetch, generate
from kerhrm.features.extract import extract
from kerhrm.features.landmarks import LandmarkMap
from kerhrm.features.map import NTFMap
from kerhrm.features.options import Landmarks
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.storage.arrays import write_text

FOLDER = Path("results/scale")
N, DIMENSIONS, LANDMARKS, PASSES = 10_000, (25, 100, 300, 600), (2000, 4000, 8000), (0, 1, 2)
Features = tuple[Tensor, Tensor, Tensor]  #: psi (n, k) and s (k,) of training points, psi of new


def nystrom(network: Network, x: Tensor, new: Tensor, k: int, m: int) -> Features:
    """Directions of the first m points alone; any points would do."""
    landmarks, (ntf, _) = NTFMap.fit(network, x[:, :m], k), extract(network, x)
    psi = landmarks.reduction.project(ntf.kernel(landmarks.ntf))
    return psi[0], psi[0].norm(dim=0), landmarks.transform(new)[0][0]


def by_landmarks(network: Network, x: Tensor, new: Tensor, k: int, options: Landmarks) -> Features:
    found, reduction, _ = LandmarkMap.fit(network, x, k, options, [0])
    return reduction.psi[0], reduction.s[0], found.transform(new)[0][0]


def measure(raw: Path) -> Iterator[dict[str, object]]:
    sizes = {"n_per_environment": N // 2, "n_validation_per_environment": 1, "n_test": 10_000}
    data = generate({"generator": "colored_mnist", **sizes}, [0], raw)
    x, new = torch.from_numpy(data.train.x), torch.from_numpy(data.test.x)
    y = torch.from_numpy(data.train.y[0]).double()
    agrees = torch.from_numpy(colour(data.train.x)[0] == (data.train.y[0] > 0))
    environments = torch.nn.functional.one_hot(agrees.long(), 2).double()
    network, k_max = build(NetworkOptions(), [0], x.shape[-1]), max(DIMENSIONS)
    f0, f0_new = network(x)[0].double(), network(new)[0].double()

    def predictions(features: Features, k: int) -> Tensor:
        psi, psi_new = (p[:, :k].double() for p in (features[0], features[2]))
        theta = invariant_direction(psi, y - f0, environments, 0.0, ridge=1e-6)
        return f0_new + psi_new @ theta

    start = time.perf_counter()
    whole = NTFMap.fit(network, x, k_max)
    exact = whole.reduction.psi[0], whole.reduction.s[0], whole.transform(new)[0][0]
    yield {"way": "exact", "seconds": time.perf_counter() - start}
    del whole
    expected = {k: predictions(exact, k) for k in DIMENSIONS}
    ways = [("Nystrom", m, -1) for m in LANDMARKS]
    ways += [("landmarks", m, passes) for m in LANDMARKS for passes in PASSES]
    for way, m, passes in ways:
        start = time.perf_counter()
        if passes < 0:
            found = nystrom(network, x, new, k_max, m)
        else:
            options = Landmarks(landmarks=m, oversampling=1.5, passes=passes)
            found = by_landmarks(network, x, new, k_max, options)
        seconds = time.perf_counter() - start
        for k in DIMENSIONS:
            got, true = predictions(found, k), expected[k]
            yield {
                "way": way,
                "landmarks": m,
                "passes": max(passes, 0),
                "k": k,
                "spectrum_error": float((found[1][:k].double() / exact[1][:k] - 1).abs().max()),
                "prediction_error": float((got - true).norm() / true.norm()),
                "labels_changed": float(((got > 0) != (true > 0)).double().mean()),
                "seconds": seconds,
            }


def main() -> None:
    torch.set_num_threads(THREADS)
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = list[dict[str, object]]()
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        raw = Path(folder) / "mnist.npz"
        fetch("mnist", on_missing="fail").save(raw)
        for row in measure(raw):
            rows.append(row)
            print(row, flush=True)
            text = pd.DataFrame(rows).to_csv(index=False, float_format="%.5g")
            write_text(FOLDER / "approximation.csv", text)


if __name__ == "__main__":
    main()
