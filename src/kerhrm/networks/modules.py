"""Any ``torch.nn.Module`` with one output a point as a network.

It is given itself, or as a factory ``"package.module:function"`` that is called with
the number of inputs d; points arrive flattened, (n, d), and the module reshapes them
itself.
"""

import contextlib
import copy
import inspect
import math
import random
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from kerhrm.entries import load_entry
from kerhrm.errors import KerhrmError, described
from kerhrm.memory import is_out_of_memory
from kerhrm.networks.base import Network
from kerhrm.randomness import entropy

#: one call at a time: a call puts its weights into the module, and takes them out
#: again; and PyTorch draws the weights of all modules from one generator
_LOCK = threading.RLock()

HINT = "a network is an nn.Module that maps rows (n, d) to (n,) or (n, 1)"
N_POINTS = 16  #: that a module is tried on
#: in what PyTorch raises where a GPU fails, and not a module's code
OF_MACHINE = ("CUDA", "cuDNN", "cuBLAS", "CUBLAS")


@dataclass(frozen=True)
class ModuleNetwork(Network):
    """Network that runs the code of a module.

    Attributes
    ----------
    weights : dict of str to Tensor
        As ``module.named_parameters()``; a shared parameter stands once.
    module : nn.Module
        Its own parameters are never used.
    """

    module: nn.Module

    def forward(self, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        points = x.clone()  # which a module may change in place
        # the other kernels of attention have no second derivatives
        with _LOCK, sdpa_kernel(SDPBackend.MATH):
            outputs: Tensor = functional_call(self.module, dict(weights), (points,))
        n = len(x)
        return outputs.reshape(n)


def init_module(entry: str, seed: int, d: int) -> ModuleNetwork:
    """Draw w_0 by the module's own initialisation, from the stream ``weights`` of the
    seed.

    Raises KerhrmError if the factory cannot be imported or fails, or its module is no
    function of d inputs and its parameters alone.
    """
    factory = load_entry(entry)
    is_class = inspect.isclass(factory)
    other_class = is_class and not issubclass(factory, nn.Module)
    if other_class or inspect.isbuiltin(factory):  # called, it may do anything
        problem = "is neither a function written in Python nor a class of nn.Module"
        raise _refused(entry, problem)
    with _LOCK, torch.random.fork_rng(devices=[]), _settings_kept():
        torch.set_default_dtype(torch.float32)
        torch_seed = entropy(seed, "weights") % 2**63
        torch.default_generator.manual_seed(torch_seed)
        try:
            module = factory(d)
        except KerhrmError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"fails with {d} inputs ({described(error)})"
            hint = HINT
            if is_class:
                name = factory.__name__
                hint = f"give a module itself, as network={name}({d}, ...)"
            raise _refused(entry, problem, hint) from error
        check_module(module, entry, d)
    weights = {name: weight.detach() for name, weight in module.named_parameters()}
    return ModuleNetwork(weights, module)


def of_module(module: nn.Module, d: int) -> ModuleNetwork:
    """Network whose w_0 are a module's weights as they are; float32, on the CPU.

    The module is copied and evaluates (``module.eval()``), so that nothing of the
    caller's changes.

    Raises KerhrmError if it is no function of d inputs and its parameters alone.
    """
    name = type(module).__name__
    with _LOCK, torch.random.fork_rng(devices=[]), _settings_kept():
        _check_kind(module, name)
        for label, weight in module.named_parameters():
            _check_real(label, weight, name)
        try:
            copied = copy.deepcopy(module)
            copied = copied.to("cpu", torch.float32).eval()
        except Exception as error:
            problem = f"cannot be copied to the CPU ({described(error)})"
            raise _refused(name, problem, "give its factory instead") from error
        check_module(copied, name, d)
    weights = {name: weight.detach() for name, weight in copied.named_parameters()}
    return ModuleNetwork(weights, copied)


@contextlib.contextmanager
def _settings_kept() -> Iterator[None]:
    """Put back what a module's own code may set for the whole process."""
    dtype = torch.get_default_dtype()
    gradients = torch.is_grad_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    threads = torch.get_num_threads()
    numpy_state = np.random.get_state()
    python_state = random.getstate()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        torch.set_num_threads(threads)
        np.random.set_state(numpy_state)
        random.setstate(python_state)


@torch.no_grad()
def check_module(module: Any, entry: str, d: int) -> None:
    """Refuse what is not one number a point, a function of parameters and that point
    alone.

    Buffers and frozen weights are refused, too: neural tangent features have the
    gradients of all weights, and training moves all of them.

    Raises KerhrmError naming the entry.
    """
    _check_kind(module, entry)
    for name, weight in module.named_parameters():
        _check_weight(name, weight, entry)
    for name, _ in module.named_buffers():
        hint = "use layers without running statistics, as GroupNorm"
        raise _refused(entry, f"has the buffer {name}", hint)
    _check_outputs(module, entry, d)


def _check_kind(module: Any, entry: str) -> None:
    """Refuse what is no module with parameters that runs with other weights."""
    trainable = isinstance(module, nn.Module) and any(True for _ in module.parameters())
    if not trainable:
        hint = "give hidden widths, as network=(1024,), or a module that can be trained"
        raise _refused(entry, "is no torch.nn.Module with parameters", hint)
    if isinstance(module, torch.jit.ScriptModule):
        hint = "give the module as it is before torch.jit"
        raise _refused(entry, "is compiled by torch.jit", hint)
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        problem = "wraps a module for several devices"
        raise _refused(entry, problem, "give module.module")


def _check_real(name: str, weight: Tensor, entry: str) -> None:
    """Refuse weights that float32 does not hold."""
    if isinstance(weight, nn.parameter.UninitializedParameter):
        return  # which is refused for its shape
    if not weight.is_floating_point():
        kind = str(weight.dtype).removeprefix("torch.")
        problem = f"has weights of type {kind} in {name}"
        raise _refused(entry, problem, "use real weights")


def _check_weight(name: str, weight: Tensor, entry: str) -> None:
    """Refuse weights that features or training could not use."""
    if isinstance(weight, nn.parameter.UninitializedParameter):
        hint = "give its layers their number of inputs, as nn.Linear(d, 1)"
        raise _refused(entry, f"has weights without a shape in {name}", hint)
    if not weight.requires_grad:
        hint = "leave them trainable, or put the frozen part before: give its "
        hint += "outputs as columns"
        raise _refused(entry, f"has frozen weights in {name}", hint)
    if weight.dtype != torch.float32:
        kind = str(weight.dtype).removeprefix("torch.")
        hint = "leave the default type as it is: the fit chooses it"
        raise _refused(entry, f"has weights of type {kind} in {name}", hint)
    finite = torch.isfinite(weight).all()
    if not bool(finite):
        hint = "draw finite weights"
        raise _refused(entry, f"has weights that are not finite in {name}", hint)


def _check_outputs(module: nn.Module, entry: str, d: int) -> None:
    """Refuse outputs that are not one number a point, the same in every batch."""
    n = N_POINTS
    points = torch.randn(n, d, dtype=torch.float32)
    try:
        outputs = module(points.clone())
        in_pairs = [module(pair.clone()) for pair in points.split(2)]
        again = torch.cat(in_pairs)
    except Exception as error:
        problem = f"fails on points of shape {(n, d)} ({described(error)})"
        raise _refused(entry, problem) from error
    if isinstance(outputs, Tensor):
        shape: Any = tuple(outputs.shape)
    else:
        shape = type(outputs).__name__
    one_number_each = shape in {(n,), (n, 1)}
    if not one_number_each:
        raise _refused(entry, f"must give {n} points one number each; got {shape}")
    if not outputs.is_floating_point():
        kind = str(outputs.dtype).removeprefix("torch.")
        raise _refused(entry, f"must give real numbers; got {kind}")
    finite = torch.isfinite(outputs).all()
    if not bool(finite):
        hint = "look for a logarithm, a root or a division in forward"
        raise _refused(entry, "gives outputs that are not finite", hint)
    largest = float(outputs.abs().max())
    rounding = 1e-3 * largest
    same = torch.allclose(outputs, again, rtol=1e-3, atol=rounding)
    if not same:
        problem = "must give a point the same output in every batch and call"
        hint = "remove dropout and batch norm, or call module.eval() in the factory"
        raise _refused(entry, problem, hint)
    _check_gradient(module, entry, points)


@torch.inference_mode(False)  # gradients, also where the caller has none
def _check_gradient(module: nn.Module, entry: str, points: Tensor) -> None:
    """Refuse a module whose outputs at points (n, d) know nothing of its weights."""
    weights = {}
    for name, weight in module.named_parameters():
        leaf = weight.detach().clone()
        weights[name] = leaf.requires_grad_()
    outputs = functional_call(module, weights, (points.clone(),))
    if not outputs.requires_grad:
        hint = "leave detach() and no_grad() out of forward"
        raise _refused(entry, "gives outputs without a gradient", hint)


@contextlib.contextmanager
def derivatives_of(network: Network) -> Iterator[None]:
    """Tell a module's code that PyTorch cannot differentiate point by point.

    Raises KerhrmError in place of what PyTorch raises for it.
    """
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:
        text = str(error)
        of_gpu = any(word in text for word in OF_MACHINE)
        of_machine = of_gpu or is_out_of_memory(error)
        if not isinstance(network, ModuleNetwork) or of_machine:
            raise
        name = type(network.module).__name__
        first_line, *_ = text.strip().split("\n")
        problem = f"has no tangent features: {first_line}"
        hint = "write forward with PyTorch's operations alone, without numpy(), "
        hint += "checkpoints and branches on values; or train it by ERM"
        raise _refused(name, problem, hint) from error


def _refused(entry: str, problem: str, hint: str = HINT) -> KerhrmError:
    one_line = " ".join(problem.split())
    return KerhrmError(f"module '{entry}' {one_line}", hint)


def small_cnn(d: int) -> nn.Module:
    """Two small convolutions on images with two colour channels, d = 2 side^2."""
    side = math.isqrt(d // 2)
    square = 2 * side**2 == d
    if not square or side < 4:
        problem = f"small_cnn needs d = 2 side^2 inputs with side >= 4; got d={d}"
        raise KerhrmError(problem, "use it with the data set colored_mnist")
    end = (side + 3) // 4  # two strides of 2, each rounded up
    return nn.Sequential(
        nn.Unflatten(1, (2, side, side)),
        nn.Conv2d(2, 8, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * end**2, 1),
    )
