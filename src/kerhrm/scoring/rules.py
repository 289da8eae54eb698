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

#: a data set's files with the labels of each part of the points
LABELS = {"train": "train", "validation": "validation", "test": "test_labels"}


@dataclass(frozen=True)
class Rule:
    """Mean score of a sample, or the lowest one over its environments.

    Attributes
    ----------
    name : str
        As the tables print it.
    samples : tuple of str
        The parts of the predictions that are scored: ``"validation"``, ``"test"``.
    closed_form : tuple of str
        The same of a closed form of few coefficients, ``"train"`` among them.
    environments : "true", "inferred" or None
        Whether environments count one by one, and which: the true ones, or all that the method
        has inferred with any option set, so that all sets are measured by one yardstick.
    """

    name: str
    samples: tuple[str, ...]
    environments: Literal["true", "inferred"] | None = None
    closed_form: tuple[str, ...] = ()

    def score(
        self, arrays: Mapping[str, np.ndarray], files: Files, closed_form: bool = False
    ) -> np.ndarray:
        """Scores (B, C), float64, of C option sets.

        ``arrays`` are those of :class:`kerhrm.data.predictions.Trial`: outputs (B, C, m) by sample
        and ``environments``.  A set with an output that is not finite scores -inf.  No other of the
        data set's ``files`` is opened than the rule names.  Errors on test points are in the square
        of the tables' common unit, which makes seeds comparable.
        """
        samples = (self.closed_form if closed_form else ()) or self.samples
        outputs = np.concatenate([arrays[sample] for sample in samples], axis=-1)
        labels, facts = zip(*(load_arrays(files[LABELS[s]]) for s in samples), strict=True)
        y, task = np.concatenate([part["y"] for part in labels], axis=-1), facts[0]["task"]
        points = point_scores(outputs, y[:, None], task)
        if self.environments is None:
            scores = pooled_score(points)
        else:
            memberships = self._memberships(arrays, files, outputs.shape[-1])
            with np.errstate(invalid="ignore"):  # of points that are not finite
                scores = worst_environment_score(points, memberships)
        if task == "regression" and samples == ("test",):
            scores = scores * labels[0]["unit"][:, None] ** 2
        return np.where(np.isfinite(outputs).all(-1), scores, -np.inf)

    def _memberships(
        self, arrays: Mapping[str, np.ndarray], files: Files, n_points: int
    ) -> np.ndarray:
        """Of the points in all environments that count, (B, E, ``n_points``)."""
        if self.environments == "inferred":  # of training points, and behind them of validation
            inferred = arrays["environments"][..., -n_points:]
            return inferred.reshape(len(inferred), -1, n_points).astype(np.float64)
        environment = load_arrays(files["environments"])[0]["validation"]
        numbers = np.arange(environment.max() + 1)
        return (environment[:, None] == numbers[:, None]).astype(np.float64)


RULES = {
    POOLED: Rule(POOLED, ("validation",)),
    WORST_VALIDATION: Rule(WORST_VALIDATION, ("validation",), "true"),
    # As inside KerHRM: a small environment has few validation points, and a minimum over means of
    # few points is ruled by their noise.  Training points count, too, unless a network has fitted
    # them.
    WORST_LEARNED: Rule(WORST_LEARNED, ("validation",), "inferred", ("train", "validation")),
    ORACLE: Rule(ORACLE, ("test",)),
}
