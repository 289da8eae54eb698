"""A stop while code of others runs, whose own errors end a job with one line."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobtools import log_of, rule
from plugintools import show, write_info

from kerhrm.entries import load_entry
from kerhrm.networks.modules import init_module
from kerhrm.plugins import Registry
from kerhrm_paper.compete.method_file import load_method
from kerhrm_paper.runs.job import STOPPED, job
from kerhrm_paper.runs.locks import TEMPORARY

GROUP = "kerhrm.methods"
STOP = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"
NETWORK = """
def network(d):
    import os, signal
    os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.fixture
def code(run: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder of modules that stop the job; signals are as before in the end."""
    folder = run / "code"
    folder.mkdir()
    (folder / "stops.py").write_text(STOP, "utf-8")
    (folder / "stops_later.py").write_text(NETWORK, "utf-8")
    write_info(folder, "stops", {GROUP: {"stops": "stops:learner"}})
    show(monkeypatch, folder)
    signals = (signal.SIGTERM, signal.SIGINT)
    handlers = {number: signal.getsignal(number) for number in signals}
    yield folder
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for name in ("stops", "stops_later", "compete_stops"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "foreign",
    [
        lambda _: load_entry("stops:learner"),
        lambda _: init_module("stops_later:network", 0, 3),
        lambda _: Registry(GROUP, {}).load(),
        lambda folder: load_method(folder / "stops.py", [], []),
    ],
    ids=["entry", "network", "package", "file"],
)
def test_a_stop_in_code_of_others_saves_the_checkpoint(
    run: Path, code: Path, foreign: Callable[[Path], Any]
) -> None:

    def learn() -> None:
        with job(rule(run)) as checkpoint:
            checkpoint.once("seed=0", lambda: {"a": np.zeros(1)})
            foreign(code)

    with pytest.raises(SystemExit) as caught:
        learn()
    assert caught.value.code == STOPPED
    assert log_of(run).endswith(" test: stopped by SIGTERM\n")
    (folder,) = (run / TEMPORARY).iterdir()
    assert any(folder.iterdir())
