"""``kerhrm verify``: a run against the committed one on the same seeds."""

import argparse
from pathlib import Path

HELP = "compare every cell of a run with the committed one on the same seeds; run it in a checkout"


def declare(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/paper"),
                        metavar="RUN", help="that has ended (results/paper)")  # fmt: skip
    parser.add_argument("--reference", type=Path, default=Path("results/reference"),
                        help="what was committed (results/reference)")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="name every cell that departs")
    parser.add_argument("--csv", type=Path, metavar="FILE",
                        help="write both runs' means side by side")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Tell how many cells agree, or which depart."""
    from kerhrm.reporting.verify import verify_run

    n, other = verify_run(
        options.folder, options.reference, everything=options.all, csv=options.csv
    )
    print(f"{n} cells agree with {other}")
