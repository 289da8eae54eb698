"""Selection rules: which of several candidates a method's result is.

A rule scores outputs on some sample, the larger the better.  None but :class:`Oracle` sees
test points, and rows that an oracle chose are bounds, never results.  KerHRM's own rule,
the worst *learned* environment, stands in :mod:`kerhrm.algorithm.selection`.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from kerhrm.algorithm.selection import point_scores, pooled_score, worst_environment_score
from kerhrm.data.dataset import Task
from kerhrm.data.samples import Files
from kerhrm.storage.arrays import load_arrays


class Rule(ABC):
    """Base of the rules.

    Attributes
    ----------
    name : str
        As the tables print it.
    sample : str
        The part of the predictions that is scored: ``"validation"`` or ``"test"``.
    """

    name: ClassVar[str]
    sample: ClassVar[str]

    def score(self, outputs: Tensor, files: Files) -> Tensor:
        """Score candidates.

        Parameters
        ----------
        outputs : Tensor, (B, C, m)
            Of C candidates on :attr:`sample`.  A candidate with an output that is not finite
            scores -inf.
        files : mapping
            Files of a data set's files; a rule opens no other than it names.

        Returns
        -------
        Tensor, (B, C), float64
        """
        finite = outputs.isfinite().all(-1)
        return self._score(outputs, files).masked_fill(~finite, -torch.inf)

    @abstractmethod
    def _score(self, outputs: Tensor, files: Files) -> Tensor:
        """Scores (B, C) of finite outputs."""


class PooledValidation(Rule):
    """Mean score on the pooled validation sample: the paper's rule without labels."""

    name = "pooled validation"
    sample = "validation"

    def _score(self, outputs: Tensor, files: Files) -> Tensor:
        y, task = labels(files, "validation")
        return pooled_score(point_scores(outputs, y.unsqueeze(1), task))


class WorstValidationEnvironment(Rule):
    """Lowest score over the true validation environments: the paper's rule for IRM."""

    name = "worst validation environment"
    sample = "validation"

    def _score(self, outputs: Tensor, files: Files) -> Tensor:
        y, task = labels(files, "validation")
        environment = torch.from_numpy(load_arrays(files["environments"])[0]["validation"])
        numbers = torch.arange(int(environment.max()) + 1)
        membership = (environment.unsqueeze(1) == numbers[:, None]).double()  # (B, E, m)
        return worst_environment_score(point_scores(outputs, y.unsqueeze(1), task), membership)


class Oracle(Rule):
    """Mean score on the test points themselves: a bound."""

    name = "oracle"
    sample = "test"

    def _score(self, outputs: Tensor, files: Files) -> Tensor:
        y, task = labels(files, "test_labels")
        return pooled_score(point_scores(outputs, y.unsqueeze(1), task))


def labels(files: Files, part: str) -> tuple[Tensor, Task]:
    """Labels (B, m) of a part of the data set, and the task."""
    arrays, facts = load_arrays(files[part])
    return torch.from_numpy(arrays["y"]), facts["task"]


RULES = {rule.name: rule for rule in (PooledValidation(), WorstValidationEnvironment(), Oracle())}
