"""Names that a configuration gives: they are folders', files' and targets' names, too."""

import difflib
import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

#: what a run keeps beside the folders of its experiments
KEPT = (
    *("benchmarks", "figures", "logs", "notebooks", "raw"),
    *("restarts", "scores", "tables", "tuned"),
)


def folder_of(setting: str) -> str:
    """Folder of a setting: ``r2=0.80,K=3`` lies in ``r2=0.80+K=3``.

    Snakemake cannot hand a wildcard with a comma to a job on a cluster (its issue 2366).
    """
    return setting.replace(",", "+")


def setting_in(folder: str) -> str:
    """Setting that lies in a folder; the inverse of :func:`folder_of`."""
    return folder.replace("+", ",")


def suggest(word: str, known: Iterable[str]) -> str:
    """Cure for a name that is not among the known ones: the nearest of them, or all."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known are: {', '.join(known)}"


def _name(name: str) -> str:
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError("it names files: write letters, digits, _ and -")
    return name


def _experiment(name: str) -> str:
    if name.startswith("tune-") or name in KEPT:
        raise ValueError("a run has a folder of that name already: choose another one")
    return name


def _setting(name: str) -> str:
    if "+" in name:
        raise ValueError(
            f"its folder would be that of '{setting_in(name)}', as + stands for a comma there: "
            "choose another name"
        )
    if not re.fullmatch(r"[\w.,=-]+", name):
        raise ValueError("a setting's name is also a folder's: write letters, digits and . , = - _")
    return name


Name = Annotated[str, AfterValidator(_name)]
ExperimentName = Annotated[Name, AfterValidator(_experiment)]
SettingName = Annotated[str, AfterValidator(_setting)]
