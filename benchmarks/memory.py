"""Resident memory of this process; the standard library alone, for any environment."""

from pathlib import Path


def resident_mb() -> float:
    """Now, MB."""
    return _status("VmRSS")


def peak_mb() -> float:
    """At most since this program began, MB; getrusage would count what its parent had."""
    return _status("VmHWM")


def _status(name: str) -> float:
    """A line of Linux's account of the process, KiB to MB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError(f"this system does not tell {name}")
