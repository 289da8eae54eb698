"""B copies of any ``torch.nn.Module`` with one output a point.

A factory ``"package.module:function"`` is called with the number of inputs d and returns the
module; points arrive flattened, (n, d), and the module reshapes them itself.  Copies differ in
their parameters alone, which ``torch.func`` runs as one batch.
"""

import dataclasses
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.randomness import entropy

SHAPE = "return an nn.Module that maps points (n, d) to (n,) or (n, 1)"


@dataclass(frozen=True)
class Modules(Network):
    """B networks f_w: R^d -> R that share the code of one module.

    Attributes
    ----------
    template : nn.Module
        What the factory ``entry`` returns; its own parameters are never used.
    n_inputs : int
        d.
    values : dict of names to Tensors, each (B, ...)
        As ``template.named_parameters()``; one that is shared stands once.
    """

    template: nn.Module
    entry: str
    n_inputs: int
    values: dict[str, Tensor]

    @property
    def facts(self) -> dict[str, Any]:
        options = NetworkOptions(module=self.entry)
        return {"n_inputs": self.n_inputs, "network": options.model_dump()}

    def parameters(self) -> list[Tensor]:
        return list(self.values.values())

    def replace(self, parameters: Sequence[Tensor]) -> "Modules":
        return dataclasses.replace(self, values=dict(zip(self.values, parameters, strict=True)))

    def __call__(self, x: Tensor) -> Tensor:
        def one(values: dict[str, Tensor], points: Tensor) -> Tensor:
            outputs: Tensor = functional_call(self.template, values, (points,))
            return outputs.reshape(len(points))

        if len(x) == 1:  # as torch would run it, without the batch's larger temporaries
            return one({name: w[0] for name, w in self.values.items()}, x[0]).unsqueeze(0)
        # on a CPU one after the other: the activations of one stay in the cache
        chunk_size = 1 if x.device.type == "cpu" else None
        outputs: Tensor = vmap(one, chunk_size=chunk_size)(self.values, x)
        return outputs


def init_modules(entry: str, seeds: Sequence[int], n_inputs: int) -> Modules:
    """Draw w_0 by the module's own initialisation, from the stream ``weights`` of each seed."""
    factory, modules = load(entry), []
    other = inspect.isclass(factory) and not issubclass(factory, nn.Module)
    if other or inspect.isbuiltin(factory):  # called, it may do anything
        raise _refused(entry, "is neither a function written in Python nor a class of nn.Module")
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(entropy(seed, "weights") % 2**63)
            try:
                module = factory(n_inputs)
            except KerhrmError:
                raise
            except Exception as error:
                raise _refused(entry, f"fails with {n_inputs} inputs ({error})") from error
            check(module, entry, n_inputs)
        modules.append(module)
    values, _ = stack_module_state(modules)
    return Modules(modules[0], entry, n_inputs, {name: w.detach() for name, w in values.items()})


@torch.no_grad()
def check(module: Any, entry: str, n_inputs: int) -> None:
    """Refuse (KerhrmError) what is not one number a point, of parameters and point alone.

    Buffers are refused, too: they would be parameters that nobody trains.
    """
    if not isinstance(module, nn.Module) or not any(True for _ in module.parameters()):
        raise _refused(entry, "returns no torch.nn.Module with parameters")
    for name, _ in module.named_buffers():
        cure = "use layers without running statistics, as GroupNorm"
        raise _refused(entry, f"has the buffer {name}", cure)
    n = 16
    points = torch.randn(n, n_inputs)
    try:
        outputs, again = module(points), torch.cat([module(part) for part in points.split(2)])
    except Exception as error:
        raise _refused(entry, f"fails on points of shape {(n, n_inputs)} ({error})") from error
    shape = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
    if shape not in {(n,), (n, 1)}:
        raise _refused(entry, f"maps {n} points to {shape}, not to one number a point")
    if not torch.allclose(outputs, again, rtol=1e-3, atol=1e-3 * float(outputs.abs().max())):
        cure = "leave out dropout and batch statistics, or call module.eval() in the factory"
        problem = "gives a point another number in other company or a second time"
        raise _refused(entry, problem, cure)


def _refused(entry: str, problem: str, cure: str = SHAPE) -> KerhrmError:
    return KerhrmError(f"module '{entry}' {' '.join(problem.split())}", cure)
