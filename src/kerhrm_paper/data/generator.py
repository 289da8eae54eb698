"""What draws a data set: its options, its function, and what is known of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerhrm.errors import KerhrmError, described, shown
from kerhrm.options import Options, Task
from kerhrm_paper.data.draws import Draws

#: value by name of a reference row, then by test environment ("": all) and metric
ReferenceRows = dict[str, dict[tuple[str, str], float]]


@dataclass(frozen=True)
class Generator:
    """A data set that can be drawn.

    Attributes
    ----------
    options : type of Options
        Has ``n_points``, the number of training points.
    generate : callable
        ``(options, seeds)``, or ``(options, seeds, raw)``, to Draws.
    task : "classification" or "regression"
        What is learned.
    raw : str, optional
        Name in :data:`kerhrm_paper.data.registry.RAW` of the data that it is made from.
    closed_forms : callable, optional
        Options to values by reference row, test environment ("": all) and metric.
    references : tuple of str
        Titles of these rows, which no learner of a table may have.
    attribute : callable, optional
        x to C, of the figure 2.
    """

    options: type[Options]
    generate: Callable[..., Draws]
    task: Task
    raw: str | None = None
    closed_forms: Callable[[Any], ReferenceRows] | None = None
    references: tuple[str, ...] = ()
    attribute: Callable[[np.ndarray], np.ndarray] | None = None

    def n_points(self, options: Options) -> int:
        """Number of training points with some options.

        Raises KerhrmError if the options have no positive integer ``n_points``.
        """
        try:
            n: Any = getattr(options, "n_points", None)
        except Exception as error:
            problem = f"n_points of its options raises {described(error)}"
            raise KerhrmError(problem, "correct the property") from error
        is_whole = isinstance(n, int) and not isinstance(n, bool)
        if not is_whole or n < 1:
            problem = f"its options need n_points, a positive number; got {shown(n)}"
            raise KerhrmError(problem, "declare how many points train")
        return int(n)
