"""What a configuration may say, block by block; every field carries its meaning and range.

``docs/configuration.md`` is made from these models and from the options of data sets, networks
and methods, which stand beside their code.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, Union

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from kerhrm.config.methods import Baseline, Methods
from kerhrm.config.names import ExperimentName, Name, SettingName, suggest
from kerhrm.data.registry import DATA_SETS
from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.sections import Count, Natural, NonEmpty, Section, exists, misfit

SHARED = ("data", "methods", "run")  #: what a file's experiment may say for all its settings
Options = dict[str, Any]  #: of a method or data set, JSON-able


def _can_be_made(data: Any) -> Any:
    exists(DATA_SETS[data.generator].entry)
    return data


def _can_run(name: str) -> str:
    if name not in METHODS:
        raise ValueError(f"no such method; {suggest(name, METHODS)}")
    exists(METHODS[name].entry)
    return name


_Data: Any = Union[tuple(load(data_set.options) for data_set in DATA_SETS.values())]  # noqa: UP007
Data = Annotated[_Data, Field(discriminator="generator"), AfterValidator(_can_be_made)]
MethodName = Annotated[
    str, AfterValidator(_can_run), Field(json_schema_extra={"enum": list(METHODS)})
]


class Setting(Section):
    """One column of a table: data, and what it changes in the methods."""

    data: Data = Field(description="the data set: its generator and what that may be told")
    methods: Methods = Field(description="every method's options")
    run: Annotated[list[MethodName], NonEmpty] = Field(description="methods of this setting")

    @property
    def dimensions(self) -> dict[str, list[int]]:
        """Numbers of reduced features that its methods ask for, by section."""
        names = {METHODS[m].section: m for m in self.run if METHODS[m].reads != "points"}
        usual = self.methods.kerhrm.k
        found = {name: getattr(getattr(self.methods, name), "k", usual) for name in names}
        return {name: k if isinstance(k, list) else [k] for name, k in found.items()}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name in self.run:
            needs = METHODS[name].needs
            if needs and needs not in self.run:
                raise misfit(["run"], self.run, f"{name} needs {needs}; add {needs} to run")
        n = self.data.n_points
        for section, k in self.dimensions.items():
            if max(k) > n:
                why = f"k={max(k)} exceeds the n={n} training points; lower k or raise n"
                raise misfit(["methods", section, "k"], k, why)
        clusters = self.methods.kerhrm.clustering.clusters
        if "kerhrm" in self.run and clusters > n:
            why = f"K={clusters} clusters exceed the n={n} training points; lower K or raise n"
            raise misfit(["methods", "kerhrm", "clustering", "clusters"], clusters, why)
        return self


class Seeds(Section):
    """Numbers of the seeds, one of each list per replicate; each stream of chance has its own."""

    data: Annotated[list[Natural], NonEmpty] = Field(description="of the data set")
    network: Annotated[list[Natural], NonEmpty] = Field(description="of the initial weights w0")
    clustering: Annotated[list[Natural], NonEmpty] = Field(description="of all random starts")

    @property
    def names(self) -> list[int] | list[str]:
        """How tables of scores call the replicates."""
        if self.data == self.network == self.clustering:
            return self.data
        triples = zip(self.data, self.network, self.clustering, strict=True)
        return [f"data={d},network={w},clustering={c}" for d, w, c in triples]

    @model_validator(mode="after")
    def _replicates_differ(self) -> Self:
        if len({len(self.data), len(self.network), len(self.clustering)}) > 1:
            raise ValueError("data, network and clustering differ in length")
        if len(set(self.names)) < len(self.names):
            raise ValueError("a seed is given twice")
        return self


def _spelt_out(seeds: Any) -> Any:
    """``10``: seeds 0 to 9; a list: the same for all streams; a number of one stream: fixed."""
    if isinstance(seeds, bool):
        raise ValueError("write a number, not a truth value")
    if isinstance(seeds, int):
        if seeds < 1:
            raise ValueError("write a number above 0")
        seeds = list(range(seeds))
    if isinstance(seeds, list):
        return dict.fromkeys(Seeds.model_fields, seeds)
    if isinstance(seeds, Mapping):
        n = max((len(v) for v in seeds.values() if isinstance(v, list)), default=1)
        return {k: [v] * n if isinstance(v, int) else v for k, v in seeds.items()}
    return seeds


_Stream = Literal["data", "network", "clustering"]
SeedsAsWritten = Annotated[
    Seeds,
    BeforeValidator(
        _spelt_out,
        json_schema_input_type=Count | list[Natural] | dict[_Stream, Natural | list[Natural]],
    ),
]


class Tuning(Section):
    """What `tune` does for an experiment."""

    settings: Annotated[list[SettingName], NonEmpty] = Field(
        description="scores are averaged over them"
    )
    seeds: Count = Field(3, description="number of replicates")
    first_seed: Natural = Field(100, description="their first number, beyond those of the tables")


#: how results may be scored, by the data's task; the first is the usual one
PROTOCOLS = {"classification": ("accuracy", "iterations"), "regression": ("mean_error", "period")}


def _usual_protocol(validated: dict[str, Any]) -> Any:
    first: Setting = next(iter(validated["settings"].values()))
    return PROTOCOLS[DATA_SETS[first.data.generator].task][0]


class Experiment(Section):
    """One experiment: settings that stand side by side in a table."""

    title: str = Field(description="of its table")
    about: str = Field("", description="what the notebook of its table says first, Markdown")
    table: Name = Field(description="name of its table or figure, a target: `snakemake table1`")
    notebook: Name = Field(
        "table", description="in notebooks/, which shows it; all but 'table' draw a figure"
    )
    seeds: SeedsAsWritten = Field(
        description="how many replicates, numbered from 0; or a list of their numbers; or data:, "
        "network: (w0) and clustering: (random starts) apart, each a list or one number for all"
    )
    network: NetworkOptions = Field(NetworkOptions(), description="the network f_w")
    settings: Annotated[dict[SettingName, Setting], NonEmpty] = Field(
        description="by name; in files they need to say only what differs from the experiment's "
        "data, methods and run, and null leaves one out"
    )
    protocol: Literal["accuracy", "mean_error", "period", "iterations"] = Field(
        default_factory=_usual_protocol,
        description="how results are scored; accuracy for classification, else mean_error",
    )
    tuning: Tuning | None = Field(
        None, description="without it methods have the options that stand under methods"
    )
    _untuned: dict[str, str] = PrivateAttr(default_factory=dict)  # method: the file without it

    def choices(self, setting: str, method: str) -> list[Options]:
        """Option sets that a method is trained with: the selected one, then the oracle's."""
        section = getattr(self.settings[setting].methods, METHODS[method].section)
        chosen = [section]
        if isinstance(section, Baseline):
            chosen = [c for c in (section.selected, section.oracle) if c is not None]
        return [c.model_dump(mode="json") for c in chosen]

    def options(self, setting: str, method: str) -> list[Options]:
        """Give :meth:`choices`, where they have been made.

        Raises
        ------
        KerhrmError
            If the experiment has a search, and its result is not at hand.
        """
        if method in self._untuned:
            raise KerhrmError(
                f"{self._untuned[method]}: there are no tuned options of {method}",
                "run `snakemake tune`, then `snakemake publish_tuned` or all with "
                "--config tuned=results/paper/tuned",
            )
        return self.choices(setting, method)

    @property
    def tuned_methods(self) -> list[str]:
        """Methods of the tuning settings that have a grid."""
        assert self.tuning is not None
        run = [m for s in self.tuning.settings for m in self.settings[s].run]
        return [m for m in dict.fromkeys(run) if METHODS[m].grid]

    def for_tuning(self) -> "Search":
        """The experiment that `tune` runs: few settings, seeds that no table uses."""
        assert self.tuning is not None
        tuned, first = self.tuning, self.tuning.first_seed
        settings = {
            name: self.settings[name].model_copy(update={"run": self.tuned_methods})
            for name in tuned.settings
        }
        seeds = list(range(first, first + tuned.seeds))
        own = {"settings": settings, "seeds": seeds, "tuning": None}
        return Search.model_validate(dict(self) | own)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for setting in self.settings.values():
            task = DATA_SETS[setting.data.generator].task
            if self.protocol not in PROTOCOLS[task]:
                why = f"{task} is scored by {' or '.join(PROTOCOLS[task])}"
                raise misfit(["protocol"], self.protocol, why)
        if self.tuning is None:
            return self
        for name in self.tuning.settings:
            if name not in self.settings:
                raise misfit(["tuning", "settings"], name, f"'{name}' is no setting")
        used = {*self.seeds.data, *self.seeds.network, *self.seeds.clustering}
        first = self.tuning.first_seed
        if used & set(range(first, first + self.tuning.seeds)):
            raise misfit(["seeds"], None, "tune would use the same; raise tuning.first_seed")
        return self


