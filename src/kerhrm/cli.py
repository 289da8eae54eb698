"""The command ``kerhrm``: check; in a checkout of the repository also explain,
options, verify, publish, cost, claims and compete."""

import argparse
import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import kerhrm
from kerhrm.errors import KerhrmError, shown
from kerhrm.extras import check_backend, needs
from kerhrm.progress import shown_if

if TYPE_CHECKING:
    from kerhrm.check import Checked
    from kerhrm.description.result import Description

#: adds a command: its name, function and description
Adder = Callable[[str, Callable[[argparse.Namespace], int | None], str], "Parser"]
#: module with the commands of the reproduction, which a wheel does not have
PAPER = "kerhrm_paper.commands"
#: of ``kerhrm --help``
DESCRIPTION = (
    "KerHRM on a table of your own: kerhrm check.  All other commands are of the "
    "paper's tables, and need a checkout of the repository."
)
EPILOG = "kerhrm COMMAND --help lists the options of a command."
#: what stands above a report
TEST_ROWS = "errors on rows that were held out (environments by membership)"
#: those commands, with what each does
OF_PAPER = {
    "explain": "print what made one cell of a table, as JSON",
    "verify": "compare a run with the published tables of its preset",
    "publish": "copy tables, scores and figures of a run to results/reference",
    "cost": "predict how long targets take",
    "options": "list the options that a learner's or a data set's name can have",
    "claims": "print which of the paper's claims a run supports",
    "compete": "rank a method of your own among the published ones",
}


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
            choices = self._option_string_actions[option].choices
            if choices is None:
                message += f"; write one that begins with - as {option}=-name"
            else:
                message += f"; write {option} {' or '.join(choices)}"
        if message.startswith("unrecognized arguments: ") and " -" not in message:
            message += "; quote a name with blanks; write names before the options"
        super().error(message)


