"""What Snakemake takes on its command line and this workflow would lose.

Of an option that is given twice Snakemake keeps the last one; an option with several
values takes the targets that follow it; a rule or file that an option names need not
be there.  All of these are refused in one line that shows the command that works.
"""

import argparse
import difflib
import os
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.runs import TOGETHER

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
    options : list
        Of every option as often as it is given: its action, the word that it was given
        by, and its values.
    """

    def __init__(self, words: Sequence[str], parser: argparse.ArgumentParser) -> None:
        self.options: list[tuple[argparse.Action, str, list[str]]] = []
        for action in parser._actions:
            action.__class__ = self._recording(type(action))
        self.targets: list[str] = list(parser.parse_args(list(words)).targets)

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
                    several = values if isinstance(values, list) else [values]
                    # of --batch RULE=I/N, which is parsed already
                    names = [getattr(value, "rulename", value) for value in several]
                    options.append((self, option_string, [*map(str, names)]))
                super().__call__(parser, namespace, values, option_string)

        return Recording

    def check_options(self) -> None:
        """Refuse an option that does nothing, or whose value is given twice."""
        spelled: dict[str, str] = {}
        given = {action.dest for action, *_ in self.options}
        for action, word, _ in self.options:
            if action.dest in IGNORED:
                raise KerhrmError(f"{word}: Snakemake writes nothing", "leave it out")
            if action.dest == "archive" and "dryrun" in given:
                problem = f"{word} writes the archive in a dry run, too"
                raise KerhrmError(problem, f"leave out {word} or -n")
            if action.nargs == 0 or isinstance(action, argparse._AppendAction):
                continue
            if action.dest in spelled:
                other = spelled[action.dest]
                problem = f"{word} is given twice"
                problem += f" (as {other})" if other != word else ""
                hint = f"write all its values after one {word}"
                single = action.nargs is None
                raise KerhrmError(problem, "write it once" if single else hint)
            spelled[action.dest] = word

    def check_profiles(self, root: Path, find: Finder) -> None:
        """Refuse an unknown profile, and one whose keys the command line would replace.

        ``root`` is the folder of the workflow's profiles, ``find`` Snakemake's own
        search for a profile.
        """
        given: dict[str, list[str]] = {}
        for action, _, values in self.options:
            given.setdefault(action.dest, []).extend(values)
        names = given.get("profile", [os.environ.get("SNAKEMAKE_PROFILE", "none")])
        (name,) = given.get("workflow_profile", ["default"])
        places = (
            Path(name),
            Path("profiles", name),
            root / name,
            root / "profiles" / name,
        )
        there = [str(place) for place in places if place.exists()]
        # a relative path is one from the folder that -d has left
        if name != "none" and not there and "directory" not in given:
            raise KerhrmError(
                f"--workflow-profile {name} does not exist", "see profiles/"
            )
        names = [*names, *there[:1]] if name != "none" else names
        for _, file in filter(None, map(find, names)):
            text = file.read_text(encoding="utf-8")
            for key in ("config", "configfile"):
                if key in given and re.search(rf"^{key}s?:", text, re.MULTILINE):
                    problem = f"--{key} replaces the key {key} of {file}"
                    raise KerhrmError(problem, f"write all values after --{key}")

    def check_targets(
        self,
        rules: Collection[str],
        targets: Collection[str],
        run: str,
        presets: Collection[str],
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
        for action, word, values in self.options:
            for value in values:
                self._check_value(action, word, value, targets)
                name = re.split("[=:]", value)[0]
                if name == "train" and action.dest in (*NAMING, *OF_RULES):
                    _check_alone(word, action.dest, rules)
                if action.dest in CUTTING and value in targets:
                    self._check_needed(word, value)
                if action.dest in NAMING and value not in rules:
                    if os.sep not in value:
                        problem = f"{word} {value}: no rule has this name"
                        raise KerhrmError(problem, nearest(value, rules))
                    _check_file(value, run, presets)
                elif action.dest in OF_RULES and name not in rules:
                    problem = f"{word} {value}: no rule is called '{name}'"
                    raise KerhrmError(problem, nearest(name, rules))
        for target in self.targets:
            if target in rules:
                continue
            if target.rstrip(os.sep) in rules:
                problem = f"target {target} does not exist"
                raise KerhrmError(problem, f"did you mean {target.rstrip(os.sep)}?")
            parts = [part for part in target.split(",") if part]
            if len(parts) > 1 and {*parts} <= {*targets}:
                problem = f"target {target} does not exist"
                raise KerhrmError(problem, f"write {' '.join(parts)}")
            if os.sep not in target:
                near = difflib.get_close_matches(target, targets, 1)
                hint = "snakemake --list-target-rules shows all"
                hint += "; a table of your own needs its --configfile"
                raise KerhrmError(
                    f"target {target} does not exist",
                    f"did you mean {near[0]}?" if near else hint,
                )
            _check_file(target, run, presets)

    def _check_value(
        self, action: argparse.Action, word: str, value: str, targets: Collection[str]
    ) -> None:
        """Refuse a value that was meant as a target, where no other one is left."""
        several = action.nargs in ("?", "*", "+") and action.dest not in FREE
        file = action.dest in NAMING and os.sep in value
        if several and not self.targets and (value in targets or file):
            problem = f"{value} is taken for a value of {word}, and no target is left"
            hint = f"write targets first: snakemake {value} {word} ..."
            raise KerhrmError(problem, hint)

    def _check_needed(self, word: str, value: str) -> None:
        """Refuse a target that is not asked for: no rule reads what a target makes."""
        targets = self.targets or ["all"]
        if value not in targets:
            problem = f"{word} {value}: {' '.join(targets)} does not need {value}"
            hint = f"write snakemake {value}"
            cut = f"name a rule or a file that {' '.join(targets)} needs"
            raise KerhrmError(problem, cut if value == "all" else f"{hint}, or {cut}")

    def files(self, run: str) -> list[Path]:
        """Files of the run that are named, as targets or by an option, from its
        folder."""
        wanted = list(self.targets)
        for action, _, values in self.options:
            wanted += values if action.dest in NAMING else []
        top = os.path.abspath(run)
        places = (Path(os.path.abspath(name)) for name in wanted if os.sep in name)
        return [place.relative_to(top) for place in places if place.is_relative_to(top)]

    def planned(self) -> list[tuple[str, str]]:
        """Options, with a rule or file that each expects in the plan."""
        return [
            (word, re.split("=", value)[0] if action.dest == "batch" else value)
            for action, word, values in self.options
            if action.dest in PLANNED
            for value in values
        ]

    def planning(self) -> list[str]:
        """The words that decide which plan there is, targets first."""
        words = list(self.targets)
        for action, word, values in self.options:
            if action.dest in PLANNING:
                words += [word, *values]
        return words

    def asks_for(self, rule: str, folder: str) -> bool:
        """Whether a rule or a file in its folder is among the targets."""
        wanted = list(self.targets)
        for action, _, values in self.options:
            wanted += values if action.dest in NAMING else []
        place = os.path.abspath(folder)
        return any(
            name == rule or Path(os.path.abspath(name)).is_relative_to(place)
            for name in wanted
        )


def _check_alone(word: str, option: str, rules: Collection[str]) -> None:
    """Refuse `train` where other rules train several learners each, and would be left
    out; what is set of its resources and threads is set of theirs, too.

    Rules without wildcards that Snakemake is told to run again are targets, so that
    `-R train` cannot mean those that a target needs.
    """
    together = [name for name in rules if name.startswith(TOGETHER)]
    if together and option not in ("set_resources", "set_threads"):
        problem = f"{word} train leaves out {len(together)} rules that train several"
        hint = f"name files, as RUN/DATA/LEARNER/predictions.npz, or {together[0]}"
        raise KerhrmError(f"{problem} learners each", hint)


def _check_file(name: str, run: str, presets: Collection[str]) -> None:
    """Refuse a file that does not lie in the folder of the run."""
    written = name if os.path.isabs(name) else os.path.relpath(name)
    if Path(written).is_relative_to(run):
        return
    path, folder = Path(os.path.abspath(name)), Path(os.path.abspath(run))
    if path.is_relative_to(folder):
        hint = f"write it as {Path(run, path.relative_to(folder))}"
        raise KerhrmError(f"{name} is a file of this run in another spelling", hint)
    for preset in presets:
        if path.is_relative_to(folder.parent / preset):
            problem = f"{name} is a file of preset {preset}, and this run is {run}"
            raise KerhrmError(problem, f"add --config preset={preset}")
    problem = f"{name} lies outside this run, {run}"
    raise KerhrmError(problem, "set results= and preset= to those of the file")
