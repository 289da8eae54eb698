"""The small configuration of small_config.py as a fixture."""

from pathlib import Path
from typing import Any

import pytest
from small_config import TREE, Load, write

from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.strict_yaml import merge


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Write the small configuration, with changes by file, and load it."""
    monkeypatch.chdir(tmp_path)

    def load(changes: dict[str, Any] | None = None, **overrides: Any) -> Config:
        tree = dict(TREE)
        given = changes or {}
        for name, content in given.items():
            both = isinstance(content, dict) and name in tree
            tree[name] = merge(tree[name], content) if both else content
        return load_config(overrides, root=write(tmp_path, tree))

    return load
