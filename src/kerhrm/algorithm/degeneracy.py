"""Recognise learned environments that only repeat the label.

Environment = label is a genuine optimum of the mixture likelihood: inside such an
environment the label is constant, the residual vanishes, and nothing can be learned
about invariance.  With many components it is often the likelier optimum, so the
likelihood cannot reject it; the environment's dependence on the label alone can.
"""

import torch
from torch import Tensor


def label_bins(y: Tensor, n_bins: int = 10) -> Tensor:
    """Labels y (B, n) as int64: their values if there are few, else their quantile bins."""
    values = torch.unique(y)
    if len(values) <= n_bins:
        return torch.searchsorted(values, y.contiguous())
    ranks = torch.searchsorted(y.sort(dim=-1).values, y.contiguous())  # ties share a rank
    return ranks * n_bins // y.shape[-1]


def label_information(responsibilities: Tensor, bins: Tensor) -> Tensor:
    """How far the label alone tells the environment: I(E; Y) / min(H(E), H(Y)).

    The joint distribution is P(e, b) = (1/n) sum_i r_ie [bin of y_i = b], from
    responsibilities (..., n, K) and int64 bins, broadcastable to (..., n).

    Returns
    -------
    Tensor, (...), in [0, 1]; 1 for environment = label, 0 for independence and where
    all points share one environment or one bin
    """
    onehot = torch.nn.functional.one_hot(bins, int(bins.max()) + 1).to(responsibilities)
    joint = responsibilities.mT @ onehot / responsibilities.shape[-2]  # (..., K, bins)
    h_environment, h_label = _entropy(joint.sum(-1)), _entropy(joint.sum(-2))
    information = h_environment + h_label - _entropy(joint.flatten(-2))
    smaller = torch.minimum(h_environment, h_label)
    return torch.where(smaller > 1e-9, information / smaller.clamp_min(1e-9), 0.0).clamp(0, 1)


def _entropy(p: Tensor) -> Tensor:
    """Entropy in nats along the last axis."""
    return -torch.special.xlogy(p, p).sum(-1)