class Search(Experiment):
    """What `tune` runs: every candidate of the grids."""

    def choices(self, setting: str, method: str) -> list[Options]:
        """Option sets that a method is trained with: all combinations of its grid."""
        section: Baseline = getattr(self.settings[setting].methods, METHODS[method].section)
        return [c.model_dump(mode="json") for c in section.candidates()]


def _device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError("choose auto, cpu, cuda or cuda:0, cuda:1, ...")
    return name


class Config(Section):
    """The resolved configuration."""

    preset: str = Field(
        "paper", description="a name in config/presets, or the path of a file like those there"
    )
    results: Annotated[str, NonEmpty] = Field(
        "results", description="folder for everything that is generated"
    )
    raw_dir: str | None = Field(
        None, description="folder with raw data files, looked at before anything else"
    )
    tuned: str | None = Field(
        None, description="folder with what `tune` has chosen; null: config/tuned"
    )
    on_missing: Literal["stand-in", "fail"] = Field(
        "stand-in", description="what to do when no source has a raw file"
    )
    device: Annotated[str, AfterValidator(_device)] = Field(
        "auto", description="auto, cpu, cuda or cuda:0, cuda:1, ..."
    )
    threads: Count = Field(
        1, description="of a heavy job; fixed, as the last bits of results depend on it"
    )
    bootstrap: Count = Field(10_000, description="resamples of the confidence intervals")
    experiments: Annotated[dict[ExperimentName, Experiment], NonEmpty] = Field(
        description="by name; null leaves one out"
    )

    def plain(self) -> dict[str, Any]:
        """JSON-able content."""
        return self.model_dump(mode="json")

    @model_validator(mode="after")
    def _tables_are_whole(self) -> Self:
        first: dict[str, tuple[str, Experiment]] = {}
        for name, one in self.experiments.items():
            other, shown = first.setdefault(one.table, (name, one))
            if (one.notebook, one.protocol) != (shown.notebook, shown.protocol):
                why = f"{other} shows the same table with another notebook or protocol"
                raise misfit(["experiments", name, "table"], one.table, why)
        return self
