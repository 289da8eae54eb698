"""Train learners on the replicates of some data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Environments, Problem
from kerhrm.heterogeneity.test import HeterogeneityResult
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.kerhrm import finish
from kerhrm.networks.base import resolve_device
from kerhrm.plugins import load_entry
from kerhrm_paper.runs.arrays import load_records, save_stacked
from kerhrm_paper.runs.checkpoints import Checkpoint, Result
from kerhrm_paper.runs.predictions import aligned, predict
from kerhrm_paper.runs.replicates import Replicates
from kerhrm_paper.runs.replication import Replication


def train_learners(
    files: Any, params: Any, outputs: Sequence[str], checkpoint: Checkpoint
) -> None:
    """Train each learner of a job on each of its replicates.

    ``files`` and ``params`` are the rule's: ``data``, a
    :class:`~kerhrm_paper.runs.replication.Replication`, and ``learners``, each of
    :meth:`kerhrm_paper.config.cells.LearnerCell.params`; ``outputs`` are their files.
    """
    replicates = _replicates(files, params)
    for learner, path in zip(params.learners, outputs, strict=True):
        _train_learner(replicates, learner, path, checkpoint)


def _train_learner(
    replicates: Replicates,
    learner: Mapping[str, Any],
    output: str,
    checkpoint: Checkpoint,
) -> None:
    """Train one learner on each of its replicates."""
    fit = load_entry(learner["entries"]["train"])
    options = load_entry(learner["entries"]["options"])(**learner["options"])

    def train(s: int) -> Result:
        fitted = fit(inputs_of(replicates, s), options)
        return predict(replicates, s, fitted, learner).arrays()

    prefix = f"{learner['name']},"
    _save_seeds(output, train, learner["n_seeds"], checkpoint, prefix)


def finish_iterations(
    files: Any, params: Any, output: str, checkpoint: Checkpoint
) -> None:
    """The end of Algorithm 1: the iteration that predicts, and the network along its
    direction.

    ``files`` and ``params`` are the rule's: iterations' ``environments`` and
    ``directions``, and one of ``params.learners``.
    """
    replicates, (learner,) = _replicates(files, params), params.learners
    options = KerHRMOptions(**learner["options"])
    device = replicates.device
    environments = [load_records(Environments, f, device) for f in files.environments]
    directions = [load_records(Directions, f, device) for f in files.directions]
    pretests = (
        load_records(HeterogeneityResult, files.heterogeneity)
        if files.heterogeneity
        else []
    )

    def train(s: int) -> Result:
        inputs = inputs_of(replicates, s, pretests[s] if pretests else None)
        learned = [e[s] for e in environments], [d[s] for d in directions]
        fitted = finish(inputs, options, *learned)
        return predict(replicates, s, fitted, learner).arrays()

    _save_seeds(output, train, learner["n_seeds"], checkpoint)


def _save_seeds(
    path: str,
    train: Callable[[int], Result],
    n_seeds: int,
    checkpoint: Checkpoint,
    prefix: str = "",
) -> None:
    """Save what ``train`` gives of each seed; the checkpoint has those that are done,
    each by the prefix and its number."""
    units = [
        checkpoint.once(f"{prefix}seed={s}", partial(train, s)) for s in range(n_seeds)
    ]
    save_stacked(path, aligned(units))


def inputs_of(
    replicates: Replicates, s: int, heterogeneity: HeterogeneityResult | None = None
) -> Inputs:
    """All that a method is given for one replicate, and the result of a test that has
    run."""
    x, of = replicates.read("train", s), replicates.of
    true = {
        part: replicates.read("true_environments", s, part, torch.long)
        for part in ("train", "validation")
    }
    return Inputs(
        x=x,
        y=replicates.read("train", s, "y"),
        x_validation=replicates.read("validation", s),
        y_validation=replicates.read("validation", s, "y"),
        task=of.task,
        seed=of.seeds.clustering[s],
        network=replicates.network(s, x.shape[-1]),
        environments=true["train"],
        environments_validation=true["validation"],
        problem=_copied(replicates.problems[s]),
        heterogeneity=heterogeneity,
        auxiliary=replicates.read("train", s, "auxiliary"),
        auxiliary_validation=replicates.read("validation", s, "auxiliary"),
    )


def _copied(problem: Problem | None) -> Problem | None:
    """The record with tensors of its own."""
    if problem is None:
        return None
    values: dict[str, Any] = {f.name: getattr(problem, f.name) for f in fields(problem)}
    tensors = {n: v.clone() for n, v in values.items() if isinstance(v, Tensor)}
    return replace(problem, **tensors)  # type: ignore[arg-type]


def _replicates(files: Any, params: Any) -> Replicates:
    data = Replication.load(params.data)
    return Replicates(files, data, resolve_device(params.device))
