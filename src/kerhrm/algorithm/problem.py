"""What the algorithm works on: reduced features and labels."""

from dataclasses import dataclass

from torch import Tensor

from kerhrm.data.dataset import Task
from kerhrm.storage.records import Record


@dataclass(frozen=True)
class Problem(Record):
    """All that M_c and M_p may know of B data sets; nothing of test points.

    Attributes
    ----------
    u, s : Tensor, (B, n, k), (B, k)
        Truncated SVD of the training points' NTF; float64, or float32 where features are
        themselves no more exact (:class:`~kerhrm.features.landmarks.LandmarkMap`).
    psi_validation : Tensor, (B, m, k)
    f0_train, f0_validation : Tensor, (B, n), (B, m)
        Outputs of the untrained networks.
    y, y_validation : Tensor, (B, n), (B, m)
        Labels.
    task : "classification" (labels -1, +1) or "regression"
    seeds : list of int, length B
        Numbers by which the random starts go.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import Problem
    >>> u, s, v = torch.linalg.svd(torch.randn(1, 6, 2).double(), full_matrices=False)
    >>> zeros = torch.zeros(1, 6).double()
    >>> problem = Problem(u, s, u * s[:, None], zeros, zeros, zeros, zeros, "regression", [0])
    >>> problem.psi_train.shape, problem.target.shape
    (torch.Size([1, 6, 2]), torch.Size([1, 6]))
    """

    u: Tensor
    s: Tensor
    psi_validation: Tensor
    f0_train: Tensor
    f0_validation: Tensor
    y: Tensor
    y_validation: Tensor
    task: Task
    seeds: list[int]

    @property
    def psi_train(self) -> Tensor:
        """Psi = U S, (B, n, k)."""
        return self.u * self.s.unsqueeze(-2)

    def reduced(self, b: int, k: int) -> tuple[Tensor, Tensor]:
        """The first k columns of Psi, of data set b's training (n, k) and validation points.

        In float64, the precision of every solve, and of one data set alone: of n = 50 000 points
        that is all a small machine holds.
        """
        psi = self.u[b, :, :k].double() * self.s[b, :k].double()
        return psi, self.psi_validation[b, :, :k].double()

    @property
    def target(self) -> Tensor:
        """y - f_0 of the training points: what psi^T theta has to explain, (B, n)."""
        return self.y - self.f0_train

    @property
    def target_validation(self) -> Tensor:
        """y - f_0 of the validation points, (B, m)."""
        return self.y_validation - self.f0_validation


@dataclass(frozen=True)
class TestFeatures(Record):
    """Reduced features psi (B, m, k) and outputs f0 (B, m) of points to predict."""

    __test__ = False  # no test, whatever its name begins with

    psi: Tensor
    f0: Tensor
