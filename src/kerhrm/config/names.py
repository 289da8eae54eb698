"""Names that a configuration gives: they are folders', files' and targets' names, too."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

#: what a run keeps beside the folders of its experiments
KEPT = (
    *("benchmarks", "described", "figures", "logs", "notebooks", "pages", "raw"),
    *("restarts", "scores", "tables", "tuned"),
)
#: tables that are studies of the method, by what they ask: `snakemake study` makes them all
STUDIES = {
    "work": ("ablation", "ablation_regression", "crossed"),
    "controls": ("controls", "controls_mnist"),
    "eiil": ("eiil_reference",),
}


def folder_of(setting: str) -> str:
    """Folder of a setting: ``r2=0.80,K=3`` lies in ``r2=0.80+K=3``.

    Snakemake cannot hand a wildcard with a comma to a job on a cluster (its issue 2366).
    """
    return setting.replace(",", "+")


def setting_in(folder: str) -> str:
    """Setting that lies in a folder; the inverse of :func:`folder_of`."""
    return folder.replace("+", ",")


def _matching(pattern: str, told: str) -> AfterValidator:
    """Refuse other texts with ``told``, where {} is the setting that has such a folder."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(told.format(setting_in(text)))
        return text

    return AfterValidator(check)


def _is_there(folder: str) -> str:
    if not Path(folder).expanduser().is_dir():
        raise ValueError("there is no such folder")
    return folder


_AS_COMMA = "its folder would be that of '{}', as + stands for a comma there: choose another name"
_LABEL = "a setting's name is also a folder's: write letters, digits and . , = - _"
_TAKEN = "a run has a folder of that name already: choose another one"
_DEVICES = "choose auto, cpu, cuda or cuda:0, cuda:1, ..."
Name = Annotated[str, _matching(r"[\w-]+", "it names files: write letters, digits, _ and -")]
ExperimentName = Annotated[Name, _matching(rf"(?!tune-|({'|'.join(KEPT)})$).*", _TAKEN)]
SettingName = Annotated[str, _matching(r"[^+]*", _AS_COMMA), _matching(r"[\w.,=-]+", _LABEL)]
Device = Annotated[str, _matching(r"auto|cpu|cuda(:\d+)?", _DEVICES)]
Folder = Annotated[str, AfterValidator(_is_there)]
