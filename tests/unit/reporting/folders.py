"""What folders hold, for tests of what is written into them."""

from pathlib import Path


def contents(folder: Path) -> dict[Path, bytes]:
    """Bytes of all files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files}
