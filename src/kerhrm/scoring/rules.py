"""Selection rules: which of several option sets a method's result is.

A rule scores outputs on some sample, the larger the better.  None but the oracle sees test
points, and rows that an oracle chose are bounds, never results.  Inside KerHRM the worst
*learned* environment chooses, too (:mod:`kerhrm.algorithm.selection`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kerhrm.algorithm.selection import point_scores, pooled_score, worst_environment_score
from kerhrm.data.dataset import Files
from kerhrm.methods.registry import ORACLE, POOLED, WORST_LEARNED, WORST_VALIDATION
from kerhrm.storage.arrays import load_arrays


@dataclass(frozen=True)
class Rule:
    """Mean score of a sample, or the lowest one over its environments.

    Attributes
    ----------
    name : str
        As the tables print it.
    sample : str
        The part of the predictions that is scored: ``"validation"`` or ``"test"``.
    labels : str
        The data set's file with its labels.
    environments : "true", "inferred" or None
        Whether environments count one by one, and which: the true ones, or all that the method
        has inferred with any option set, so that all sets are measured by one yardstick.
    """

    name: str
    sample: str
    labels: str
    environments: Literal["true", "inferred"] | None = None

    def score(self, arrays: Mapping[str, np.ndarray], files: Files) -> np.ndarray:
        """Scores (B, C), float64, of C option sets.

        ``arrays`` are those of :class:`kerhrm.data.predictions.Trial`: outputs (B, C, m) by sample
        and ``environments``.  A set with an output that is not finite scores -inf.  No other of the
        data set's ``files`` is opened than the rule names.  Errors on test points are in the square
        of the tables' common unit, which makes seeds comparable.
        """
        outputs = arrays[self.sample]
        labels, facts = load_arrays(files[self.labels])
        points = point_scores(outputs, labels["y"][:, None], facts["task"])
        if self.environments is None:
            scores = pooled_score(points)
        else:
            memberships = self._memberships(arrays, files)
            with np.errstate(invalid="ignore"):  # of points that are not finite
                scores = worst_environment_score(points, memberships)
        if facts["task"] == "regression" and self.sample == "test":
            scores = scores * labels["unit"][:, None] ** 2
        return np.where(np.isfinite(outputs).all(-1), scores, -np.inf)

    def _memberships(self, arrays: Mapping[str, np.ndarray], files: Files) -> np.ndarray:
        """Of the points in all environments that count, (B, E, m)."""
        if self.environments == "inferred":
            inferred = arrays["environments"]
            return inferred.reshape(len(inferred), -1, inferred.shape[-1]).astype(np.float64)
        environment = load_arrays(files["environments"])[0][self.sample]
        numbers = np.arange(environment.max() + 1)
        return (environment[:, None] == numbers[:, None]).astype(np.float64)


RULES = {
    POOLED: Rule(POOLED, "validation", "validation"),
    WORST_VALIDATION: Rule(WORST_VALIDATION, "validation", "validation", "true"),
    WORST_LEARNED: Rule(WORST_LEARNED, "validation", "validation", "inferred"),
    ORACLE: Rule(ORACLE, "test", "test_labels"),
}
