"""Parsers of commands, whose errors say what to write, and which a shell completes."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from kerhrm.extras import needs


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
