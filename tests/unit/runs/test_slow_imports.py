"""What jobs of an iteration and of training import: not what they do without.

Each of a run's hundreds of jobs is a process of its own, which would wait a second for
pandas, SciPy and scikit-learn.
"""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["training", "iterations"])
def test_no_library_that_few_jobs_need(module: str) -> None:
    code = f"import sys, kerhrm_paper.runs.job, kerhrm_paper.runs.{module}\n"
    code += "print(sorted({'pandas', 'scipy', 'sklearn'} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
