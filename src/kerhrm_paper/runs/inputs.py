"""What a method is given for one replicate."""

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.methods.inputs import Inputs
from kerhrm_paper.runs.replicates import Replicates


def inputs_of(
    replicates: Replicates, s: int, heterogeneity: HeterogeneityResult | None = None
) -> Inputs:
    """All that a method is given for one replicate, and the result of a test that has
    run."""
    data = replicates.data
    x = replicates.read("train", s)
    network = replicates.network(s, x.shape[-1])
    environments = replicates.read("true_environments", s, "train", torch.long)
    environments_validation = replicates.read(
        "true_environments", s, "validation", torch.long
    )
    return Inputs(
        x=x,
        y=replicates.read("train", s, "y"),
        x_validation=replicates.read("validation", s),
        y_validation=replicates.read("validation", s, "y"),
        task=data.task,
        seed=data.seeds.clustering[s],
        network=network,
        environments=environments,
        environments_validation=environments_validation,
        problem=_copied(replicates.problems[s]),
        heterogeneity=heterogeneity,
        auxiliary=replicates.read("train", s, "auxiliary"),
        auxiliary_validation=replicates.read("validation", s, "auxiliary"),
    )


def _copied(problem: Problem | None) -> Problem | None:
    """The record with tensors of its own."""
    if problem is None:
        return None
    copies: dict[str, Any] = {}
    for field in fields(problem):
        value = getattr(problem, field.name)
        if isinstance(value, Tensor):
            copies[field.name] = value.clone()
    return replace(problem, **copies)
