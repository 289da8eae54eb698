"""The words of a command of Snakemake's, and what they ask for."""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: options that name rules or files of the run
NAMING = ("forcerun", "until", "omit_from", "prioritize")
#: options whose rules and files the plan of the targets has to have
PLANNED = (*NAMING, "batch")
#: options that decide which plan there is
PLANNING = (
    "allowed_rules",
    "config",
    "configfile",
    "directory",
    "profile",
    "workflow_profile",
)


@dataclass(frozen=True)
class Given:
    """An option that the command gives, once.

    Attributes
    ----------
    action : Action
        Of Snakemake's parser.
    word : str
        What it is given by, as ``-R``.
    values : list of str
        What follows it.
    """

    action: argparse.Action
    word: str
    values: list[str]

    @property
    def name(self) -> str:
        """The option's name in Python."""
        return self.action.dest


class CommandLine:
    """The words of a command of Snakemake's.

    Parameters
    ----------
    words : sequence of str
        Without the program.
    parser : ArgumentParser
        Snakemake's own, a fresh one.

    Attributes
    ----------
    targets : list of str
        Rules and files that are asked for.
    options : list of Given
        Every option as often as it is given.
    """

    def __init__(self, words: Sequence[str], parser: argparse.ArgumentParser) -> None:
        self.options: list[Given] = []
        for action in parser._actions:
            action.__class__ = self._recording(type(action))
        arguments = parser.parse_args(list(words))
        self.targets: list[str] = list(arguments.targets)

    def _recording(self, kind: type[argparse.Action]) -> type[argparse.Action]:
        """An action that also notes what it is called with."""
        options = self.options

        class Recording(kind):  # type: ignore[misc, valid-type]
            def __call__(
                self,
                parser: argparse.ArgumentParser,
                namespace: argparse.Namespace,
                values: Any,
                option_string: str | None = None,
            ) -> None:
                if option_string is not None:
                    given = Given(self, option_string, _texts(values))
                    options.append(given)
                super().__call__(parser, namespace, values, option_string)

        return Recording

    def _named(self) -> Iterator[str]:
        """Rules and files that are named, as targets or by an option."""
        yield from self.targets
        for option in self.options:
            if option.name in NAMING:
                yield from option.values

    def files(self, run: str) -> list[Path]:
        """Files of the run that are named, as targets or by an option, from its
        folder."""
        folder = os.path.abspath(run)
        files = []
        for name in self._named():
            is_file = os.sep in name
            path = Path(os.path.abspath(name))
            if is_file and path.is_relative_to(folder):
                file = path.relative_to(folder)
                files.append(file)
        return files

    def planned(self) -> list[tuple[str, str]]:
        """Options, with a rule or file that each expects in the plan."""
        expected = []
        for option in self.options:
            if option.name not in PLANNED:
                continue
            for value in option.values:
                name = value
                if option.name == "batch":
                    name, _, _ = value.partition("=")
                expected.append((option.word, name))
        return expected

    def planning(self) -> list[str]:
        """The words that decide which plan there is, targets first."""
        words = list(self.targets)
        for option in self.options:
            if option.name in PLANNING:
                words += [option.word, *option.values]
        return words

    def asks_for(self, rule: str, folder: str) -> bool:
        """Whether a rule or a file in its folder is among the targets."""
        whole = os.path.abspath(folder)
        for name in self._named():
            path = Path(os.path.abspath(name))
            if name == rule or path.is_relative_to(whole):
                return True
        return False


def _texts(values: Any) -> list[str]:
    """Values of an option as they are typed; of --batch RULE=I/N, the rule."""
    if not isinstance(values, list):
        values = [values]
    texts = []
    for value in values:
        name = getattr(value, "rulename", value)
        texts.append(str(name))
    return texts
