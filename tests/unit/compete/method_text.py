"""The text of the template, and what writes a file of it."""

from collections.abc import Callable
from pathlib import Path

from kerhrm_paper.compete import template

TEMPLATE = Path(template.__file__).read_text("utf-8")
Write = Callable[..., Path]
