"""Is a file that is asked for by name one of a cell, which some rule makes?"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import LearnerCell
from kerhrm_paper.config.command_line import CommandLine
from kerhrm_paper.config.config import Config
from kerhrm_paper.config.fields import Names, nearest
from kerhrm_paper.config.layout import reserved
from kerhrm_paper.runs import provenance

#: folders beside those of the learners on some data, each with a file of it
DATA_FOLDERS = {"data": "train.npz", "features": "training.npz"}
#: files of a learner on some data
LEARNER_FILES = ("predictions.npz", "scores.csv")
ITERATIONS = "iterations"
PRETEST = "heterogeneity.npz"
STEPS = ("environments.npz", "directions.npz")  #: of an iteration
#: targets that show the tables of a run
OF_TABLES = ("all", "report", "verify", "ablations", "as_printed_band", "claims")
#: options by which Snakemake makes no target
RUNS_NOTHING = ("unlock", "lint", "list_rules", "list_target_rules", "cleanup_metadata")
#: options by which it makes files again, or deletes them
FORCING = ("force", "forceall", "forcerun")
DELETING = ("delete_all_output", "delete_temp_output")
#: wildcards of a cell's files, by their place in the path
WILDCARDS = ("data", "learner", "", "t")
WILDCARD = re.compile(r"\{(\w+)[^}]*\}")


def check_search(command: CommandLine, config: Config) -> None:
    """Refuse targets that show tables where there is a search, which has none.

    Snakemake would make a report of nothing, and name no table that it knows.
    Raises KerhrmError, in one line.
    """
    given = {option.name for option in command.options}
    if not config.searches or given & set(RUNS_NOTHING):
        return
    shown = (*OF_TABLES, *config.resolved.whole.tables)
    for target in command.targets or ["all"]:
        if target in shown:
            problem = f"{target}: the preset {config.preset} has a search and no tables"
            hint = "write select, which it makes, or choose another preset"
            raise KerhrmError(problem, hint)


def check_cell_file(config: Config, root: Path, parts: Sequence[str]) -> None:
    """Refuse a file, by the parts of its path from the run's folder, of no cell.

    Raises KerhrmError, in one line with the nearest name or the right spelling.
    """
    if len(parts) < 2:
        return
    data, learner, *files = parts
    if reserved(root).fullmatch(data):
        return  # a file of the run
    data_cell = config.data(data)
    if learner in DATA_FOLDERS:
        return
    cell = config.learner(data, learner)
    if not files:
        return
    known = [*LEARNER_FILES]
    if cell.checkpointed:
        known.append(ITERATIONS)
        has_pretest = getattr(cell.options, "pretest", None) is not None
        if data_cell.task == "regression" and has_pretest:
            known.append(PRETEST)
    where, file = f"{data}/{learner}", files[0]
    if file == ITERATIONS:
        _check_iteration(where, cell, files)
    elif file not in known:
        raise KerhrmError(f"{where} has no {file}", nearest(file, known))


def _check_iteration(where: str, cell: LearnerCell, files: Sequence[str]) -> None:
    """Refuse an iteration that a learner does not have, or that is no job."""
    if not cell.checkpointed:
        problem = f"{where}: its iterations are no jobs"
        hint = "they are in predictions.npz, if it has some"
        raise KerhrmError(problem, hint)
    _, *below = files
    if not below:
        return
    iteration, *steps = below
    last = getattr(cell.options, "n_iterations", 0)
    iterations = [str(t) for t in range(1, last + 1)]
    if iteration not in iterations:
        problem = f"{where} has no iteration {iteration}"
        raise KerhrmError(problem, f"it has {', '.join(iterations)}")
    if steps and steps[0] not in STEPS:
        step = steps[0]
        raise KerhrmError(f"{where}: no {step}", nearest(step, STEPS))


def check_unchanged(command: CommandLine, run: str) -> None:
    """Refuse a file that is asked for by name and is not as its rule left it.

    An option that has files made again, or deletes them, says what becomes of it.
    Raises KerhrmError, in one line.
    """
    given = {option.name for option in command.options}
    if given & {*FORCING, *DELETING, *RUNS_NOTHING}:
        return
    for file in command.files(run):
        provenance.check_asked(Path(run), Path(run, file))


def names_data(config: Config, parts: Sequence[str]) -> bool:
    """Whether a path from the run's folder begins with a data set, with its options."""
    if not parts:
        return False
    try:
        config.data(parts[0])
    except KerhrmError:
        return False
    return True


def check_made(
    run: str,
    parts: Sequence[str],
    rules: Sequence[Any],
    values_of_wildcards: Mapping[str, Iterable[str]],
    *,
    of_data: bool,
) -> None:
    """Refuse a file that no rule makes.

    Parameters
    ----------
    run : str
        Folder of the run, as the rules write it.
    parts : sequence of str
        Path of the file from there.
    rules : sequence
        Snakemake's.
    values_of_wildcards : mapping of str to iterable of str
        Such as those of ``table``.
    of_data : bool
        Whether the first part is a data set; a run has other files and folders.

    Raises KerhrmError, in one line with the nearest file.
    """
    path = str(Path(run, *parts))
    patterns: list[str] = []
    for rule in rules:
        if rule.is_producer(path):
            return
        patterns += map(str, rule.output)
    problem = f"no rule makes {path}"
    example = _example(parts, of_data)
    if example:
        hint = f"name a file in this folder, such as {Path(path, example)}"
        raise KerhrmError(problem, hint)
    wildcards = dict(zip(WILDCARDS, parts, strict=False)) if of_data else {}
    filled = {_filled(pattern, wildcards) for pattern in patterns}
    for name, values in values_of_wildcards.items():
        known = [*values]
        filled |= {_filled(file, {name: value}) for file in filled for value in known}
    # what lies in the same folder of the run, or beside it where the path is short
    folder = f"{Path(run, parts[0])}/" if len(parts) > 1 else f"{run}/"
    files = {
        file
        for file in filled
        if "{" not in file
        and file.startswith(folder)
        and any(rule.is_producer(file) for rule in rules)
    }
    if not files:
        raise KerhrmError(problem, "docs/workflow.md lists the files of a run")
    raise KerhrmError(problem, nearest(path, sorted(files)))


def _example(parts: Sequence[str], of_data: bool) -> str | None:
    """A file of a folder of the run, or of its data; None of other folders."""
    if not parts:
        return "report.html"
    if not of_data or len(parts) > 2:
        return None
    if len(parts) == 1:
        return "LEARNER/scores.csv"
    return DATA_FOLDERS.get(parts[1], "scores.csv")


def _filled(pattern: str, wildcards: Mapping[str, str]) -> str:
    """A file's pattern with the wildcards that have a value replaced."""

    def value(match: re.Match[str]) -> str:
        return wildcards.get(match[1], match[0])

    return WILDCARD.sub(value, pattern)


def check_planned(
    command: CommandLine, targets: Names, folder: str, snakefile: str
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
    named = []
    for word, value in command.planned():
        if value not in targets:
            named.append((word, value))
    if not named:
        return
    from kerhrm_paper.runs.costs import summary

    words = [*command.planning(), "--snakefile", snakefile]
    try:
        files = summary(words, folder)
    except KerhrmError:  # Snakemake itself says why there is no plan
        return
    needed = {*files["rule"], *files["output_file"]}
    asked = " ".join(command.targets) or "all"
    for word, value in named:
        if value not in needed:
            problem = f"{word} {value}: {asked} does not need {value}"
            hint = f"name a rule or a file that {asked} needs"
            raise KerhrmError(problem, hint)
