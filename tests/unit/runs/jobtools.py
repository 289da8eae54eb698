"""What a job reads of Snakemake's object, and its log."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any


def rule(run: Path, *inputs: Path, **params: Any) -> SimpleNamespace:
    """As much of Snakemake's object as a job reads."""
    log = str(run / "logs/rule.log")
    return SimpleNamespace(
        rule="test",
        params=params,
        log=[log],
        input=[str(path) for path in inputs],
        output=[str(run / "out")],
    )


def log_of(run: Path) -> str:
    return (run / "logs/rule.log").read_text(encoding="utf-8")
