"""What a configuration may say.

One model per file of ``config/``; unknown keys are refused.  Every field carries its
meaning, so this module, :mod:`kerhrm.config.data` and :mod:`kerhrm.config.methods` are also
the reference of the configuration.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, NonNegativeInt, PositiveInt, model_validator

from kerhrm.config.data import Data
from kerhrm.config.methods import Methods
from kerhrm.config.sections import NonEmpty, Section

#: methods that `tune` knows, and the rule that selects their hyper-parameters
TUNABLE = {
    "dro": "pooled validation",
    "eiil": "pooled validation",
    "hrm": "pooled validation",
    "irm": "worst validation environment",
    "iga": "worst validation environment",
}

Run = Literal[
    "erm",
    "dro",
    "eiil",
    "hrm",
    "irm",
    "kerhrm",
    "igd",  # KerHRM's network; needs kerhrm
    "released",
    # references
    "true_environments",  # KerHRM with the true environments; needs kerhrm
    "iga",
    "grayscale",
    "least_squares",
]


class Setting(Section):
    """One column of a table: data, and what it changes in the methods."""

    data: Data
    methods: Methods
    run: Annotated[list[Run], NonEmpty]  #: methods of this setting

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Setting":
        n = self.data.n_points
        for name, cause in (
            ("igd", "igd trains along the direction that kerhrm finds"),
            ("true_environments", "true_environments uses the features and options of kerhrm"),
            ("released", "released uses the features of kerhrm"),
        ):
            if name in self.run and "kerhrm" not in self.run:
                raise ValueError(f"{cause}; add kerhrm to run")
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


class Tuning(Section):
    """What `tune` does for an experiment."""

    settings: Annotated[list[SettingName], NonEmpty]  #: scores are averaged over them
    seeds: PositiveInt = 3
    first_seed: PositiveInt = 100  #: beyond the seeds of every table


class Experiment(Section):
    """One experiment of the paper."""

    title: str
    table: Literal["table1", "table2", "table3", "table4", "figure2", "figure3"]
    seeds: PositiveInt  #: number of replicates
    first_seed: NonNegativeInt = 0  #: they are numbered from here
    hidden: list[PositiveInt] = [1024]  #: widths of the hidden layers
    settings: Annotated[dict[SettingName, Setting], NonEmpty]
    tuning: Tuning | None = None  #: without it the experiment uses what stands in methods/

    @property
    def replicates(self) -> list[int]:
        """Numbers of the seeds."""
        return list(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def protocol(self) -> str:
        """How results are scored, see :mod:`kerhrm.reporting.scores`."""
        return {"table3": "mean_error", "figure3": "period"}.get(self.table, "accuracy")

    @property
    def tuned_methods(self) -> list[str]:
        """Methods of the tuning settings that have a grid."""
        assert self.tuning is not None
        run = [m for s in self.tuning.settings for m in self.settings[s].run]
        return [m for m in dict.fromkeys(run) if m in TUNABLE]

    def for_tuning(self) -> "Experiment":
        """The experiment that `tune` runs: few settings, seeds that no table uses."""
        assert self.tuning is not None
        settings = {
            name: self.settings[name].model_copy(update={"run": self.tuned_methods})
            for name in self.tuning.settings
        }
        seeds = {"seeds": self.tuning.seeds, "first_seed": self.tuning.first_seed}
        return self.model_copy(update={"settings": settings, "tuning": None} | seeds)

    @model_validator(mode="after")
    def _tuning_fits(self) -> Self:
        if self.tuning is None:
            return self
        for name in self.tuning.settings:
            if name not in self.settings:
                raise ValueError(f"tuning.settings names '{name}', which is no setting")
        if self.tuning.first_seed < self.first_seed + self.seeds:
            raise ValueError("tuning would use the table's seeds; raise tuning.first_seed")
        return self


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
