"""Full-batch training of B networks."""

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.networks.adam import Adam
from kerhrm.networks.protocol import N, concatenate
from kerhrm.rows import of_rows
from kerhrm.storage.checkpoints import begin

log = logging.getLogger(__name__)

#: losses (b,) of outputs (b, n) of the networks in a slice of the batch
Loss = Callable[[Tensor, slice], Tensor]
#: losses (b,) at step 1, 2, ... of outputs (b, n) of the networks in a slice of the batch
Objective = Callable[[int, Tensor, N, slice], Tensor]
#: looks on: step, networks of a slice, the slice, their losses (b,) before the step; True ends it
AfterStep = Callable[[int, N, slice, Tensor], bool | None]


def train(
    initial: N,
    x: Tensor,
    loss: Loss,
    *,
    steps: int,
    learning_rate: float | Tensor,
    after_step: AfterStep[N] | None = None,
    keep: Sequence[Tensor] = (),
) -> N:
    """Minimise a loss of the outputs at points x (B, n, d); otherwise as :func:`minimise`."""
    return minimise(
        initial,
        x,
        lambda _, f, networks, rows: loss(f, rows),
        steps=steps,
        learning_rate=learning_rate,
        after_step=after_step,
        keep=keep,
    )


def minimise(
    initial: N,
    x: Tensor,
    objective: Objective[N],
    *,
    steps: int,
    learning_rate: float | Tensor,
    after_step: AfterStep[N] | None = None,
    keep: Sequence[Tensor] = (),
) -> N:
    """Minimise an objective of the outputs at points x by Adam, for every network of the batch.

    No two networks share a parameter and losses are summed over the batch, so it does not
    matter how many run together.  On a GPU all do, or as many as fit; on a CPU one after
    the other, because the activations of one network stay in the cache (measured: 2 to 3 times
    faster).

    Parameters
    ----------
    initial : Network
        Not changed.
    x : Tensor, (B, n, d)
        On the device of the training.
    objective : callable
        ``objective(step, f, networks, rows)`` is what step = 1, ..., ``steps`` descends, with the
        outputs f of the networks, which are trainable.
    learning_rate : float, or Tensor (B,)
        Adam's, with the default moments (Kingma & Ba 2015); for all networks or for each.
    after_step : callable, optional
        Called as ``after_step(step, networks, rows, losses)``; a slice for which it returns
        True is done.
    keep : sequence of Tensor, each (B, ...)
        What ``after_step`` writes to (in place), so that a checkpoint holds it, too.

    Raises
    ------
    KerhrmError
        If the memory of a GPU does not hold a single network's training.
    """
    _keep_freed_memory()
    n_networks, device = initial.n_networks, x.device
    together = networks_at_once(device, n_networks)
    groups: list[N] = []
    first = 0
    while first < n_networks:
        rows = slice(first, min(first + together, n_networks))
        networks = initial.take(rows).trainable_copy(device)
        kept = [tensor.detach()[rows] for tensor in keep]
        how = steps, of_rows(learning_rate, rows), after_step, kept
        try:
            groups.append(_minimise_group(networks, x[rows], rows, objective, *how))
        except torch.cuda.OutOfMemoryError as error:
            if together == 1:
                problem = f"a single network does not fit into the memory of {device}"
                raise KerhrmError(problem, "use --config device=cpu") from error
            together = (together + 1) // 2
            log.warning("out of memory on %s: going on with %d networks at once", device, together)
            continue
        first = rows.stop
        log.info("trained %d of %d networks", first, n_networks)
    return concatenate(groups)


def _keep_freed_memory() -> None:
    """Let the C library keep what is freed, up to some tens of megabytes.

    Else hidden layers go back to the system after every step and cost page faults in the next,
    up to half of its time.  By the rule of mallopt(3) for M_MMAP_THRESHOLD to have freed a
    block raises the threshold to its size; 32 MB is the most that counts.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


def networks_at_once(device: torch.device, n_networks: int) -> int:
    """How many networks to train together, memory permitting."""
    return 1 if device.type == "cpu" else n_networks


def _minimise_group(
    networks: N,
    x: Tensor,
    rows: slice,
    objective: Objective[N],
    steps: int,
    learning_rate: float | Tensor,
    after_step: AfterStep[N] | None,
    keep: Sequence[Tensor],
) -> N:
    """Descend the sum of the objectives; an interrupted descent goes on at its last step."""
    section = begin("Adam")
    parameters = networks.parameters()
    optimiser = Adam(parameters, learning_rate)
    state = {f"parameter_{i}": p.detach() for i, p in enumerate(parameters)}
    state |= {f"kept_{i}": kept for i, kept in enumerate(keep)}
    moments = {f"{n}_{i}": t for i, m in enumerate(optimiser.moments) for n, t in m.items()}
    done = 0
    # after a lack of memory the saved group may have been of another size
    if section.saved and section.saved["parameter_0"].shape == parameters[0].shape:
        for name, tensor in (state if section.finished else state | moments).items():
            tensor.copy_(torch.from_numpy(section.saved[name]))
        done = steps if section.finished else int(section.saved["step"])
    outputs = networks.on(x)
    for step in range(done + 1, steps + 1):
        optimiser.zero_grad()
        losses = objective(step, outputs(networks), networks, rows)
        losses.sum().backward()
        optimiser.step()
        ended = after_step is not None and after_step(step, networks, rows, losses.detach())
        if ended:
            break
        section.progress(step - done, steps - done, lambda losses=losses: losses.mean().item())  # type: ignore[misc]
        section.offer(lambda step=step: to_arrays(state | moments) | {"step": np.array(step)})  # type: ignore[misc]
    section.finish(lambda: to_arrays(state))
    return networks.frozen()


def to_arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Copies for the disk."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
