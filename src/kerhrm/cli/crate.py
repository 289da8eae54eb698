"""``kerhrm crate``: RO-Crate metadata of a run."""

import argparse
from pathlib import Path

HELP = "write the RO-Crate metadata of a run into its folder; run it in a checkout"


def declare(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="results/paper, ...")


def run(options: argparse.Namespace) -> None:
    """Write it and tell how many files it describes."""
    from kerhrm.reporting.crate import FILE, write_crate

    n = write_crate(options.folder, Path())
    print(f"{options.folder / FILE} describes {n} files")
