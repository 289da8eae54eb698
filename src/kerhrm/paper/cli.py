"""The command ``kerhrm``: check, explain, verify, publish, cost, claims."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kerhrm
from kerhrm.errors import KerhrmError

REFERENCE = Path("results/reference")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that the user can correct is one line and status 1."""
    top = argparse.ArgumentParser(prog="kerhrm", description=__doc__)
    top.add_argument(
        "--version", action="version", version=f"kerhrm {kerhrm.__version__}"
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    where: dict[str, Any] = {
        "type": Path,
        "default": REFERENCE,
        "help": "default: %(default)s",
    }

    def add(name: str, function: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(command=function)
        return command

    one = add("explain", _explain, "what made one cell of a table, as JSON")
    for key in ("table", "setting", "method", "metric"):
        one.add_argument(key)
    one.add_argument("--run", **where)
    one.add_argument("--selection", help="criterion; default: the method's own")
    one = add(
        "verify", _verify, "compare a run with the published tables of its preset"
    )
    one.add_argument("run", type=Path)
    one.add_argument("--reference", **where)
    one.add_argument("--all", action="store_true", help="list every departure")
    one.add_argument("--csv", type=Path, help="write all cells side by side")
    one = add("publish", _publish, "copy what a run shows to results/reference")
    one.add_argument("run", type=Path)
    one.add_argument("tables", nargs="*", help="only these")
    one.add_argument("--reference", **where)
    one = add("cost", _cost, "predict the time of targets before they run")
    one.add_argument("targets", nargs="*", default=["all"])
    one.add_argument("--cores", type=int, default=2)
    one.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE")
    one = add("check", _check, "whether KerHRM helps on a CSV file")
    one.add_argument("csv", type=Path)
    one.add_argument("--target", required=True, metavar="COLUMN")
    one.add_argument("--auxiliary", nargs="+", default=[], metavar="COLUMN")
    one.add_argument(
        "--group", metavar="COLUMN", help="is compared, and does not predict"
    )
    one.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="is not used"
    )
    one.add_argument(
        "--dates", nargs="+", default=[], metavar="COLUMN", help="holds dates"
    )
    one.add_argument("--sep", help="default: found out")
    one.add_argument("--decimal", default=".")
    one.add_argument("--encoding", default="utf-8")
    one.add_argument(
        "--environments", type=int, help="default: 1 to 5, by held-out likelihood"
    )
    one.add_argument("--html", type=Path, help="write a page with a picture")
    one = add("claims", _claims, "how the paper's claims fared in a run")
    one.add_argument("run", type=Path, nargs="?", default=REFERENCE)
    options = top.parse_args(arguments)
    try:
        status = int(options.command(options) or 0)
        sys.stdout.flush()
        return status
    except (
        BrokenPipeError
    ):  # the reader, as head, has seen enough; nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KerhrmError as error:
        print(f"kerhrm: error: {error}", file=sys.stderr)
        return 1


def _explain(options: argparse.Namespace) -> None:
    from kerhrm.paper.reporting.explain import explain
    from kerhrm.paper.reporting.run import Run

    cell = (options.table, options.setting, options.method, options.metric)
    found = explain(Run(options.run), *cell, selection=options.selection)
    print(json.dumps(found, indent=1, default=str))


def _verify(options: argparse.Namespace) -> int:
    from kerhrm.paper.reporting.run import Run
    from kerhrm.paper.reporting.verify import check_output, save, verify

    run = Run(options.run)
    if options.csv:
        check_output(options.csv, run, options.reference)
    found = verify(run, options.reference)
    if options.csv:
        save(found, options.csv)
    departures = found.departures
    print(found)
    if len(departures):
        shown = departures if options.all else departures.head(20)
        print(shown.to_string(index=False, float_format="%.4g"))
    return int(len(departures) > 0)


def _publish(options: argparse.Namespace) -> None:
    from kerhrm.paper.reporting.publish import publish
    from kerhrm.paper.reporting.run import Run

    print(publish(Run(options.run), options.reference, options.tables))


def _cost(options: argparse.Namespace) -> None:
    from kerhrm.paper.runs.costs import predict

    print(predict(options.targets, cores=options.cores, config=options.config))


def _check(options: argparse.Namespace) -> None:
    from kerhrm.estimators.check import check, read_table
    from kerhrm.paper.runs.arrays import write_text

    how = {
        name: getattr(options, name) for name in ("sep", "decimal", "encoding", "dates")
    }
    columns = {name: getattr(options, name) for name in ("auxiliary", "group", "drop")}
    table = read_table(options.csv, **how)
    found = check(table, options.target, **columns, n_environments=options.environments)
    print(found.report)
    if options.html:
        from kerhrm.plots.page import page

        write_text(options.html, page(found, options.csv.name))
        print(f"\nopen {options.html}")


def _claims(options: argparse.Namespace) -> None:
    from kerhrm.paper.reporting.run import Run

    columns = ["claim", "status", "effect", "ci_low", "ci_high", "statement"]
    print(
        Run(options.run)
        .claims()[columns]
        .to_string(index=False, na_rep="", float_format="%.3g")
    )
