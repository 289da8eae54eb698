"""``kerhrm freeze``: fix the headline before its fresh seeds are run."""

import argparse
from pathlib import Path

from kerhrm.errors import KerhrmError

HELP = "fix configuration and code of the tables before fresh seeds are run; run it in a checkout"


def declare(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--check", action="store_true", help="only tell whether they are as frozen")
    parser.add_argument("--run", type=Path, default=Path("results/paper"), dest="development",
                        metavar="RUN", help="on the development seeds (results/paper)")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Freeze and tell which rows have more seeds, or compare the checkout with what is frozen."""
    from kerhrm.config.fresh import ENLARGED, FROZEN, PRESET
    from kerhrm.reporting.freeze import freeze, stored

    checkout = Path()
    if not options.check:
        found = freeze(options.development, checkout)
        print(f"{FROZEN} and {PRESET} are written; configuration {found.configuration}")
        for experiment, settings in found.further.items():
            for setting, methods in settings.items():
                print(f"{ENLARGED} seeds: {experiment}, {setting}: {', '.join(methods)}")
        return
    frozen = stored(checkout)
    if frozen is None:
        raise KerhrmError("nothing is frozen", "run `kerhrm freeze`")
    if changed := frozen.departures(checkout):
        raise KerhrmError(
            f"not as frozen: {', '.join(changed)}", "docs/freeze.md says what they are"
        )
    print(f"as frozen: configuration {frozen.configuration}")
