"""Full-batch training of one MLP with squared loss by Adam, written by hand."""

import torch
from torch import Tensor, nn

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's defaults
BLOCK = 256  # points whose activations stay in the cache


def plain(module: nn.Module, x: Tensor, y: Tensor, steps: int, rate: float) -> Tensor:
    """PyTorch's usual loop; outputs (n,) of the trained network."""
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = ((module(x).squeeze(-1) - y) ** 2).mean()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        outputs: Tensor = module(x).squeeze(-1)
        return outputs


@torch.no_grad()
def fused(module: nn.Sequential, x: Tensor, y: Tensor, steps: int, rate: float) -> Tensor:
    """The same for one hidden layer, with derivatives by hand and without a graph.

    Points go in blocks through forward and backward pass, biases are columns of the weights, and
    all parameters are one vector, so that Adam is six operations.
    """
    first, last = module[0], module[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    hidden, n = first.out_features, len(x)
    points = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
    w = torch.cat([first.weight, first.bias[:, None]], dim=1)
    flat = torch.cat([w.flatten(), last.weight.flatten(), last.bias])
    gradient, mean, square = (torch.zeros_like(flat) for _ in range(3))
    w, v, c = _views(flat, w.shape)
    by_w, by_v, by_c = _views(gradient, w.shape)
    space = torch.empty(BLOCK, hidden)
    for step in range(1, steps + 1):
        gradient.zero_()
        for part, labels in zip(points.split(BLOCK), y.split(BLOCK), strict=True):
            h = torch.mm(part, w.T, out=space[: len(part)]).relu_()
            residual = torch.mv(h, v).add_(c).sub_(labels).mul_(2 / n)
            by_v.addmv_(h.T, residual)
            by_c.add_(residual.sum())
            open_ = h.sign_()  # 1 where the unit is active
            by_w.addmm_(open_.T, part * residual[:, None])
        by_w.mul_(v[:, None])
        mean.lerp_(gradient, 1 - BETA1)
        square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        length = (square / (1 - BETA2**step)).sqrt_().add_(EPSILON)
        flat.addcdiv_(mean, length, value=-rate / (1 - BETA1**step))
    return torch.relu(points @ w.T) @ v + c


def _views(flat: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor, Tensor]:
    """Weights with biases (h, d + 1), the last layer's (h,) and its bias (1,) in one vector."""
    size = shape.numel()
    return flat[:size].view(shape), flat[size:-1], flat[-1:]
