"""What a job reads of each replicate: its points, features, network and seeds."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.records import Problem
from kerhrm.networks.base import Network
from kerhrm.networks.build import build
from kerhrm_paper.runs.arrays import load_arrays, load_records
from kerhrm_paper.runs.replication import Replication


class Replicates:
    """The replicates of some data.

    Parameters
    ----------
    files : mapping of str to str
        Files of points and features by their names in the rule.
    of : Replication
        Task, network and seeds.
    device : torch.device
        Where tensors are put.
    """

    def __init__(self, files: Any, of: Replication, device: torch.device) -> None:
        self.files, self.of, self.device = files, of, device

    @cached_property
    def _arrays(self) -> dict[str, dict[str, np.ndarray]]:
        names = ("train", "validation", "test_inputs", "true_environments")
        return {
            name: load_arrays(self.files[name])[0]
            for name in names
            if self.files.get(name)
        }

    @cached_property
    def problems(self) -> list[Problem | None]:
        """Reduced features and labels of each replicate."""
        if not self.files.get("features"):
            return [None] * len(self.of.seeds)
        return [*load_records(Problem, self.files["features"], self.device)]

    @cached_property
    def _of_test(self) -> dict[str, np.ndarray]:
        return load_arrays(self.files["test_features"])[0]

    def read(
        self, file: str, s: int, name: str = "x", dtype: Any = torch.float32
    ) -> Any:
        """An array of one replicate; None where the file does not have it.

        It is a copy: what a method writes into it no other one sees.
        """
        array = self._arrays.get(file, {}).get(name)
        if array is None:
            return None
        return torch.from_numpy(array[s]).to(self.device, dtype, copy=True)

    def network(self, s: int, d: int) -> Network:
        """f_w at w_0, for d inputs."""
        return build(self.of.network, self.of.seeds.network[s], d).to(self.device)

    def features(self, s: int) -> dict[str, tuple[Tensor, Tensor]]:
        """Psi and f_0 of the training, validation and test points; none without."""
        problem = self.problems[s]
        if problem is None:
            return {}
        psi, f0 = (
            torch.from_numpy(self._of_test[name][s]).to(self.device)
            for name in ("psi", "f0")
        )
        return {
            "train": (problem.psi_train, problem.f0_train),
            "validation": (problem.psi_validation, problem.f0_validation),
            "test": (psi, f0),
        }
