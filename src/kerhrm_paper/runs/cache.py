"""What is quick to make again, kept between processes.

Files are below the variable ``KERHRM_CACHE_DIR``, by default ``~/.cache/kerhrm``; if it
is ``none``, nothing is kept.  A file that cannot be read, was cut or has changed counts
as absent, and one that cannot be written is left out.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.files import File, write_text


def cache_folder(default: Callable[[], File]) -> Path | None:
    """Folder of what is kept; None if nothing is.

    ``default`` says where, unless ``KERHRM_CACHE_DIR`` does.
    """
    place = os.environ.get("KERHRM_CACHE_DIR")
    if place == "none":
        return None
    try:
        return Path(place or default()).expanduser()
    except RuntimeError:  # no home folder
        return None


def cache_file(kind: str, facts: Any) -> Path | None:
    """File for what depends on some facts alone; None if nothing is kept.

    ``facts`` are anything that JSON can hold.
    """
    top = cache_folder(lambda: Path.home() / ".cache" / "kerhrm")
    if top is None:
        return None
    text = json.dumps(facts)
    digest = _digest(text)[:32]
    return top / kind / f"{digest}.json"


def load(path: Path) -> Any:
    """What :func:`save` has written; None if it is not there, or damaged."""
    try:
        content = path.read_text(encoding="utf-8")
        digest, _, text = content.partition("\n")
        is_whole = digest == _digest(text)
        return json.loads(text) if is_whole else None
    except (OSError, ValueError):
        return None


def save(path: Path, content: Any) -> None:
    """Write something that JSON can hold, if the folder can be written to."""
    text = json.dumps(content)
    with contextlib.suppress(KerhrmError, ValueError):
        write_text(path, f"{_digest(text)}\n{text}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
