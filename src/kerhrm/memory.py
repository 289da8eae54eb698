"""Memory that a process may have; a step that needs more is refused before it starts.

Linux grants more memory than there is, and then ends the process without a word.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerhrm.errors import KerhrmError

if TYPE_CHECKING:
    import torch

MEMINFO = Path("/proc/meminfo")
GROUPS = Path("/proc/self/cgroup")
HIERARCHY = Path("/sys/fs/cgroup")
#: files with a group's limits in bytes: of memory in version 2 and 1, of swap space
#: alone in version 2, and of both together in version 1
LIMITS = ("memory.max", "memory.limit_in_bytes")
SWAP_LIMIT = "memory.swap.max"
LIMIT_WITH_SWAP = "memory.memsw.limit_in_bytes"
#: bytes that callers keep while a step runs
_kept: ContextVar[int] = ContextVar("kept", default=0)


class TooLittleMemory(KerhrmError, MemoryError):
    """A step needs more memory than the process may have."""


def require(n_bytes: float, what: str, hint: str) -> None:
    """Refuse a step that needs more memory than the process may have.

    Parameters
    ----------
    n_bytes : float
        Bytes that the step takes at least, its arguments among them.  What
        :func:`keeping` counts is added.
    what : str
        What takes them, as ``"the kernel of 50000 points"``.
    hint : str
        What the user can do.

    Raises
    ------
    TooLittleMemory
        In one line, with both numbers; never where the system does not tell its memory.
    """
    n_bytes += _kept.get()
    most = memory_limit()
    if most is not None and n_bytes > most:
        sizes = f"{n_bytes / 1e9:.1f} GB of memory, and there are {most / 1e9:.1f} GB"
        raise TooLittleMemory(f"{what} needs at least {sizes}", hint)


@contextmanager
def keeping(n_bytes: int) -> Iterator[None]:
    """Count bytes that the caller keeps in memory while the steps of a block run.

    Those of a step's arguments the step counts itself.
    """
    before = _kept.set(_kept.get() + n_bytes)
    try:
        yield
    finally:
        _kept.reset(before)


def size_of(values: Iterable[Any]) -> int:
    """Bytes of the arrays, and of the tensors of a CPU, among some values."""
    distinct = {id(value): value for value in values}
    total = 0
    for value in distinct.values():
        if not getattr(value, "is_cuda", False):
            total += getattr(value, "nbytes", 0)
    return total


def require_on_gpu(
    n_bytes: float, what: str, hint: str, device: "torch.device"
) -> None:
    """Refuse a step that needs more memory than a GPU has free; as :func:`require`.

    What PyTorch holds there without using it counts as free.
    """
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    most = free + held
    if n_bytes > most:
        name = torch.cuda.get_device_name(device)
        sizes = f"{n_bytes / 1e9:.1f} GB of memory, and {name} has {most / 1e9:.1f} GB"
        problem = f"{what} needs at least {sizes} free"
        raise TooLittleMemory(problem, f"{hint}, or device=cpu")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, NumPy or PyTorch, on a CPU or a GPU, had no memory left."""
    text = str(error) if isinstance(error, RuntimeError) else ""
    words = "can't allocate memory", "out of memory"
    if isinstance(error, MemoryError):
        return True
    return any(word in text for word in words)


def memory_limit() -> int | None:
    """Bytes of memory and swap space that the machine has, or the least limit of the
    process or its control groups; None where the system does not tell."""
    memory, swap = _of_machine()
    if memory is None:
        return None
    return min([memory + swap, *_of_groups(swap), *_of_process()])


def _of_machine() -> tuple[int | None, int]:
    """Bytes of memory, None where the system does not tell, and on Linux of the swap
    space."""
    text = _text_of(MEMINFO)
    if text is None:
        return _of_system(), 0
    sizes = {"MemTotal": 0, "SwapTotal": 0}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number = value.removesuffix("kB").strip()
        if name in sizes and number.isdigit():
            sizes[name] = 1024 * int(number)
    return sizes["MemTotal"] or None, sizes["SwapTotal"]


def _of_system() -> int | None:
    """Bytes of memory as POSIX tells them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _of_process() -> Iterator[int]:
    """Limits that ``ulimit`` sets, as Grid Engine does; those of Linux, which are
    kept."""
    if sys.platform != "linux":
        return
    import resource

    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield limit


def _of_groups(swap: int) -> Iterator[int]:
    """Limits of the control groups that the process is in, those above them included,
    with as much of the machine's swap space as they have.

    A group's line is ``0::/user/job`` in version 2, ``7:memory:/user/job`` in 1.
    """
    text = _text_of(GROUPS) or ""
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            top = HIERARCHY
        elif "memory" in controllers.split(","):
            top = HIERARCHY / "memory"
        else:
            continue
        group = top / path.lstrip("/")
        while group == top or top in group.parents:
            yield from _limit_of(group, swap)
            group = group.parent


def _limit_of(group: Path, swap: int) -> Iterator[int]:
    """Limit of one group in bytes, if it has one."""
    swap_limit = _number_in(group / SWAP_LIMIT)
    if swap_limit is not None:
        swap = min(swap, swap_limit)
    for name in LIMITS:
        memory = _number_in(group / name)
        if memory is not None:
            yield memory + swap
    with_swap = _number_in(group / LIMIT_WITH_SWAP)
    if with_swap is not None:
        yield with_swap


def _number_in(file: Path) -> int | None:
    """Number in a file of a group; None if there is none, as of "max"."""
    text = (_text_of(file) or "").strip()
    return int(text) if text.isdigit() else None


def _text_of(file: Path) -> str | None:
    """Text of a file of the system, whatever bytes names in it have; None: it cannot be
    read."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
