"""Do the rules and files that a command names exist, in the run that it means?"""

import difflib
import os
import re
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.fields import Names, nearest
from kerhrm_paper.runs import TOGETHER


def rule_of(value: str) -> str:
    """The rule in ``RULE=VALUE`` or ``RULE:RESOURCE=VALUE``."""
    return re.split("[=:]", value)[0]


def check_rule(word: str, value: str, rules: Names) -> None:
    """Refuse an option's value whose rule is unknown."""
    rule = rule_of(value)
    if rule not in rules:
        problem = f"{word} {value}: no rule is called '{rule}'"
        raise KerhrmError(problem, nearest(rule, rules))


def check_named(word: str, value: str, rules: Names) -> None:
    """Refuse an option's value that is no file, and no rule either."""
    if os.sep not in value:
        problem = f"{word} {value}: no rule has this name"
        raise KerhrmError(problem, nearest(value, rules))


def check_target(target: str, rules: Names, targets: Names) -> None:
    """Refuse a target that is no file, and no rule either."""
    problem = f"target {target} does not exist"
    folder_of = target.rstrip(os.sep)
    if folder_of in rules:
        raise KerhrmError(problem, f"did you mean {folder_of}?")
    names = target.split(",")
    listed = list(filter(None, names))
    are_targets = all(name in targets for name in listed)
    if are_targets and len(listed) > 1:
        raise KerhrmError(problem, f"write {' '.join(listed)}")
    if os.sep in target:
        return
    similar = difflib.get_close_matches(target, targets, 1)
    if similar:
        raise KerhrmError(problem, f"did you mean {similar[0]}?")
    hint = "snakemake --list-target-rules shows all"
    hint += "; a table of your files needs --configfile"
    if "=" in target:
        hint = "a cell is a file, as results/PRESET/DATA/LEARNER/scores.csv"
    raise KerhrmError(problem, hint)


def check_alone(word: str, rules: Names) -> None:
    """Refuse `train` where other rules train several learners each, and would be left
    out; what is set of its resources and threads is set of theirs, too.

    Rules without wildcards that Snakemake is told to run again are targets, so that
    `-R train` cannot mean those that a target needs.
    """
    together = [name for name in rules if name.startswith(TOGETHER)]
    if not together:
        return
    raise KerhrmError(
        f"{word} train leaves out {len(together)} rules that train several "
        "learners each",
        f"name files, as RUN/DATA/LEARNER/predictions.npz, or {together[0]}",
    )


def check_file(name: str, run: str, presets: Names) -> None:
    """Refuse a file that does not lie in the folder of the run."""
    written = Path(name)
    if not written.is_absolute():
        written = Path(os.path.relpath(name))
    if written.is_relative_to(run):
        return
    path = Path(os.path.abspath(name))
    folder = Path(os.path.abspath(run))
    if path.is_relative_to(folder):
        hint = f"write it as {Path(run, path.relative_to(folder))}"
        raise KerhrmError(f"{name} is a file of this run in another spelling", hint)
    for preset in presets:
        if path.is_relative_to(folder.parent / preset):
            problem = f"{name} is a file of preset {preset}, and this run is {run}"
            raise KerhrmError(problem, f"add --config preset={preset}")
    problem = f"{name} lies outside this run, {run}"
    hint = "set results= and preset= to those of the file"
    if not written.is_absolute() and "=" in name:
        hint = f"a cell is a file of a run, as {run}/DATA/LEARNER/scores.csv"
    raise KerhrmError(problem, hint)
