"""Digests of code, kept between runs: most of what a call with nothing to do would work at."""

import json
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import write_text


class Digests(dict[str, str]):
    """Digests by the hash of all that they depend on, as :meth:`keep` has left them in a file.

    A file that is missing, damaged or not to be written costs time, and nothing else.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(_read(path))
        self.path, self.kept = path, len(self)

    def keep(self) -> None:
        """Write what has come since; what another process has written meanwhile is lost."""
        if len(self) > self.kept:
            try:
                write_text(self.path, json.dumps(self))
            except KerhrmError:
                return
            self.kept = len(self)


def _read(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(content, dict) and all(isinstance(v, str) for v in content.values())
    return content if whole else {}
