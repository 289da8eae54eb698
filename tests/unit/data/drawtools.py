"""Parts of data that are drawn, and how often something is true in them."""

import numpy as np
from scipy import stats

from kerhrm_paper.data.draws import Draws, Split


def parts(data: Draws) -> dict[str, Split]:
    return {
        "train": data.train,
        "validation": data.validation,
        "test": data.test,
    }


def assert_rate(hits: np.ndarray, rate: float) -> None:
    """The number of hits is likely (two-sided p above 1e-4) at this rate."""
    n_hits = int(hits.sum())
    test = stats.binomtest(n_hits, hits.size, rate)
    assert test.pvalue > 1e-4