class PrintCompletion(argparse.Action):
    """Print what lets a shell complete the commands and their options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> NoReturn:
        """Print the script for a shell, and end; MissingPackageError without shtab."""
        needs("completion", "shtab")
        import shtab

        _complete_files(parser, shtab.FILE)
        print(shtab.complete(parser, values))
        parser.exit()


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    """Mark the arguments of a parser and its commands that are paths."""
    for action in parser._actions:
        if action.type is Path:
            action.complete = files  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that the user can correct is one line and status 1."""
    _keep_names_readable()
    try:
        options = _parser().parse_args(arguments)
        with _ended_by_signals():
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


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as an error does: folders are put back,
    files that are not complete are removed, and what it has started ends."""

    def end(number: int, _: Any) -> NoReturn:
        sys.exit(128 + number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            # nohup ignores the second one, and a caller may handle them
            if number and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    written = []
    for character in text:
        if character.isprintable() or character == "\n":
            written.append(character)
        else:
            written.append(ascii(character)[1:-1])
    return "".join(written)


def _leave_stdout() -> None:
    """Let nothing be flushed at the end, which would fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    """Parser of all commands; each sets ``command`` to its function."""
    top = Parser(prog="kerhrm", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument(
        "--version", action="version", version=f"kerhrm {kerhrm.__version__}"
    )
    top.add_argument(
        "--print-completion",
        choices=("bash", "zsh"),
        action=PrintCompletion,
        help="print a script that lets the shell complete commands and options",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(
        name: str, function: Callable[[argparse.Namespace], int | None], text: str
    ) -> Parser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(command=function)
        command.register("action", None, Once)
        return command

    _add_check_options(
        add("check", _check, "find out whether KerHRM helps on a CSV file")
    )
    if find_spec(PAPER.partition(".")[0]):
        import_module(PAPER).add_commands(add)
        return top
    for name, text in OF_PAPER.items():
        command = add(name, _needs_checkout, f"{text} (in a checkout)")
        command.add_argument("words", nargs=argparse.REMAINDER)
    return top


def _needs_checkout(options: argparse.Namespace) -> NoReturn:
    """Refuse a command of the reproduction where only the library is installed."""
    problem = "this command belongs to the paper's workflow, which is not installed"
    hint = "git clone the repository, run make env in it, and use its .venv/bin/kerhrm"
    raise KerhrmError(problem, hint)


def _add_check_options(check: argparse.ArgumentParser) -> None:
    column: dict[str, Any] = {"metavar": "COLUMN", "type": _name}
    columns: dict[str, Any] = {
        **column,
        "nargs": "+",
        "action": "extend",
        "default": [],
    }
    check.add_argument("csv", type=Path, help="CSV file, or a pipe")
    check.add_argument("--target", **column, required=True, help="column to predict")
    check.add_argument(
        "--auxiliary",
        **columns,
        help="columns, such as a time, that environments are functions of; they do "
        "not predict",
    )
    check.add_argument(
        "--group",
        **column,
        help="column whose groups are compared; it does not predict",
    )
    check.add_argument("--drop", **columns, help="columns to leave out")
    check.add_argument("--dates", **columns, help="columns that hold dates")
    check.add_argument(
        "--date-order", help="dmy, mdy or ymd, where the dates do not show it"
    )
    check.add_argument("--sep", help="what separates cells; default: found out")
    check.add_argument("--decimal", help="decimal point or comma; default: found out")
    check.add_argument("--encoding", help="default: found out, or UTF-8")
    check.add_argument(
        "--environments",
        type=int,
        help="number of environments at most, as empty ones are left out; default: 2 "
        "of two labels, and with --auxiliary, else 1 to 5, by held-out likelihood",
    )
    check.add_argument(
        "--task", help="classification or regression; default: by the target's values"
    )
    check.add_argument(
        "--seed", default="0", help="draws the test rows and the fit; default: 0"
    )
    check.add_argument(
        "--html", type=Path, help="page to write, with pictures; it ends in .html"
    )
    check.add_argument(
        "--memberships",
        type=Path,
        metavar="FILE",
        help="table to write: the environment of each row; it ends in .csv",
    )
    check.add_argument(
        "--quiet", action="store_true", help="do not show how far the check is"
    )


def _seed(text: str) -> int:
    """A seed as it is given in a shell.

    Raises KerhrmError if it is none.
    """
    if text.isascii() and text.isdecimal() and int(text) < 2**32:
        return int(text)
    problem = f"--seed must be a whole number from 0 to 2^32 - 1; got {shown(text)}"
    raise KerhrmError(problem, "use --seed 0, or leave it out")


def _check(options: argparse.Namespace) -> None:
    least = 2 if options.auxiliary else 1
    if options.environments is not None and options.environments < least:
        problem = f"--environments must be {least} or more; got {options.environments}"
        raise KerhrmError(problem, "leave --environments out")
    seed = _seed(options.seed)
    from kerhrm.check.outputs import MEMBERSHIPS, PAGE, check_output

    if options.html is not None:
        needs("plots", "matplotlib")
        check_backend()
        check_output(PAGE, options.html, options.csv)
    if options.memberships is not None:
        check_output(MEMBERSHIPS, options.memberships, options.csv)
    # threads that wait for each other do not keep a core from other processes
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from kerhrm.check import check, read_table

    table = read_table(
        options.csv,
        sep=options.sep,
        decimal=options.decimal,
        encoding=options.encoding,
        dates=options.dates,
        date_order=options.date_order,
    )
    with shown_if(int(not options.quiet)):
        checked = check(
            table,
            options.target,
            auxiliary=options.auxiliary,
            group=options.group,
            drop=options.drop,
            n_environments=options.environments,
            task=options.task,
            random_state=seed,
        )
        description = checked.model.describe(random_state=seed)
    verdict, end, found = str(description).partition("\n")
    doubts = "" if checked.doubts is None else f"\n{checked.doubts}"
    text = f"{verdict}{doubts}{end}{found}\n\n{TEST_ROWS}\n{checked.report}"
    written: list[str] = []
    try:  # a full disk takes the files, not the report of a long fit
        _write_outputs(options, checked, description, written)
    finally:
        print(_printable("\n\n".join([text, *written])))


def _write_outputs(
    options: argparse.Namespace,
    checked: "Checked",
    description: "Description",
    written: list[str],
) -> None:
    """Write the files that the options name, and add a line on each to ``written``."""
    from kerhrm.files import write_text

    if options.memberships is not None:
        from kerhrm.check.outputs import memberships

        table = memberships(checked, description)
        if table is None:
            reason = "there is no split of the rows"
            written.append(f"{options.memberships} is not written: {reason}")
        else:
            write_text(options.memberships, table.to_csv())
            written.append(f"memberships of the rows: {options.memberships}")
    if options.html is not None:
        from kerhrm.plots.page import page

        title = os.fsencode(options.csv.name).decode("utf-8", "replace")
        write_text(options.html, page(checked, title, description))
        written.append(f"open {options.html}")
