"""What a job reads of each replicate: its points, features, network and seeds."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem
from kerhrm.memory import size_of
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
    data : Replication
        Task, network and seeds.
    device : torch.device
        Where tensors are put.
    """

    def __init__(self, files: Any, data: Replication, device: torch.device) -> None:
        self.files = files
        self.data = data
        self.device = device

    @cached_property
    def _arrays(self) -> dict[str, dict[str, np.ndarray]]:
        arrays = {}
        for name in ("train", "validation", "test_inputs", "true_environments"):
            path = self.files.get(name)
            if path:
                arrays[name], _ = load_arrays(path)
        return arrays

    @cached_property
    def problems(self) -> list[Problem | None]:
        """Reduced features and labels of each replicate."""
        path = self.files.get("features")
        if not path:
            n_seeds = len(self.data.seeds)
            return [None] * n_seeds
        return load_records(Problem, path, self.device)

    @cached_property
    def _test_features(self) -> dict[str, np.ndarray]:
        path = self.files["test_features"]
        arrays, _ = load_arrays(path)
        return arrays

    @property
    def size(self) -> int:
        """Bytes of all replicates' points, and of their features if they are read."""
        total = sum(size_of(arrays.values()) for arrays in self._arrays.values())
        for problem in vars(self).get("problems", []):
            if problem is not None:
                total += size_of(vars(problem).values())
        return total

    def read(
        self, file: str, s: int, name: str = "x", dtype: Any = torch.float32
    ) -> Any:
        """An array of one replicate; None where the file does not have it.

        It is a copy: what a method writes into it no other one sees.
        """
        arrays = self._arrays.get(file, {})
        array = arrays.get(name)
        if array is None:
            return None
        tensor = torch.from_numpy(array[s])
        return tensor.to(self.device, dtype, copy=True)

    def network(self, s: int, d: int) -> Network:
        """f_w at w_0, for d inputs."""
        seed = self.data.seeds.network[s]
        network = build(self.data.network, seed, d)
        return network.to(self.device)

    def features(self, s: int) -> dict[str, tuple[Tensor, Tensor]]:
        """Psi and f_0 of the training, validation and test points; none without."""
        problem = self.problems[s]
        if problem is None:
            return {}
        of_test = self._test_features
        psi = torch.from_numpy(of_test["psi"][s])
        f0 = torch.from_numpy(of_test["f0"][s])
        return {
            "train": (problem.psi_train, problem.f0_train),
            "validation": (problem.psi_validation, problem.f0_validation),
            "test": (psi.to(self.device), f0.to(self.device)),
        }
