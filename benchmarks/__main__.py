"""``python -m benchmarks``: what is missing, the timings of the rest, their report.

Further words are options of pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks import report
from benchmarks.missing import VARIABLE, folder, missing, sentence
from kerhrm.errors import KerhrmError


def main(options: list[str]) -> int:
    """Time and report; status 1, in one line, if there is nothing to report."""
    try:
        names = missing()
    except KerhrmError as error:
        print(f"benchmarks: error: {error}", file=sys.stderr)
        return 1
    target = folder(names) / "speed.json"
    if names:
        print(f"{sentence(names)}; results: {target.parent}", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "benchmarks", *options]
    command += ["--benchmark-json", str(target)]
    environment = os.environ | {VARIABLE: ",".join(names)}
    subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        env=environment,
        check=False,  # what failed stands in pytest's output, and is missing here
    )
    is_written = target.exists() and target.stat().st_size
    if not is_written:
        print("benchmarks: error: no timing was made; see above", file=sys.stderr)
        return 1
    report.main(target)
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.exit(status)
