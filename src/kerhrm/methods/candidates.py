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
#: option sets that are met on the way of one training, in that order
Group = Sequence[Options]
#: groups that train side by side to the trials of each option set: one for every row of the method
Train = Callable[[Sequence[Group[Options]]], Sequence[Sequence[Sequence[Trial]]]]


def train_candidates(
    options: Sequence[Options], train: Train[Options], *, path: str, side_by_side: bool = False
) -> list[Trial]:
    """Train with each of C option sets, equal ones once.

    Parameters
    ----------
    train : callable
        As :func:`kerhrm.methods.points.prepare` returns it.
    path : str
        Option sets that differ in nothing but this option go to it as one group, in its order,
        because a single training passes through all of them; if empty, a group is one option set.
    side_by_side : bool
        Whether groups that differ in nothing but options ``per_network`` go to it together: on a
        GPU, where they are one batch.

    Returns
    -------
    list of Trial, one for every row of the method, fields (B, C, ...)
    """
    distinct = [o for number, o in enumerate(options) if options.index(o) == number]
    trained: list[tuple[Options, Sequence[Trial]]] = []
    groups = paths(distinct, path) if path else [[o] for o in distinct]
    for lot in lots(groups) if side_by_side else [[group] for group in groups]:
        log.info("training with %s", "; ".join(str(o) for group in lot for o in group))
        for group, trials in zip(lot, train(lot), strict=True):
            trained += zip(group, trials, strict=True)
    done = [o for o, _ in trained]
    rows = zip(*(trained[done.index(o)][1] for o in options), strict=True)
    return [_stack(row) for row in rows]


def paths(options: Sequence[Options], path: str) -> list[list[Options]]:
    """Groups that differ in nothing but one option, which ascends."""
    groups: dict[str, list[Options]] = {}
    for o in sorted(options, key=lambda o: o.model_dump()[path]):
        groups.setdefault(o.model_dump_json(exclude={path}), []).append(o)
    return list(groups.values())


def lots(groups: Sequence[Group[Options]]) -> list[list[Group[Options]]]:
    """Groups together that differ in nothing but options ``per_network``."""
    found: dict[tuple[str, ...], list[Group[Options]]] = {}
    for group in groups:
        rest = tuple(o.model_dump_json(exclude={*o.per_network}) for o in group)
        found.setdefault(rest, []).append(group)
    return list(found.values())


def _stack(trials: Sequence[Trial]) -> Trial:
    """Along a new second axis; of those that inferred fewer environments the last are empty."""
    most = max(t.environments.shape[1] for t in trials)
    fields = {name: [getattr(t, name) for t in trials] for name in Trial.names()}
    fields["environments"] = [pad(e, (0, 0, 0, most - e.shape[1])) for e in fields["environments"]]
    return Trial(**{name: torch.stack(values, dim=1) for name, values in fields.items()})
