"""What of Snakemake's command line would it lose without a word?

Of an option that is given twice Snakemake keeps the last one; an option with several
values takes the targets that follow it; a rule or file that an option names need not
be there.  All of these are refused in one line that shows the command that works.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
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
#: options that name rules or files of the run
NAMING = ("forcerun", "until", "omit_from", "prioritize")
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
#: options that Snakemake takes and does nothing for
IGNORED = ("export_cwl",)


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

    # --- options ---------------------------------------------------------------------

    def check_options(self) -> None:
        """Refuse an option that does nothing, or whose value is given twice."""
        spelled: dict[str, str] = {}
        names = {option.name for option in self.options}
        for option in self.options:
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

    def check_profiles(self, root: Path, find: Finder) -> None:
        """Refuse an unknown profile, and one whose keys the command line would replace.

        ``root`` is the folder of the workflow's profiles, ``find`` Snakemake's own
        search for a profile.
        """
        given: dict[str, list[str]] = {}
        for option in self.options:
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

    # --- targets ---------------------------------------------------------------------

    def check_targets(
        self,
        rules: Names,
        targets: Names,
        run: str,
        presets: Names,
    ) -> None:
        """Refuse names of rules and files that are not there, and lost targets.

        Parameters
        ----------
        rules, targets : collection of str
            Names of all rules, and of those that are asked for rather than run again.
        run : str
            Folder of the run, as the rules write it.
        presets : collection of str
            Other runs that the command may mean.
        """
        for option in self.options:
            for value in option.values:
                self._check_lost(option, value, targets)
                is_train = rule_of(value) == "train"
                if is_train and option.name in LEAVING_OUT:
                    check_alone(option.word, rules)
                if option.name in CUTTING and value in targets:
                    self._check_needed(option.word, value)
                if option.name in NAMING and value not in rules:
                    check_named(option.word, value, rules)
                    check_file(value, run, presets)
                elif option.name in OF_RULES:
                    check_rule(option.word, value, rules)
        for target in self.targets:
            if target not in rules:
                check_target(target, rules, targets)
                check_file(target, run, presets)

    def _check_lost(self, option: Given, value: str, targets: Names) -> None:
        """Refuse a value that was meant as a target, where no other one is left."""
        if self.targets or option.name in FREE:
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

    def _check_needed(self, word: str, value: str) -> None:
        """Refuse a target that is not asked for: no rule reads what a target makes."""
        targets = self.targets or ["all"]
        if value in targets:
            return
        asked = " ".join(targets)
        hint = f"name a rule or a file that {asked} needs"
        if value != "all":
            hint = f"write snakemake {value}, or {hint}"
        raise KerhrmError(f"{word} {value}: {asked} does not need {value}", hint)

    # --- what the command asks for ---------------------------------------------------

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


# --- options -------------------------------------------------------------------------


def _texts(values: Any) -> list[str]:
    """Values of an option as they are typed; of --batch RULE=I/N, the rule."""
    if not isinstance(values, list):
        values = [values]
    texts = []
    for value in values:
        name = getattr(value, "rulename", value)
        texts.append(str(name))
    return texts


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
