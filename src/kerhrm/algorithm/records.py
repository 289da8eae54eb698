"""What an iteration leaves: learned environments (M_c) and invariant directions (M_p)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.storage.records import Record


@dataclass(frozen=True)
class Environments(Record):
    """Learned environments of B seeds for G candidate dimensions.

    Attributes
    ----------
    k : Tensor, (B, G), int64, candidate dimensions
    train, validation : Tensor, (B, G, n, K) and (B, G, m, K)
        Responsibilities; 0 for environments dropped as empty.
    ridge : Tensor, (B, G), the ridge that won
    held_out : Tensor, (B, G), held-out log-likelihood, nats per point
    objective : Tensor, (B, G), L_c of the start that won
    label_information : Tensor, (B, G), of the start that won
    usable : Tensor, (B, G), bool; False if every start was degenerate
    n_starts, n_label_split, n_empty, n_unconverged : Tensor, (B, G), int64
        How many starts were tried, and how many of each kind were seen; empty are those
        with fewer than two occupied environments.
    """

    k: Tensor
    train: Tensor
    validation: Tensor
    ridge: Tensor
    held_out: Tensor
    objective: Tensor
    label_information: Tensor
    usable: Tensor
    n_starts: Tensor
    n_label_split: Tensor
    n_empty: Tensor
    n_unconverged: Tensor


@dataclass(frozen=True)
class Directions(Record):
    """Invariant directions of B seeds and C candidates, and the one chosen.

    Attributes
    ----------
    theta : Tensor, (B, C, k_max), zero beyond the candidate's k
    k : Tensor, (B, C), int64
    alpha : Tensor, (B, C), in units of 1 / (mean eigenvalue of Psi^T Psi / n)
    score : Tensor, (B, C), by the selection rule
    chosen : Tensor, (B,), int64, index into the candidates
    """

    theta: Tensor
    k: Tensor
    alpha: Tensor
    score: Tensor
    chosen: Tensor

    @property
    def winner(self) -> "Directions":
        """The chosen candidate of every seed: fields (B, ...)."""
        rows = torch.arange(len(self.chosen), device=self.chosen.device)
        picked = {n: getattr(self, n)[rows, self.chosen] for n in ("theta", "k", "alpha", "score")}
        return Directions(**picked, chosen=self.chosen)
