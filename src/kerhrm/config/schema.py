"""What a configuration may say.

One model per file of ``config/``; unknown keys are refused.  Every field carries its
meaning, so this module, :mod:`kerhrm.config.data` and :mod:`kerhrm.config.methods` are also
the reference of the configuration.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, PositiveInt, model_validator

from kerhrm.config.data import Data
from kerhrm.config.methods import Methods
from kerhrm.config.sections import NonEmpty, Section


class Setting(Section):
    """One column of a table: data, and what it changes in the methods."""

    data: Data
    methods: Methods
    run: Annotated[list[Literal["erm", "kerhrm", "igd"]], NonEmpty]
    #: methods of this setting; igd, KerHRM's network, needs kerhrm

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Setting":
        n = self.data.n_points
        if "igd" in self.run and "kerhrm" not in self.run:
            raise ValueError("igd trains along the direction that kerhrm finds; add kerhrm to run")
        if "kerhrm" in self.run:
            if max(self.methods.kerhrm.k) > n:
                raise ValueError(
                    f"k={max(self.methods.kerhrm.k)} exceeds the n={n} training points; "
                    "lower methods.kerhrm.k or raise the sample size"
                )
            if self.methods.kerhrm.clustering.clusters > n:
                raise ValueError(
                    f"K={self.methods.kerhrm.clustering.clusters} clusters exceed the n={n} "
                    "training points; lower methods.kerhrm.clustering.clusters"
                )
        return self


def _folder_name(name: str) -> str:
    if not re.fullmatch(r"[\w.,=+-]+", name):
        raise ValueError("a setting's name is also a folder's: letters, digits and . , = + - _")
    return name


SettingName = Annotated[str, AfterValidator(_folder_name)]


class Experiment(Section):
    """One experiment of the paper."""

    title: str
    table: Literal["table1", "table3", "table4"]
    seeds: PositiveInt  #: number of replicates; they are numbered 0, 1, ...
    hidden: list[PositiveInt] = [1024]  #: widths of the hidden layers
    settings: Annotated[dict[SettingName, Setting], NonEmpty]


def _device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError("choose auto, cpu, cuda or cuda:0, cuda:1, ...")
    return name


class Config(Section):
    """The resolved configuration."""

    preset: str
    results: Annotated[str, NonEmpty] = "results"  #: folder for everything that is generated
    raw_dir: str | None = None  #: folder with raw data files, looked at before anything else
    on_missing: Literal["stand-in", "fail"] = "stand-in"  #: when no source has a raw file
    device: Annotated[str, AfterValidator(_device)] = "auto"
    threads: PositiveInt = 1  #: of a heavy job; fixed, as the last bits depend on it
    bootstrap: PositiveInt = 10_000  #: resamples of the confidence intervals
    experiments: Annotated[dict[str, Experiment], NonEmpty]

    def plain(self) -> dict[str, Any]:
        """JSON-able content."""
        return self.model_dump(mode="json")
