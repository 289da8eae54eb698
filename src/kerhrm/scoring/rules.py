"""Selection rules: which of several candidates a method's result is.

A rule scores outputs on some sample, the larger the better.  None but the oracle sees test
points, and rows that an oracle chose are bounds, never results.  KerHRM's own rule, the worst
*learned* environment, stands in :mod:`kerhrm.algorithm.selection`.
"""

from dataclasses import dataclass

import numpy as np

from kerhrm.algorithm.selection import point_scores, pooled_score, worst_environment_score
from kerhrm.data.dataset import Files
from kerhrm.methods.registry import ORACLE, POOLED, WORST_VALIDATION
from kerhrm.storage.arrays import load_arrays


@dataclass(frozen=True)
class Rule:
    """Mean score of a sample, or the lowest one over its true environments.

    Attributes
    ----------
    name : str
        As the tables print it.
    sample : str
        The part of the predictions that is scored: ``"validation"`` or ``"test"``.
    labels : str
        The data set's file with its labels.
    worst : bool
        Whether the environments count one by one.
    """

    name: str
    sample: str
    labels: str
    worst: bool = False

    def score(self, outputs: np.ndarray, files: Files) -> np.ndarray:
        """Scores (B, C), float64, of C candidates' outputs (B, C, m) on :attr:`sample`.

        A candidate with an output that is not finite scores -inf.  No other of the data set's
        ``files`` is opened than the rule names.
        """
        arrays, facts = load_arrays(files[self.labels])
        points = point_scores(outputs, arrays["y"][:, None], facts["task"])
        if self.worst:
            true, _ = load_arrays(files["environments"])
            environment = true[self.sample]
            numbers = np.arange(environment.max() + 1)
            membership = environment[:, None] == numbers[:, None]  # (B, E, m)
            with np.errstate(invalid="ignore"):  # of points that are not finite
                scores = worst_environment_score(points, membership.astype(np.float64))
        else:
            scores = pooled_score(points)
        return np.where(np.isfinite(outputs).all(-1), scores, -np.inf)


RULES = {
    POOLED: Rule(POOLED, "validation", "validation"),
    WORST_VALIDATION: Rule(WORST_VALIDATION, "validation", "validation", worst=True),
    ORACLE: Rule(ORACLE, "test", "test_labels"),
}
