"""Files of cells that are asked for by name: what is no cell is refused at once."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import LearnerCell
from kerhrm_paper.config.command_line import CommandLine
from kerhrm_paper.config.config import Config
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.layout import reserved

#: folders beside those of the learners on some data
OF_DATA = ("data", "features")
#: files of a learner on some data
OF_LEARNER = ("predictions.npz", "scores.csv")
ITERATIONS, PRETEST = "iterations", "heterogeneity.npz"
WILDCARD = re.compile(r"\{(\w+)[^}]*\}")
STEPS = ("environments.npz", "directions.npz")


def check_target(config: Config, root: Path, parts: Sequence[str]) -> None:
    """Refuse a file, by the parts of its path from the run's folder, of no cell.

    Raises KerhrmError, in one line with the nearest name or the right spelling.
    """
    if len(parts) < 2 or reserved(root).fullmatch(parts[0]):
        return
    data, learner, *rest = parts
    config.data(data)
    if learner in OF_DATA:
        return
    where, cell = f"{data}/{learner}", config.learner(data, learner)
    if not rest or rest[0] in OF_LEARNER:
        return
    if rest[0] == ITERATIONS:
        _check_iteration(where, cell, rest)
        return
    pretested = cell.checkpointed and config.data(data).task == "regression"
    if rest[0] == PRETEST and pretested:
        return
    files = [*OF_LEARNER, *([ITERATIONS] * cell.checkpointed), *([PRETEST] * pretested)]
    raise KerhrmError(f"{where} has no {rest[0]}", nearest(rest[0], files))


def _check_iteration(where: str, cell: LearnerCell, rest: Sequence[str]) -> None:
    """Refuse an iteration that a learner does not have, or that is no job."""
    if not cell.checkpointed:
        problem = f"{where}: its iterations are no jobs"
        hint = "they are in predictions.npz, if it has some"
        raise KerhrmError(problem, hint)
    last = getattr(cell.options, "n_iterations", 0)
    known = [str(t) for t in range(1, last + 1)]
    if len(rest) > 1 and rest[1] not in known:
        problem = f"{where} has no iteration {rest[1]}"
        raise KerhrmError(problem, f"it has {', '.join(known)}")
    if len(rest) > 2 and rest[2] not in STEPS:
        raise KerhrmError(f"{where}: no {rest[2]}", nearest(rest[2], STEPS))


def check_made(
    run: str, parts: Sequence[str], rules: Iterable[Any], tables: Iterable[str]
) -> None:
    """Refuse a file that no rule makes.

    Parameters
    ----------
    run : str
        Folder of the run, as the rules write it.
    parts : sequence of str
        Path of the file from there.
    rules : iterable
        Snakemake's.
    tables : iterable of str
        Values of their wildcard ``table``.

    Raises KerhrmError, in one line with the nearest file.
    """
    path = str(Path(run, *parts))
    if any(rule.is_producer(path) for rule in rules):
        return
    of_cell = dict(zip(("data", "learner", "", "t"), parts, strict=False))
    made = [str(file) for rule in rules for file in rule.output]
    known = {
        _filled(file, {**of_cell, "table": table}) for table in tables for file in made
    }
    files = sorted(file for file in known if "{" not in file)
    raise KerhrmError(f"no rule makes {path}", nearest(path, files))


def _filled(file: str, values: Mapping[str, str]) -> str:
    """A file's pattern with the wildcards that have a value replaced."""
    return WILDCARD.sub(lambda match: values.get(match[1], match[0]), file)


def check_planned(
    command: CommandLine, targets: Collection[str], folder: str, snakefile: str
) -> None:
    """Refuse an option that names a rule or file which the asked targets do not need.

    Snakemake itself would do nothing, or ignore the option, without a word.  It is
    asked what the targets need only if there is such an option.

    Parameters
    ----------
    command : CommandLine
        The command.
    targets : collection of str
        Rules that are asked for and make nothing.
    folder, snakefile : str
        In which, and by which file, Snakemake was started.

    Raises KerhrmError, in one line.
    """
    named = [pair for pair in command.planned() if pair[1] not in targets]
    if not named:
        return
    from kerhrm_paper.runs.costs import summary

    try:
        files = summary([*command.planning(), "--snakefile", snakefile], folder)
    except KerhrmError:  # Snakemake itself says why there is no plan
        return
    needed, asked = {*files["rule"], *files["output_file"]}, " ".join(command.targets)
    for word, value in named:
        if value not in needed:
            problem = f"{word} {value}: {asked or 'all'} does not need {value}"
            hint = f"name a rule or a file that {asked or 'all'} needs"
            raise KerhrmError(problem, hint)
