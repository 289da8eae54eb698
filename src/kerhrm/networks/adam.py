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
    rate : float
        Learning rate; the moments have the default decays .9 and .999.
    """

    def __init__(self, parameters: Sequence[Tensor], rate: float) -> None:
        self.parameters, self.rate = list(parameters), rate
        self.moments = [
            {
                "step": torch.zeros((), device=p.device),
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
        adam(
            [p for p, _, _ in given],
            [gradient for _, gradient, _ in given],
            [m["exp_avg"] for *_, m in given],
            [m["exp_avg_sq"] for *_, m in given],
            [],
            [m["step"] for *_, m in given],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )
