"""The command ``kerhrm``: check; in a checkout of the repository also explain,
options, verify, publish, cost, claims and compete."""

import argparse
import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import kerhrm
from kerhrm import check_command
from kerhrm.errors import KerhrmError, escaped, shortened
from kerhrm.files import cure
from kerhrm.parsers import Once, Parser, PrintCompletion

#: adds a command: its name, function and description
Adder = Callable[[str, Callable[[argparse.Namespace], int | None], str], Parser]
#: module with the commands of the reproduction, which a wheel does not have
PAPER = "kerhrm_paper.commands"
#: of ``kerhrm --help``
DESCRIPTION = (
    "KerHRM on a table of your own: kerhrm check.  All other commands are of the "
    "paper's tables, and need a checkout of the repository."
)
EPILOG = "kerhrm COMMAND --help lists the options of a command."
#: those commands of the reproduction, with what each does
OF_PAPER = {
    "explain": "print what made one cell of a table, as JSON",
    "verify": "compare a run with the published tables of its preset",
    "publish": "copy tables, scores and figures of a run to results/reference",
    "cost": "predict how long targets take",
    "options": "list the options that a learner's or a data set's name can have",
    "claims": "print which of the paper's claims a run supports",
    "compete": "rank a method of your own among the published ones",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that the user can correct is one line and status 1."""
    _keep_names_readable()
    output = _Output(sys.stdout)
    shown: Any = None if sys.stdout is None else output
    try:
        with contextlib.redirect_stdout(shown):
            options = _parser().parse_args(arguments)
            with _ended_by_signals():
                status = int(options.command(options) or 0)
            if sys.stdout is not None:
                sys.stdout.flush()
        return status
    except KerhrmError as error:
        _print_error(str(error))
        return 1
    except OSError as error:
        text = _of_system(error)
        if error is output.error:
            _leave_stdout()
            if isinstance(error, BrokenPipeError):  # the reader has seen enough
                return 0
            text = f"the output cannot be written ({error.strerror or error})"
            text += "; free disk space"
        _print_error(text)
        return 1
    except KeyboardInterrupt:
        return 130


def _print_error(text: str) -> None:
    """Print an error on one line, whatever the names in it hold."""
    print(f"kerhrm: error: {escaped(text)}", file=sys.stderr)


class _Output:
    """Standard output that keeps its error, to tell it from those of files."""

    def __init__(self, stream: Any) -> None:
        self.error: OSError | None = None
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._noting():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with self._noting():
            self._stream.flush()

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = error
            raise


def _of_system(error: OSError) -> str:
    """What the system refuses, where, and a cure, in one line."""
    reason = shortened(error.strerror or str(error))
    if error.filename is not None:
        return f"{error.filename}: {reason}; {cure(error)}"
    if error.errno == errno.ENOENT:  # of os.getcwd
        problem = f"the current folder does not exist ({reason})"
        return f"{problem}; cd to one that does"
    return f"{reason}; {cure(error)}"


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

    text = "find out whether KerHRM helps on a CSV file"
    check_command.add_options(add("check", check_command.run, text))
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
