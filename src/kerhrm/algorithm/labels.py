"""What an environment knows of the label, which tells a degenerate clustering."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot


def label_bins(y: Tensor, n_bins: int = 10) -> Tensor:
    """Labels (n,) as int64: their values if there are few, else their quantile bins."""
    values, codes = torch.unique(y, return_inverse=True)
    if len(values) <= n_bins:
        return codes
    ordered = y.sort().values
    ranks = torch.searchsorted(ordered, y.contiguous())  # ties share a rank
    scaled_ranks = ranks * n_bins
    return scaled_ranks // len(y)


def label_information(responsibilities: Tensor, bins: Tensor) -> Tensor:
    """Normalised mutual information of environment and label, I(E; Y) / min(H(E),
    H(Y)).

    The joint distribution is P(e, b) = (1/n) sum_i r_ie [bin of y_i = b].

    Parameters
    ----------
    responsibilities : Tensor, (..., n, K)
        Soft environments.
    bins : Tensor, (n,), int64
        From :func:`label_bins`.

    Returns
    -------
    Tensor, (...)
        In [0, 1]: 1 for environment = label, 0 for independence and where all points
        share one environment or one bin.
    """
    n_points = responsibilities.shape[-2]
    n_bins = int(bins.max()) + 1
    indicators_of_bins = one_hot(bins, n_bins)
    indicators = indicators_of_bins.to(responsibilities)
    sums = responsibilities.mT @ indicators
    joint = sums / n_points  # (..., K, bins)
    of_environments = joint.sum(-1)
    h_environment = _entropy(of_environments)
    of_labels = joint.sum(-2)
    h_label = _entropy(of_labels)
    of_pairs = joint.flatten(-2)
    h_joint = _entropy(of_pairs)
    information = h_environment + h_label - h_joint
    smaller = torch.minimum(h_environment, h_label)
    share = information / smaller.clamp_min(1e-9)
    defined = torch.where(smaller > 1e-9, share, 0.0)
    return defined.clamp(0, 1)


def _entropy(p: Tensor) -> Tensor:
    """Entropy in nats along the last axis."""
    return torch.special.entr(p).sum(-1)
