"""The page of the committed results, and a real browser that shows it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pagetools import Outline
from playwright.sync_api import Browser, Error, sync_playwright

from kerhrm.reporting.page.build import build
from kerhrm.reporting.results_page import REFERENCE

ROOT = Path(__file__).parents[3]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture(scope="session")
def text() -> str:
    """The page as it should be committed."""
    return build(ROOT / REFERENCE, ROOT, ROOT / REFERENCE / "report.html")


@pytest.fixture(scope="session")
def outline(text: str) -> Outline:
    return Outline(text)


@pytest.fixture(scope="session")
def written(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a file away from the repository."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, as the system has it."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: nothing shows the page")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"chromium does not start: {error.message.splitlines()[0]}")
        yield found
        found.close()
