"""Train learners on the replicates of some data."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.entries import load_entry
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.memory import keeping
from kerhrm.methods.kerhrm import finish
from kerhrm.networks.base import resolve_device
from kerhrm_paper.runs.arrays import load_records, save_stacked
from kerhrm_paper.runs.checkpoints import Checkpoint, Result
from kerhrm_paper.runs.inputs import inputs_of
from kerhrm_paper.runs.iterations import load_iterations
from kerhrm_paper.runs.limited import TIMED_OUT, FitProcess, failed, fit_process
from kerhrm_paper.runs.predicting import predict, trained
from kerhrm_paper.runs.predictions import aligned
from kerhrm_paper.runs.replicates import Replicates
from kerhrm_paper.runs.replication import Replication

log = logging.getLogger("kerhrm")


def train_learners(
    files: Any, params: Any, outputs: Sequence[str], checkpoint: Checkpoint
) -> None:
    """Train each learner of a job on each of its replicates.

    Parameters
    ----------
    files : mapping of str to str
        Files of points and features by their names in the rule.
    params : object
        The rule's: ``data``, a
        :class:`~kerhrm_paper.runs.replication.Replication`, and ``learners``, each of
        :meth:`kerhrm_paper.config.cells.LearnerCell.params`.
    outputs : sequence of str
        A file for each learner.
    checkpoint : Checkpoint
        Has the replicates that are done.
    """
    replicates = _replicates(files, params)
    numbers = [learner["n_seeds"] for learner in params.learners]
    checkpoint.expect(sum(numbers))
    with fit_process(files, params) as process:
        for learner, path in zip(params.learners, outputs, strict=True):
            if "timeout" in learner:
                _train_limited(process, replicates, learner, path, checkpoint)
            else:
                _train_learner(replicates, learner, path, checkpoint)


def _train_learner(
    replicates: Replicates,
    learner: Mapping[str, Any],
    output: str,
    checkpoint: Checkpoint,
) -> None:
    """Train one learner on each of its replicates."""
    entries = learner["entries"]
    fit = load_entry(entries["train"])
    make_options = load_entry(entries["options"])
    options = make_options(**learner["options"])

    def train(s: int) -> Result:
        predictions = trained(replicates, s, fit, options, learner)
        return predictions.arrays()

    prefix = f"{learner['name']},"
    units = checkpoint.each_seed(learner["n_seeds"], train, prefix)
    _save(output, units)


def _train_limited(
    process: FitProcess,
    replicates: Replicates,
    learner: Mapping[str, Any],
    output: str,
    checkpoint: Checkpoint,
) -> None:
    """Train a learner with a time limit on each of its replicates.

    A fit that fails leaves its reason.  After one that takes too long no other is
    tried: the cell has no result then.
    """
    units = []
    late = None
    for s in range(learner["n_seeds"]):
        if late is not None:
            reason = f"not tried, as replicate {late} timed out"
            predictions = failed(replicates, s, learner, reason)
            units.append(predictions.arrays())
            checkpoint.leave_out()
            continue
        compute = partial(_fit_limited, process, replicates, learner, s)
        unit = checkpoint.once(f"{learner['name']},seed={s}", compute)
        units.append(unit)
        # also where an earlier start of the job has waited for it
        reason = str(unit.get("failed", ""))
        if reason.startswith(TIMED_OUT):
            late = s
            n_left = learner["n_seeds"] - s - 1
            rest = f"; its other replicates ({n_left}) are not tried" if n_left else ""
            what = f"{replicates.data.name}/{learner['name']}, replicate {s}"
            log.warning("%s: %s%s", what, reason, rest)
    _save(output, units)


def _fit_limited(
    process: FitProcess, replicates: Replicates, learner: Mapping[str, Any], s: int
) -> Result:
    """Predictions of a learner with a time limit on one replicate, or the reason why
    there are none."""
    answer = process.fit(learner, s)
    if answer.arrays is None:
        predictions = failed(replicates, s, learner, answer.reason)
        return predictions.arrays()
    return answer.arrays


def finish_iterations(
    files: Any, params: Any, output: str, checkpoint: Checkpoint
) -> None:
    """The end of Algorithm 1: the iteration that predicts, and the network along its
    direction.

    ``files`` and ``params`` are the rule's: iterations' ``environments`` and
    ``directions``, and one of ``params.learners``.
    """
    replicates = _replicates(files, params)
    (learner,) = params.learners
    options = KerHRMOptions(**learner["options"])
    environments, directions = load_iterations(files, replicates.device)
    pretests = [None] * learner["n_seeds"]
    if files.heterogeneity:
        pretests = load_records(HeterogeneityResult, files.heterogeneity)

    def train(s: int) -> Result:
        inputs = inputs_of(replicates, s, pretests[s])
        with keeping(replicates.size):
            fitted = finish(
                inputs,
                options,
                [of_seeds[s] for of_seeds in environments],
                [of_seeds[s] for of_seeds in directions],
            )
        predictions = predict(replicates, s, fitted, learner)
        return predictions.arrays()

    checkpoint.expect(learner["n_seeds"])
    units = checkpoint.each_seed(learner["n_seeds"], train)
    _save(output, units)


def _save(path: str, units: Sequence[Result]) -> None:
    """Write the predictions of all replicates to one file."""
    stackable = aligned(units)
    save_stacked(path, stackable)


def _replicates(files: Any, params: Any) -> Replicates:
    data = Replication.load(params.data)
    device = resolve_device(params.device)
    return Replicates(files, data, device)
