"""The command ``kerhrm``: check, explain, options, verify, publish, cost, claims."""

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import kerhrm
from kerhrm.errors import KerhrmError
from kerhrm.extras import needs

REFERENCE = Path("results/reference")


class Once(argparse.Action):
    """Keep the value of an option, which may be given only once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Refuse a second value; the last one would count."""
        given = vars(namespace).setdefault("given", set())
        if option_string and self.dest in given:
            parser.error(f"{option_string} is given twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser that says which option may have taken the file."""

    def error(self, message: str) -> NoReturn:
        """End with the error; in one line where the file is missing."""
        if "required: csv" in message:
            text = "no file is left: an option of several columns takes all words after"
            text += f" it; write {self.prog} FILE before the options"
            self.exit(2, f"kerhrm: error: {text}\n")
        if message.startswith("argument --") and message.endswith("one argument"):
            option = message.split()[1].rstrip(":").partition("/")[0]
            message += f"; write one that begins with - as {option}=-name"
        super().error(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that the user can correct is one line and status 1."""
    _keep_names_readable()
    options = _parser().parse_args(arguments)
    try:
        status = int(options.command(options) or 0)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, as head, has seen enough
        _leave_stdout()
        return 0
    except KerhrmError as error:
        print(f"kerhrm: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        _leave_stdout()
        text = f"the output cannot be written ({error.strerror or error})"
        print(f"kerhrm: error: {text}; free disk space", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _keep_names_readable() -> None:
    """Write what a terminal's encoding lacks as \\xe9, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _name(text: str) -> str:
    """A name of a column as UTF-8, whatever the terminal's encoding is."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def _printable(text: str) -> str:
    """Text whose control characters, as those of a terminal, are written out."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _leave_stdout() -> None:
    """Let nothing be flushed at the end, which would fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    """Parser of all commands; each sets ``command`` to its function."""
    top = Parser(prog="kerhrm", description=__doc__)
    top.add_argument(
        "--version", action="version", version=f"kerhrm {kerhrm.__version__}"
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    where: dict[str, Any] = {
        "type": Path,
        "default": REFERENCE,
        "help": "default: %(default)s",
    }

    more_files: dict[str, Any] = {
        "type": Path,
        "nargs": "+",
        "action": "extend",
        "default": [],
        "metavar": "FILE",
        "help": "further configuration, as Snakemake takes it",
    }

    def add(name: str, function: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(command=function)
        command.register("action", None, Once)
        return command

    explain = add("explain", _explain, "what made one cell of a table, as JSON")
    for key in ("table", "setting", "method", "metric"):
        explain.add_argument(key)
    explain.add_argument("--run", **where)
    explain.add_argument("--selection", help="criterion; default: the method's own")
    text = "compare a run with the published tables of its preset"
    verify = add("verify", _verify, text)
    verify.add_argument("run", type=Path)
    verify.add_argument("--reference", **where)
    verify.add_argument("--all", action="store_true", help="list every departure")
    verify.add_argument("--csv", type=Path, help="write all cells side by side")
    publish = add("publish", _publish, "copy what a run shows to results/reference")
    publish.add_argument("run", type=Path)
    publish.add_argument("tables", nargs="*", help="only these")
    publish.add_argument("--reference", **where)
    cost = add("cost", _cost, "predict the time of targets before they run")
    cost.add_argument("targets", nargs="*", default=["all"])
    cost.add_argument("--cores", type=int, default=2)
    cost.add_argument(
        "--config", nargs="*", action="extend", default=[], metavar="KEY=VALUE"
    )
    cost.add_argument("--configfile", **more_files)
    options = add("options", _options, "what a name can say of a learner or of data")
    options.add_argument("name", help="as kerhrm, or classification")
    options.add_argument("--preset", default="paper", help="default: %(default)s")
    options.add_argument("--configfile", **more_files)
    _add_check_options(add("check", _check, "whether KerHRM helps on a CSV file"))
    claims = add("claims", _claims, "how the paper's claims fared in a run")
    claims.add_argument("run", type=Path, nargs="?", default=REFERENCE)
    return top


def _add_check_options(check: argparse.ArgumentParser) -> None:
    columns: dict[str, Any] = {
        "nargs": "+",
        "action": "extend",
        "default": [],
        "metavar": "COLUMN",
        "type": _name,
    }
    check.add_argument("csv", type=Path, help="a file, or a pipe")
    check.add_argument("--target", required=True, metavar="COLUMN", type=_name)
    check.add_argument(
        "--auxiliary", **columns, help="environments are functions of it"
    )
    text = "is compared, and does not predict"
    check.add_argument("--group", metavar="COLUMN", type=_name, help=text)
    check.add_argument("--drop", **columns, help="is not used")
    check.add_argument("--dates", **columns, help="holds dates")
    check.add_argument(
        "--date-order", help="dmy, mdy or ymd, where dates do not show it"
    )
    check.add_argument("--sep", help="default: found out")
    check.add_argument("--decimal", help="default: found out")
    check.add_argument("--encoding", help="default: found out, or UTF-8")
    check.add_argument(
        "--environments", type=int, help="default: 1 to 5, by held-out likelihood"
    )
    check.add_argument("--html", type=Path, help="write a page with a picture")


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


def _options(options: argparse.Namespace) -> None:
    from kerhrm.paper.config import load_config
    from kerhrm.paper.reporting.option_list import table

    config = load_config({"preset": options.preset}, options.configfile)
    print(table(config, options.name))


def _cost(options: argparse.Namespace) -> None:
    needs("workflow", "snakemake")
    from kerhrm.paper.runs.costs import predict

    print(
        predict(
            options.targets,
            cores=options.cores,
            config=options.config,
            configfiles=options.configfile,
        )
    )


def _check(options: argparse.Namespace) -> None:
    least = 2 if options.auxiliary else 1
    if options.environments is not None and options.environments < least:
        problem = f"--environments must be {least} or more; got {options.environments}"
        raise KerhrmError(problem, "leave --environments out")
    if options.html is not None:
        needs("plots", "matplotlib")
        from kerhrm.plots.page import check_output

        check_output(options.html, options.csv)
    from kerhrm.estimators.check import check, read_table

    keys = ("sep", "decimal", "encoding", "dates", "date_order")
    table = read_table(options.csv, **{key: getattr(options, key) for key in keys})
    columns = {key: getattr(options, key) for key in ("auxiliary", "group", "drop")}
    found = check(table, options.target, **columns, n_environments=options.environments)
    shown = _printable(str(found.report))
    if options.html is not None:
        from kerhrm.paper.runs.arrays import write_text
        from kerhrm.plots.page import page

        title = os.fsencode(options.csv.name).decode("utf-8", "replace")
        write_text(options.html, page(found, title))
        shown += f"\n\nopen {options.html}"
    print(shown)


def _claims(options: argparse.Namespace) -> None:
    from kerhrm.paper.reporting.run import Run

    columns = ["claim", "status", "effect", "ci_low", "ci_high", "statement"]
    print(
        Run(options.run)
        .claims()[columns]
        .to_string(index=False, na_rep="", float_format="%.3g")
    )
