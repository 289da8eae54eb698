"""Files of cells that are asked for by name: what is no cell is refused at once."""

from collections.abc import Sequence
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.cells import LearnerCell
from kerhrm.paper.config.config import Config
from kerhrm.paper.config.fields import nearest
from kerhrm.paper.config.layout import reserved

#: folders beside those of the learners on some data
OF_DATA = ("data", "features")
#: files of a learner on some data
OF_LEARNER = ("predictions.npz", "scores.csv")
ITERATIONS, PRETEST = "iterations", "heterogeneity.npz"
STEPS = ("environments.npz", "directions.npz")


def check_target(config: Config, root: Path, parts: Sequence[str]) -> None:
    """Refuse a file, by the parts of its path from the run's folder, of no cell.

    Raises KerhrmError, in one line with the nearest name or the right spelling.
    """
    if len(parts) < 2 or reserved(root).fullmatch(parts[0]):
        return
    data, learner, *rest = parts
    config.data(data)
    if learner in OF_DATA:
        return
    where, cell = f"{data}/{learner}", config.learner(data, learner)
    if not rest or rest[0] in OF_LEARNER:
        return
    if rest[0] == ITERATIONS:
        _check_iteration(where, cell, rest)
        return
    pretested = cell.checkpointed and config.data(data).task == "regression"
    if rest[0] == PRETEST and pretested:
        return
    files = [*OF_LEARNER, *([ITERATIONS] * cell.checkpointed), *([PRETEST] * pretested)]
    raise KerhrmError(f"{where} has no {rest[0]}", nearest(rest[0], files))


def _check_iteration(where: str, cell: LearnerCell, rest: Sequence[str]) -> None:
    """Refuse an iteration that a learner does not have, or that is no job."""
    if not cell.checkpointed:
        problem = f"{where}: its iterations are no jobs"
        hint = "they are in predictions.npz, if it has some"
        raise KerhrmError(problem, hint)
    last = getattr(cell.options, "n_iterations", 0)
    known = [str(t) for t in range(1, last + 1)]
    if len(rest) > 1 and rest[1] not in known:
        problem = f"{where} has no iteration {rest[1]}"
        raise KerhrmError(problem, f"it has {', '.join(known)}")
    if len(rest) > 2 and rest[2] not in STEPS:
        raise KerhrmError(f"{where}: no {rest[2]}", nearest(rest[2], STEPS))
