"""The command ``kerhrm``; each of its subcommands is a module here that this list names."""

import argparse
import sys
from collections.abc import Sequence

from kerhrm.cli import cost, crate, explain, freeze, verify
from kerhrm.errors import KerhrmError

#: each has ``HELP``, ``declare(parser)`` and ``run(options)``
COMMANDS = {
    "cost": cost,
    "explain": explain,
    "verify": verify,
    "crate": crate,
    "freeze": freeze,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a subcommand; a :class:`KerhrmError` is told in one line, with exit status 1."""
    parser = argparse.ArgumentParser(prog="kerhrm")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.HELP, description=command.HELP)
        command.declare(subparser)
        subparser.set_defaults(run=command.run)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except KerhrmError as error:
        sys.exit(f"error: {error}")
