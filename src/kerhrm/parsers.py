"""Parsers of commands, whose errors say what to write, and which a shell completes."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from kerhrm.errors import escaped
from kerhrm.extras import needs
from kerhrm.files import quoted


def file_path(text: str) -> Path:
    """A path of the command line: ``~`` is the home folder, which a shell leaves as it
    is behind ``--option=``.

    Where there is no such home folder the name stays as it is.
    """
    expanded = os.path.expanduser(text)
    return Path(expanded)


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
    """A parser whose errors say what to write.

    Attributes
    ----------
    words : list of str
        Arguments that are parsed, or were the last time.
    """

    words: Sequence[str] = ()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse as argparse does."""
        self.words = sys.argv[1:] if args is None else [*args]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with the error; in one line where the file is missing."""
        if "required: csv" in message:
            self.exit(2, f"kerhrm: error: {escaped(self._without_file())}\n")
        if message.startswith("argument --") and message.endswith("one argument"):
            option = message.split()[1].rstrip(":").partition("/")[0]
            choices = self._option_string_actions[option].choices
            if choices is None:
                message += f"; write one that begins with - as {option}=-name"
            else:
                message += f"; write {option} {' or '.join(choices)}"
        start = "unrecognized arguments: "
        if message.startswith(start):
            unknown = message.removeprefix(start)
            files = [word for word in unknown.split() if Path(word).is_file()]
            if files:
                message = f"{files[0]} is one file too many; give one at a time"
            elif " -" not in message:
                message += "; quote a name with blanks; write names before the options"
        super().error(message)

    def _without_file(self) -> str:
        """Why no word is the file: an option has taken it, it looks like an option, or
        it is missing."""
        for word in self.words:
            if word.startswith("-") and Path(word).is_file():
                return f"{word} looks like an option; write {self.prog} {quoted(word)}"
        name = None
        for word in self.words:
            if word.startswith("-"):
                name, *_ = word.partition("=")
                continue
            action = self._option_string_actions.get(name or "")
            if action is None or not Path(word).is_file():
                continue
            write = f"write {self.prog} {quoted(word)} before the options"
            if action.nargs == "+":
                text = f"{name} takes all words after it, the file {word} among them"
                return f"{text}; {write}"
            if action.type is not file_path:  # a column, as --target takes it
                return f"{name} takes the word after it, the file {word}; {write}"
        return f"no file is named; write {self.prog} FILE before the options"


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
        if action.type is file_path:
            action.complete = files  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
