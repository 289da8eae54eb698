"""One fit in a process of its own: processor seconds, largest memory, and a result.

    python -m kerhrm_paper.studies.apart kerhrm_paper.studies.sizes '{"rows": 2000}'

prints them as JSON.  The largest memory is that of the fit, its rows and the imports.
"""

import json
import logging
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame

from kerhrm.errors import KerhrmError
from kerhrm_paper.studies.study import quiet

log = logging.getLogger("kerhrm")
#: where Linux says what a process has had at most since its program began
STATUS = Path("/proc/self/status")
#: bytes in a unit of the largest memory that the system reports
UNIT = 1 if sys.platform == "darwin" else 1024


class Prepared(NamedTuple):
    """What a module's ``prepare(key)`` returns."""

    fit: Callable[[], Any]  #: is measured
    describe: Callable[[Any], dict[str, Any]]  #: of its result, which is not


def measured(module: str, key: dict[str, Any]) -> DataFrame:
    """What a fit gives and takes, in a row.

    Parameters
    ----------
    module : str
        With a function ``prepare(key)``.
    key : dict
        Of numbers and text.

    Returns
    -------
    DataFrame
        What ``describe`` says of the result, and the columns ``cpu_seconds`` and
        ``memory_gb`` (1e9 bytes).

    Raises
    ------
    KerhrmError
        If the process fails; the log has what it wrote.
    """
    text = json.dumps(key)
    command = [sys.executable, "-P", "-m", __name__, module, text]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        log.error("%s", done.stderr)
        problem = f"the fit of {text} ended with status {done.returncode}"
        hint = "see its log; a negative status is a signal, as -9 where memory is short"
        raise KerhrmError(problem, hint)
    *_, last_line = done.stdout.splitlines()
    row = json.loads(last_line)
    return DataFrame([row])


def main(module: str, text: str) -> None:
    """Prepare, measure, and print."""
    key = json.loads(text)
    prepared: Prepared = import_module(module).prepare(key)
    start = time.process_time()
    with quiet():
        result = prepared.fit()
    end = time.process_time()
    row = {
        **prepared.describe(result),
        "cpu_seconds": end - start,
        "memory_gb": largest_memory() / 1e9,
    }
    print(json.dumps(row))


def largest_memory() -> int:
    """Bytes of this process at most, without those of the one that started it.

    Those count in Linux's ``ru_maxrss``.
    """
    if STATUS.exists():
        found = re.search(r"^VmHWM:\s*(\d+) kB$", STATUS.read_text(), re.MULTILINE)
        if found:
            return 1024 * int(found[1])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_maxrss * UNIT


if __name__ == "__main__":
    main(*sys.argv[1:])
