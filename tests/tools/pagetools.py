"""Code blocks and commands of README and pages."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    """Words of each command; of ``make env && ...`` the first half."""
    lines = "".join(blocks(page, "sh")).splitlines()
    parsed = []
    for line in lines:
        first, *_ = line.split(" && ")
        parsed.append(shlex.split(first, comments=True))
    return parsed


def files(page: Path) -> dict[str, str]:
    """Contents of the YAML files that a page names just before a block."""
    found: dict[str, str] = {}
    pattern = r"`(\w+\.yaml)`[^`]*?\n\n```yaml\n(.*?)^```"
    for name, block in re.findall(
        pattern, page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        found[name] = found.get(name, "") + block
    return found
