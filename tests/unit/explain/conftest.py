"""A finished run for all tests of this folder; those that change it make their own."""

from pathlib import Path

import pytest
from explaintools import make_run, make_tuned


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and a search, without code and git."""
    folder = tmp_path_factory.mktemp("explained")
    make_run(folder)
    make_tuned(folder)
    return folder


@pytest.fixture(scope="session")
def run(checkout: Path) -> Path:
    return checkout / "results" / "paper"
