"""The NTF predictor against the explicit matrix of gradients, and the end of the iterations."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.pose import pose
from kerhrm.algorithm.prediction import FinalDirection, finish, ntf_predictions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.features.extract import extract
from kerhrm.features.reduction import fix_signs
from kerhrm.networks.mlp import MLP, init_mlp

B, K, SIZES = 2, 4, {"train": 30, "validation": 8, "test": 9}


def gradients(mlp: MLP, x: Tensor, b: int) -> np.ndarray:
    """Phi (n, p) of network b, one point after the other."""
    leaves = mlp.trainable_copy()
    rows = [torch.autograd.grad(leaves(x)[b, i], leaves.parameters()) for i in range(x.shape[1])]
    return torch.stack([torch.cat([g[b].flatten() for g in row]) for row in rows]).double().numpy()


def test_the_predictor_by_the_explicit_matrix() -> None:
    x = {name: torch.randn(B, n, 3) for name, n in SIZES.items()}
    mlp = init_mlp(range(B), (3, 16, 1))
    parts = [extract(mlp, points) for points in x.values()]
    f0 = [offset for _, offset in parts]
    labels = torch.zeros(B, 30), torch.zeros(B, 8)
    problem, test = pose(*parts, *labels, k=K, task="classification", seeds=list(range(B)))
    theta = torch.randn(B, 5, K, dtype=torch.float64)
    candidates = ntf_predictions(problem, test, theta)
    single = ntf_predictions(problem, test, theta[:, 3])
    blind = ntf_predictions(problem, None, theta)
    assert blind.test.shape == (B, 5, 0)
    assert torch.equal(blind.validation, candidates.validation)
    final = FinalDirection(theta[:, 3], *[torch.zeros(B)] * 4)
    torch.testing.assert_close(final.predict(test.psi, test.f0), single.test)
    for b in range(B):
        phi = [gradients(mlp, points, b) for points in x.values()]
        u, _, vt = np.linalg.svd(phi[0], full_matrices=False)
        u = torch.from_numpy(u[None, :, :K])
        signs = (fix_signs(u) / u)[0, 0].numpy()
        v = vt[:K].T * signs
        for name, rows, offset in zip(SIZES, phi, f0, strict=True):
            got = getattr(candidates, name)
            assert got.shape == (B, 5, SIZES[name])
            for c in range(5):
                expected = offset[b].numpy() + rows @ v @ theta[b, c].numpy()
                np.testing.assert_allclose(got[b, c], expected, rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(getattr(single, name), got[:, 3])


def ends(labels: Tensor) -> tuple[Problem, list[Environments]]:
    """Points whose first feature is the label, and one environment an iteration."""
    batch, m = labels.shape
    psi = torch.stack([labels, torch.ones_like(labels)], dim=-1)
    zero = torch.zeros_like(labels)
    problem = Problem(
        psi, torch.ones(batch, 2).double(), psi, zero, zero, labels, labels,
        "classification", list(range(batch)),
    )  # fmt: skip
    blank = {f.name: torch.zeros(batch, 1) for f in fields(Environments)}
    everybody = torch.ones(batch, 1, m, 1, dtype=torch.float64)
    usable = torch.ones(batch, 1, dtype=torch.bool)
    environments = Environments(
        **blank | {"train": everybody, "validation": everybody, "usable": usable}
    )
    # iteration 2 learns the environment of the positive labels
    positives = (labels > 0).double()[:, None, :, None]
    second = replace(environments, train=positives, validation=positives)
    return problem, [environments, second, environments]


def iteration(theta: list[list[list[float]]], chosen: list[int], t: int) -> Directions:
    batch, candidates = len(theta), len(theta[0])
    number = torch.arange(batch * candidates).reshape(batch, candidates)
    return Directions(
        torch.tensor(theta, dtype=torch.float64),
        number + 100 * t,
        number + 1000.0 * t,
        number + 0.5 * t,
        torch.tensor(chosen),
    )


def test_every_seed_ends_with_its_best_iteration() -> None:
    labels = torch.tensor([[1.0, -1.0, -1.0, -1.0]] * 3, dtype=torch.float64)
    problem, learned = ends(labels)
    right, up, down, wrong = [1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0]
    history = [
        iteration([[down, right], [down, wrong], [right, wrong]], [0, 0, 0], t=1),
        iteration([[wrong, up], [right, wrong], [wrong, right]], [1, 0, 1], t=2),
        iteration([[right, wrong], [wrong, up], [wrong, up]], [0, 1, 1], t=3),
    ]
    final = finish(problem, learned, history)
    # worst of everybody and the positives: down 0, up 1/4, right 1; equals go to the earliest
    assert final.iteration.tolist() == [3, 2, 1]
    for b, (t, c) in enumerate([(3, 0), (2, 0), (1, 0)]):
        source = history[t - 1]
        for name in ("theta", "k", "alpha", "score"):
            assert torch.equal(getattr(final, name)[b], getattr(source, name)[b, c]), name
    for name in FinalDirection.names():
        assert len(getattr(final, name)) == 3


@pytest.mark.parametrize("length", [1, 2])
def test_environments_of_all_iterations_count(length: int) -> None:
    labels = torch.tensor([[1.0, -1.0, -1.0, -1.0]], dtype=torch.float64)
    problem, learned = ends(labels)
    up, down = [0.0, 1.0], [0.0, -1.0]
    history = [iteration([[down]], [0], t=1), iteration([[up]], [0], t=2)]
    final = finish(problem, learned[:length], history)
    # the majority's answer pools best, but fails the positives, which iteration 2 learned
    assert final.iteration.tolist() == [length]
