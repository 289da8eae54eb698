"""What M_p gets of the probabilities that a point belongs to each environment."""

from typing import Literal

import torch
from torch import Tensor

from kerhrm.randomness import stream


def assign(
    responsibilities: Tensor, how: Literal["soft", "drawn", "hard"], seed: int, *name: str
) -> Tensor:
    """Memberships (m, K) of points with responsibilities (m, K), which add up to one or less.

    "soft": the responsibilities, as weights; "hard": 1 for the largest one, the first among equals;
    "drawn": 1 for environment j with probability r_ij, as the paper's words can be read ("we
    assign i-th point to j-th cluster with probability P_ij"), from the stream ``clustering``,
    ``name``, "assignment" of ``seed``.  A point without any responsibility belongs nowhere.
    """
    r = responsibilities
    if how == "soft":
        return r
    if how == "hard":
        chosen = r.argmax(-1)
    else:
        draw = stream(seed, "clustering", *name, "assignment").random(len(r))
        chosen = (r.cumsum(-1) <= torch.from_numpy(draw).to(r)[:, None]).sum(-1)  # K: nowhere
    onehot = torch.nn.functional.one_hot(chosen, r.shape[-1] + 1)[:, :-1]
    return onehot.to(r) * (r > 0)
