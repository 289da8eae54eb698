"""A run's folder, and a process that jobs leave as it was."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    """A job sets up a process of its own; here it must leave pytest's as it was."""
    root = logging.getLogger()
    threads = torch.get_num_threads()
    handlers = root.handlers[:]
    level = root.level
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    torch.set_num_threads(threads)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path
