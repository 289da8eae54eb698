"""What of Snakemake's command line would it lose without a word?

Of an option that is given twice Snakemake keeps the last one; an option with several
values takes the targets that follow it; a rule or file that an option names need not
be there.  All of these are refused in one line that shows the command that works.
"""

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.command_line import NAMING, CommandLine, Given
from kerhrm_paper.config.command_names import (
    check_alone,
    check_file,
    check_named,
    check_rule,
    check_target,
    rule_of,
)
from kerhrm_paper.config.fields import Names

#: the folder and the file of a profile, None if there is none
Finder = Callable[[str], tuple[Path, Path] | None]
#: those that cut the plan and add nothing to it
CUTTING = ("until", "omit_from")
#: options that name rules, alone or before a ``=`` or ``:``
OF_RULES = (
    "allowed_rules",
    "batch",
    "cache",
    "consider_ancient",
    "groups",
    "preemptible_rules",
    "set_resources",
    "set_threads",
)
#: options of those whose `train` leaves out rules that train several learners
LEAVING_OUT = {*NAMING, *OF_RULES} - {"set_resources", "set_threads"}
#: options whose words may be called like a target
FREE = ("quiet",)
#: options that Snakemake takes and does nothing for
IGNORED = ("export_cwl",)


def check_options(command: CommandLine) -> None:
    """Refuse an option that does nothing, or whose value is given twice."""
    spelled: dict[str, str] = {}
    names = {option.name for option in command.options}
    for option in command.options:
        word = option.word
        if option.name in IGNORED:
            raise KerhrmError(f"{word}: Snakemake writes nothing", "leave it out")
        if option.name == "archive" and "dryrun" in names:
            problem = f"{word} writes the archive in a dry run, too"
            raise KerhrmError(problem, f"leave out {word} or -n")
        if not _replaces(option.action):
            continue
        if option.name in spelled:
            raise _given_twice(option, spelled[option.name])
        spelled[option.name] = word


def check_number(word: str, number: int | None) -> None:
    """Refuse a number of cores or of jobs, None if it is not given, with which
    Snakemake would wait for ever."""
    if number is not None and number < 1:
        problem = f"{word} must be at least 1; got {number}"
        raise KerhrmError(problem, f"write {word} 1, or -n for a plan")


def check_profiles(command: CommandLine, root: Path, find: Finder) -> None:
    """Refuse an unknown profile, and one whose keys the command line would replace.

    ``root`` is the folder of the workflow's profiles, ``find`` Snakemake's own search
    for a profile.
    """
    given: dict[str, list[str]] = {}
    for option in command.options:
        values = given.setdefault(option.name, [])
        values += option.values
    from_environment = os.environ.get("SNAKEMAKE_PROFILE", "none")
    profiles = given.get("profile", [from_environment])
    profiles = list(profiles)
    (of_workflow,) = given.get("workflow_profile", ["default"])
    if of_workflow != "none":
        places = _profile_places(root, of_workflow)
        # a relative path is one from the folder that -d has left
        if not places and "directory" not in given:
            problem = f"--workflow-profile {of_workflow} does not exist"
            raise KerhrmError(problem, "see profiles/")
        profiles += places[:1]
    for profile in profiles:
        folder_and_file = find(profile)
        if folder_and_file:
            _, file = folder_and_file
            _check_profile(file, given)


def check_targets(
    command: CommandLine,
    rules: Names,
    targets: Names,
    run: str,
    presets: Names,
) -> None:
    """Refuse names of rules and files that are not there, and lost targets.

    Parameters
    ----------
    command : CommandLine
        The command.
    rules, targets : collection of str
        Names of all rules, and of those that are asked for rather than run again.
    run : str
        Folder of the run, as the rules write it.
    presets : collection of str
        Other runs that the command may mean.
    """
    for option in command.options:
        for value in option.values:
            _check_lost(command, option, value, targets)
            is_train = rule_of(value) == "train"
            if is_train and option.name in LEAVING_OUT:
                check_alone(option.word, rules)
            if option.name in CUTTING and value in targets:
                _check_needed(command, option.word, value)
            if option.name in NAMING and value not in rules:
                check_named(option.word, value, rules)
                check_file(value, run, presets)
            elif option.name in OF_RULES:
                check_rule(option.word, value, rules)
    for target in command.targets:
        if target not in rules:
            check_target(target, rules, targets)
            check_file(target, run, presets)


def _check_lost(
    command: CommandLine, option: Given, value: str, targets: Names
) -> None:
    """Refuse a value that was meant as a target, where no other one is left."""
    if command.targets or option.name in FREE:
        return
    takes_several = option.action.nargs in ("?", "*", "+")
    if not takes_several:
        return
    is_file = option.name in NAMING and os.sep in value
    if value in targets or is_file:
        word = option.word
        problem = f"{value} is taken for a value of {word}, and no target is left"
        hint = f"write targets first: snakemake {value} {word} ..."
        raise KerhrmError(problem, hint)


def _check_needed(command: CommandLine, word: str, value: str) -> None:
    """Refuse a target that is not asked for: no rule reads what a target makes."""
    targets = command.targets or ["all"]
    if value in targets:
        return
    asked = " ".join(targets)
    hint = f"name a rule or a file that {asked} needs"
    if value != "all":
        hint = f"write snakemake {value}, or {hint}"
    raise KerhrmError(f"{word} {value}: {asked} does not need {value}", hint)


def _replaces(action: argparse.Action) -> bool:
    """Whether a second value of an option replaces the first one."""
    is_flag = action.nargs == 0
    return not is_flag and not isinstance(action, argparse._AppendAction)


def _given_twice(option: Given, other_word: str) -> KerhrmError:
    """Error of an option that was given before, maybe by another word."""
    word = option.word
    problem = f"{word} is given twice"
    if other_word != word:
        problem += f" (as {other_word})"
    takes_one = option.action.nargs is None
    hint = "write it once" if takes_one else f"write all its values after one {word}"
    return KerhrmError(problem, hint)


def _profile_places(root: Path, name: str) -> list[str]:
    """Where a profile of the workflow is, of all places where Snakemake looks."""
    places = (
        Path(name),
        Path("profiles", name),
        root / name,
        root / "profiles" / name,
    )
    there = []
    for place in places:
        if place.exists():
            there.append(str(place))
    return there


def _check_profile(file: Path, given: Names) -> None:
    """Refuse a profile with a configuration that the command line would replace."""
    text = file.read_text(encoding="utf-8")
    for key in ("config", "configfile"):
        is_there = re.search(rf"^{key}s?:", text, re.MULTILINE)
        if key in given and is_there:
            problem = f"--{key} replaces the key {key} of {file}"
            raise KerhrmError(problem, f"write all values after --{key}")
