"""One method, trained with every option set on trial."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch.nn.functional import pad

from kerhrm.data.predictions import Trial
from kerhrm.sections import Section

log = logging.getLogger(__name__)

Options = TypeVar("Options", bound=Section)
#: a group of option sets to the trials of each: one for every row of the method
Train = Callable[[Sequence[Options]], Sequence[Sequence[Trial]]]


def train_candidates(
    options: Sequence[Options], train: Train[Options], *, path: bool
) -> list[Trial]:
    """Train with each of C option sets, equal ones once.

    Parameters
    ----------
    train : callable
        As :func:`kerhrm.methods.points.prepare` returns it.
    path : bool
        Whether option sets that differ in nothing but ``steps`` go to it as one group, in the
        order of their steps, because a single training passes through all of them; else a group
        is one option set.

    Returns
    -------
    list of Trial, one for every row of the method, fields (B, C, ...)
    """
    distinct = [o for number, o in enumerate(options) if options.index(o) == number]
    trained: list[tuple[Options, Sequence[Trial]]] = []
    for group in paths(distinct) if path else [[o] for o in distinct]:
        log.info("training with %s", "; ".join(map(str, group)))
        trained += zip(group, train(group), strict=True)
    done = [o for o, _ in trained]
    rows = zip(*(trained[done.index(o)][1] for o in options), strict=True)
    return [_stack(row) for row in rows]


def paths(options: Sequence[Options]) -> list[list[Options]]:
    """Groups that differ in nothing but ``steps``, which ascend."""
    groups: dict[str, list[Options]] = {}
    for o in sorted(options, key=lambda o: o.model_dump()["steps"]):
        groups.setdefault(o.model_dump_json(exclude={"steps"}), []).append(o)
    return list(groups.values())


def _stack(trials: Sequence[Trial]) -> Trial:
    """Along a new second axis; of those that inferred fewer environments the last are empty."""
    most = max(t.environments.shape[1] for t in trials)
    fields = {name: [getattr(t, name) for t in trials] for name in Trial.names()}
    fields["environments"] = [pad(e, (0, 0, 0, most - e.shape[1])) for e in fields["environments"]]
    return Trial(**{name: torch.stack(values, dim=1) for name, values in fields.items()})
