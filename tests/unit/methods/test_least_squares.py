"""Least squares against the normal solution."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.data.samples import Samples
from kerhrm.methods.least_squares.options import LeastSquares
from kerhrm.methods.least_squares.train import train_least_squares
from kerhrm.networks.mlp import init_mlp

SEEDS, D = (4, 9, 6), 4


def linear_fit(x: Tensor, y: Tensor, new: Tensor) -> np.ndarray:
    """Outputs at ``new`` of one seed's least-norm fit, an intercept apart, by LAPACK's gelsd."""
    x, y, new = x.double(), y.double(), new.double()
    centre = x.mean(0)
    slope = np.linalg.lstsq((x - centre).numpy(), (y - y.mean()).numpy(), rcond=1e-5)[0]
    return np.asarray(y.mean().numpy() + (new - centre).numpy() @ slope)


def least_squares(samples: Samples, x: Tensor) -> Tensor:
    mlp = init_mlp(samples.seeds, (samples.x.shape[-1], 3, 1))
    return train_least_squares(samples, mlp, LeastSquares())(x)


@pytest.mark.parametrize("n", [60, 4])  # more points than predictors, and fewer
def test_least_squares_by_another_solver(draw_samples: Callable[..., Samples], n: int) -> None:
    samples = draw_samples("regression", SEEDS, n=n, d=6)
    samples = replace(samples, y=samples.y + 3)
    new = torch.randn(len(SEEDS), 9, 6)
    for x in (samples.x, samples.x_validation, new):
        outputs = least_squares(samples, x)
        assert outputs.shape == x.shape[:-1]
        for b in range(len(SEEDS)):
            expected = linear_fit(samples.x[b], samples.y[b], x[b])
            np.testing.assert_allclose(outputs[b], expected, rtol=1e-7, atol=1e-7)


def test_residuals_are_orthogonal_to_all_predictors(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples("regression", SEEDS, n=60, d=D)
    residuals = samples.y.double() - least_squares(samples, samples.x)
    # outputs are rounded to single precision
    torch.testing.assert_close(residuals.mean(-1), torch.zeros(3).double(), rtol=0, atol=1e-7)
    products = samples.x.double().mT @ residuals.unsqueeze(-1)
    torch.testing.assert_close(products, torch.zeros_like(products), rtol=0, atol=1e-5)


def test_a_sum_of_predictors_changes_nothing(draw_samples: Callable[..., Samples]) -> None:
    """Collinear but for the rounding to single precision, which must not be fitted."""
    samples = draw_samples("regression", SEEDS, n=200, d=D)

    def add(x: Tensor) -> Tensor:
        total = (x[..., 0].double() + x[..., 1] / 3).float()
        return torch.cat([x, total.unsqueeze(-1), torch.full_like(x[..., :1], 7.0)], dim=-1)

    new = 3 * torch.randn(len(SEEDS), 50, D)
    outputs = least_squares(replace(samples, x=add(samples.x)), add(new))
    torch.testing.assert_close(outputs, least_squares(samples, new), rtol=1e-5, atol=1e-5)


def test_predictors_may_change_their_units(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples("regression", SEEDS, n=60, d=D)
    scale, shift = torch.tensor([1.0, 8.0, 0.5, -2.0]), torch.tensor([1.0, -4.0, 0.0, 16.0])
    new = torch.randn(len(SEEDS), 9, D)
    outputs = least_squares(replace(samples, x=samples.x * scale + shift), new * scale + shift)
    torch.testing.assert_close(outputs, least_squares(samples, new), rtol=1e-5, atol=1e-5)
