"""Scores and tables need no PyTorch, whose import takes longer than they do."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "evaluation.scores",
        "evaluation.bands",
        "evaluation.endpoints",
        "reporting.tables",
        "reporting.verify",
    ],
)
def test_pytorch_is_not_imported(module: str) -> None:
    code = f"import sys, kerhrm_paper.{module}; print('torch' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
