"""The command that makes a table of a run again."""

import json
import shlex
from typing import Any, NamedTuple

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import Config
from kerhrm_paper.config.files import read_sources
from kerhrm_paper.config.resolve import resolve_sources
from kerhrm_paper.config.strict_yaml import Tree, read_overrides
from kerhrm_paper.reporting.changes import TableChanges
from kerhrm_paper.reporting.options import NOTED_FILE, RunOptions
from kerhrm_paper.reporting.run import Run


class Command(NamedTuple):
    """A command, and why the checkout refuses it; empty: it does not."""

    text: str
    refused: str = ""


def command_of(options: RunOptions, table: str, data: str, learner: str) -> Command:
    """The command that makes a cell's table as the run has it.

    Values that the checkout's files do not have follow ``--config``: those on which the
    cell depends, or all of the run's, where the checkout refuses fewer.

    Raises KerhrmError if the run's configuration does not know the cell.
    """
    if options.run.competing:
        return Command(contest_command(options.run, table))
    options.config.data(data)
    if learner:
        options.config.learner(data, learner)
    if options.files is None:
        return _command(options.run, table, {})
    in_files = options.files.tree()
    changes = TableChanges(options.config, options.tree, in_files, table)
    needed = changes.of_cell(data, learner)
    command = _command(options.run, table, needed)
    is_known = table in (in_files.get("tables") or {})
    if is_known and not needed:
        return command  # nothing is given that could be refused
    refused = _refused(options, table, command)
    if not refused:
        return command
    every = _command(options.run, table, changes.of_everything())
    if not _refused(options, table, every):
        return every
    return command._replace(refused=refused)


def _command(run: Run, table: str, changes: Tree) -> Command:
    """The command that makes a table with some changes of the checkout's files."""
    preset = run.preset(table)
    folder = run.folder
    words = [f"preset={preset}"]
    parent = str(folder.parent)
    is_elsewhere = parent != "results"
    if folder.name == preset and is_elsewhere:
        words.append(f"results={parent}")
    for name, change in changes.items():
        text = _in_one_line(change)
        words.append(f"{name}={text}")
    command = ["snakemake", "--cores", "2", table]
    command += ["--config", *words]
    return Command(shlex.join(command))


def _refused(options: RunOptions, table: str, command: Command) -> str:
    """Why the checkout refuses a command; empty: it does not."""
    words = shlex.split(command.text)
    start = words.index("--config") + 1
    folder = options.root / "config"
    try:
        overrides = read_overrides(words[start:])
        sources = read_sources(overrides, [], folder)
        config = Config(resolve_sources(sources, folder))
    except KerhrmError as error:
        return str(error)
    if table not in config.tables:
        return f"no table is called '{table}'; give the file that declares it"
    return ""


def _in_one_line(value: Any) -> str:
    """A value as JSON that is YAML, too: each character that is not plain as its code.

    JSON's two codes of a character beyond U+FFFF would be two characters.
    """
    text = json.dumps(value, ensure_ascii=False)
    characters = []
    for character in text:
        code = ord(character)
        is_plain = character.isascii() and character.isprintable()
        if not is_plain:
            character = f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
        characters.append(character)
    return "".join(characters)


def contest_command(run: Run, table: str) -> str:
    """The command that makes a table of a contest.

    FILE stands for the method's, where the contest has not noted it.
    """
    minutes, *_ = run.competing.values()
    preset = run.preset()
    note = run.folder.parent / NOTED_FILE
    file = "FILE"
    if note.is_file():
        text = note.read_text("utf-8", errors="replace")
        file = shlex.quote(text)
    command = f"kerhrm compete {file} --tables {table} --preset {preset}"
    return f"{command} --timeout {minutes:g}"
