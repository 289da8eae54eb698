"""Adam without an optimiser's object: to make one imports PyTorch's compiler, two seconds a job."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """Adam (Kingma & Ba 2015) by PyTorch's fused kernel, one pass over each parameter.

    The same numbers as ``torch.optim.Adam(..., fused=True)``.

    Parameters
    ----------
    parameters : sequence of Tensor
        Changed in place by what stands in their ``grad``; one without is left alone.
    rate : float, or Tensor (B,)
        Learning rate, or one for each row of all parameters, (B, ...); the moments have the default
        decays .9 and .999.
    """

    def __init__(self, parameters: Sequence[Tensor], rate: float | Tensor) -> None:
        self.parameters, self.rates = list(parameters), _runs(rate)
        self.moments = [
            {
                "step": torch.zeros([len(self.rates)] * isinstance(rate, Tensor), device=p.device),
                "exp_avg": torch.zeros_like(p, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(p, requires_grad=False),
            }
            for p in self.parameters
        ]

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Descend once."""
        pairs = zip(self.parameters, self.moments, strict=True)
        given = [(p, p.grad, m) for p, m in pairs if p.grad is not None]
        parameters, gradients = [p for p, _, _ in given], [gradient for _, gradient, _ in given]
        names = "exp_avg", "exp_avg_sq", "step"
        first, second, steps = ([m[name] for *_, m in given] for name in names)
        for run, (rows, rate) in enumerate(self.rates):
            adam(
                _part(parameters, rows),
                _part(gradients, rows),
                _part(first, rows),
                _part(second, rows),
                [],
                steps if rows is None else [step[run] for step in steps],
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=rate,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )


def _part(tensors: list[Tensor], rows: slice | None) -> list[Tensor]:
    return tensors if rows is None else [tensor[rows] for tensor in tensors]


def _runs(rate: float | Tensor) -> list[tuple[slice | None, float]]:
    """Rows one after the other that have the same learning rate; None are all."""
    if not isinstance(rate, Tensor):
        return [(None, rate)]
    values, counts = torch.unique_consecutive(rate.double(), return_counts=True)
    ends = counts.cumsum(0).tolist()
    return [
        (slice(end - count, end), value)
        for value, count, end in zip(values.tolist(), counts.tolist(), ends, strict=True)
    ]
