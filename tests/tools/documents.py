"""The Markdown that is written for readers, and its fenced blocks."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?P<kind>\w+)[^\n]*\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)


def documents() -> list[str]:
    """README and pages, generated ones among them."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in files]


def blocks(document: str, *kinds: str) -> list[str]:
    """Contents of a document's blocks of some languages."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [found["text"] for found in BLOCK.finditer(text) if found["kind"] in kinds]
