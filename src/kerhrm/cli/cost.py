"""``kerhrm cost``: what targets will take, before they run."""

import argparse
import subprocess
import sys
from pathlib import Path

from kerhrm.costs.predict import PREDICTED
from kerhrm.errors import KerhrmError

HELP = "time, memory and disk that targets of the workflow will take; run it in a checkout"


def declare(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("targets", nargs="*", default=["all"], metavar="TARGET")
    parser.add_argument("--cores", type=int, default=2, help="how many to run on (2)")
    parser.add_argument("--anew", action="store_true", help="as if nothing had been made yet")
    parser.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE", help="Snakemake's")
    parser.add_argument("--against", type=Path, metavar="RUN", help="compare a run that has ended")
    parser.add_argument("--reference", type=Path, default=Path("results/reference"),
                        help="whose costs --against compares with")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Print a line for each target, or the comparison with a finished run."""
    if options.against:
        from kerhrm.costs.finished import comparison
        from kerhrm.costs.reference import stored

        print(comparison(options.against, stored(options.reference), options.cores))
        return
    for target in options.targets:
        print(f"{target}: {_predicted(target, options)}")


def _predicted(target: str, options: argparse.Namespace) -> str:
    """What the workflow's dry run says."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--nolock", target]
    command += ["--cores", str(options.cores), *(["--forceall"] if options.anew else [])]
    command += ["--config", *options.config] if options.config else []
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.splitlines()
    if done.returncode:
        raise KerhrmError(f"no dry run of {target}: {' '.join(lines[-1:])}", "correct that")
    told = [line.removeprefix(PREDICTED) for line in lines if line.startswith(PREDICTED)]
    return told[-1] if told else "nothing to be done"
