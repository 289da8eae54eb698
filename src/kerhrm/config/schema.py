"""What a configuration may say, block by block; every field carries its meaning and range.

``docs/configuration.md`` is made from these models and from the options of data sets, networks
and methods, which stand beside their code.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self, Union

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, model_validator

from kerhrm.config.methods import Methods, Tuned
from kerhrm.config.names import Device, ExperimentName, Folder, Name, SettingName
from kerhrm.data.registry import DATA_SETS, task_of
from kerhrm.entries import check, load
from kerhrm.errors import KerhrmError
from kerhrm.features.options import Landmarks
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.sections import Count, Natural, NonEmpty, Section, Some, misfit, option, suggest

SHARED = ("data", "methods", "run")  #: what a file's experiment may say for all its settings
#: by name, what a file changes in every setting S, which gives further settings S,NAME
VARIANTS = "variants"
Options = dict[str, Any]  #: of a method or data set, JSON-able


def _data(said: Any) -> Section:
    """Options of the data set that ``generator`` names."""
    if isinstance(said, Section):
        return said
    if not isinstance(said, dict) or "generator" not in said:
        raise ValueError("generator is missing; add it")
    name = str(said["generator"])
    if name not in DATA_SETS:
        raise misfit(f"no such data set; {suggest(name, DATA_SETS)}", "generator")
    check(DATA_SETS[name].entry)
    return load(DATA_SETS[name].options).model_validate(said)


def _can_run(name: str) -> str:
    if name not in METHODS:
        raise ValueError(f"no such method; {suggest(name, METHODS)}")
    check(METHODS[name].entry)
    return name


_KINDS: Any = Union[tuple(load(d.options) for d in DATA_SETS.values())]  # noqa: UP007
Data = Annotated[Any, BeforeValidator(_data, json_schema_input_type=_KINDS)]
_CHOICE = Field(json_schema_extra={"enum": list(METHODS)})
MethodName = Annotated[str, AfterValidator(_can_run), _CHOICE]


class Setting(Section):
    """One column of a table: data, and what it changes in the methods."""

    data: Data = Field(description="the data set: its generator and what that may be told")
    methods: Methods = Field(description="every method's options")
    run: Some[MethodName] = Field(description="methods of this setting")

    @property
    def dimensions(self) -> dict[str, list[int]]:
        """Numbers of reduced features that its methods ask for, by section."""
        names = {METHODS[m].section: m for m in self.run if METHODS[m].reads != "points"}
        found = {name: _dimensions(getattr(self.methods, name)) for name in names}
        return {name: k or self.methods.kerhrm.k for name, k in found.items()}

    def option_sets(self, method: str, chosen: Iterable[Section]) -> list[Options]:
        """What a method's job is told of option sets that were chosen for it."""
        if METHODS[method].choice:
            chosen = [one.of(self.methods.kerhrm) for one in chosen]  # type: ignore[attr-defined]
        fields = METHODS[method].uses
        used = None if fields is None else set(fields)
        return [one.model_dump(mode="json", include=used) for one in chosen]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        n = self.data.n_points
        for name in self.run:
            needs = METHODS[name].needs
            if needs and needs not in self.run:
                raise misfit(f"{name} needs {needs}; add {needs} to run", "run")
        for section, k in self.dimensions.items():
            if max(k) > n:
                why = f"k={max(k)} exceeds the n={n} training points; lower k or raise n"
                grid = ["grid"] * isinstance(getattr(self.methods, section), Tuned)
                raise misfit(why, "methods", section, *grid, "k")
        clusters = self.methods.kerhrm.clustering.clusters
        if "kerhrm" in self.run and clusters > n:
            why = f"K={clusters} clusters exceed the n={n} training points; lower K or raise n"
            raise misfit(why, "methods", "kerhrm", "clustering", "clusters")
        return self


def _dimensions(section: Section) -> list[int]:
    """Numbers of reduced features that a method's options name, if they do."""
    if isinstance(section, Tuned):
        chosen = [section.selected, *section.rules.values()]
        return [*section.grid.get("k", []), *(k for one in chosen for k in _dimensions(one))]
    k = getattr(section, "k", [])
    return k if isinstance(k, list) else [k]


class Seeds(Section):
    """Numbers of the seeds, one of each list per replicate; each stream of chance has its own."""

    data: Some[Natural] = Field(description="of the data set")
    network: Some[Natural] = Field(description="of the initial weights w0")
    clustering: Some[Natural] = Field(description="of all random starts")

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
    if isinstance(seeds, int):
        seeds = list(range(TypeAdapter(Count).validate_python(seeds)))
    if isinstance(seeds, list):
        return dict.fromkeys(Seeds.model_fields, seeds)
    if isinstance(seeds, dict):
        n = max((len(v) for v in seeds.values() if isinstance(v, list)), default=1)
        return {k: [v] * n if isinstance(v, int) else v for k, v in seeds.items()}
    return seeds


_Stream = Literal["data", "network", "clustering"]
_WRITTEN: Any = Count | list[Natural] | dict[_Stream, Natural | list[Natural]]
SeedsAsWritten = Annotated[Seeds, BeforeValidator(_spelt_out, json_schema_input_type=_WRITTEN)]


class Tuning(Section):
    """What `tune` does for an experiment."""

    settings: Some[SettingName] = Field(
        description="scores are averaged over them; the tables train all option sets here, too"
    )
    seeds: Count = option(5, "number of replicates")
    first_seed: Natural = option(100, "their first number, beyond those of the tables")

    @property
    def numbers(self) -> list[int]:
        """Of the replicates' seeds."""
        return list(range(self.first_seed, self.first_seed + self.seeds))


#: how results may be scored, by the data's task; the first is the usual one
PROTOCOLS = {
    "classification": ("accuracy", "iterations", "groups"),
    "regression": ("mean_error", "period", "groups"),
}


def _usual_protocol(validated: dict[str, Any]) -> Any:
    first: Setting = next(iter(validated["settings"].values()))
    return PROTOCOLS[task_of(first.data)][0]


class Experiment(Section):
    """One experiment: settings that stand side by side in a table."""

    also = (*SHARED, VARIANTS)
    title: str = Field(description="of its table")
    about: str = option("", "what the notebook of its table says first, Markdown")
    table: Name = Field(description="name of its table or figure, a target: `snakemake table1`")
    notebook: Name = option("table", "in notebooks/, which shows it; all but 'table' draw a figure")
    seeds: SeedsAsWritten = Field(
        description="how many replicates, numbered from 0; or a list of their numbers; or data:, "
        "network: (w0) and clustering: (random starts) apart, each a list or one number for all"
    )
    network: NetworkOptions = option(NetworkOptions(), "the network f_w")
    features: Landmarks | None = option(
        None, "of many points: reduce their features by landmarks; null: by the whole kernel"
    )
    in_all: bool = option(True, "whether `snakemake all` makes its table; else its target alone")
    settings: Annotated[dict[SettingName, Setting], NonEmpty] = Field(
        description="by name, what differs from the experiment's own; null leaves one out"
    )
    protocol: Literal["accuracy", "mean_error", "period", "iterations", "groups"] = Field(
        default_factory=_usual_protocol,
        description="how results are scored; accuracy for classification, else mean_error",
    )
    budget: Count = option(8, "option sets that every method is tuned by")
    tuning: Tuning | None = option(
        None, "without it methods have the options that stand under methods"
    )
    tuned_like: ExperimentName | None = option(
        None, "another experiment, whose tuned options its methods have, too"
    )
    _untuned: dict[str, str] = {}  # method: the file that lacks it

    def chosen(self, setting: str, method: str) -> dict[str, Section]:
        """Option sets that rules have chosen for a method, its own rule's first."""
        section = getattr(self.settings[setting].methods, METHODS[method].section)
        if not isinstance(section, Tuned):
            return {METHODS[method].rule: section}
        others = section.rules if self.in_all else {}  # studies show a method's own rule
        return {METHODS[method].rule: section.selected} | others

    def trained(self, setting: str, method: str) -> list[Section]:
        """Option sets that a method is trained with: the chosen ones, then the others on trial.

        The others only in the settings of the search, where an oracle has all of them.
        """
        sets = list(self.chosen(setting, method).values())
        section = getattr(self.settings[setting].methods, METHODS[method].section)
        if isinstance(section, Tuned) and self.has_oracle(setting):
            sets += section.candidates(self.budget)
        return [one for i, one in enumerate(sets) if one not in sets[:i]]

    def has_oracle(self, setting: str) -> bool:
        """Whether the tables train every option set of the search here."""
        return self.tuning is not None and setting in self.tuning.settings

    def shown(self, setting: str, method: str) -> dict[str, int]:
        """By selection rule the number of its choice among :meth:`trained`."""
        sets = self.trained(setting, method)
        return {rule: sets.index(one) for rule, one in self.chosen(setting, method).items()}

    def choices(self, setting: str, method: str) -> list[Options]:
        """What a method's job is told: one after the other of :meth:`trained`."""
        return self.settings[setting].option_sets(method, self.trained(setting, method))

    def options(self, setting: str, method: str) -> list[Options]:
        """Give :meth:`choices`; a :class:`KerhrmError` if they have yet to be made."""
        if method in self._untuned:
            raise KerhrmError(
                f"{self._untuned[method]}: there are no tuned options of {method}",
                "run `snakemake tune`, then `snakemake publish_tuned` or all with "
                "--config tuned=results/paper/tuned",
            )
        return self.choices(setting, method)

    @property
    def tuned_methods(self) -> list[str]:
        """Methods of the tuning settings that are tuned."""
        settings = self.tuning.settings if self.tuning else []
        run = [method for name in settings for method in self.settings[name].run]
        return [method for method in dict.fromkeys(run) if METHODS[method].grid]

    def for_tuning(self) -> "Search":
        """The experiment that `tune` runs: few settings, seeds that no table uses."""
        assert self.tuning is not None
        run = {"run": self.tuned_methods}
        settings = {s: self.settings[s].model_copy(update=run) for s in self.tuning.settings}
        own = {"settings": settings, "seeds": self.tuning.numbers, "tuning": None}
        return Search.model_validate(dict(self) | own)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for setting in self.settings.values():
            task = task_of(setting.data)
            if self.protocol not in PROTOCOLS[task]:
                raise misfit(f"{task} is scored by {' or '.join(PROTOCOLS[task])}", "protocol")
        if self.tuning is None:
            return self
        for name in self.tuning.settings:
            if name not in self.settings:
                raise misfit(f"'{name}' is no setting", "tuning", "settings")
        if {*self.seeds.data, *self.seeds.network, *self.seeds.clustering} & {*self.tuning.numbers}:
            raise misfit("tune would use the same; raise tuning.first_seed", "seeds")
        return self


class Search(Experiment):
    """What `tune` runs: every option set on trial."""

    def trained(self, setting: str, method: str) -> list[Section]:
        """Option sets that a method is trained with."""
        section: Tuned = getattr(self.settings[setting].methods, METHODS[method].section)
        return section.candidates(self.budget)


class Config(Section):
    """The resolved configuration."""

    also = ("methods", "datasets")
    preset: str = option("paper", "a name in config/presets, or the path of a file like those")
    results: Annotated[str, NonEmpty] = option("results", "folder for everything that is generated")
    raw_dir: Folder | None = option(
        None, "folder with raw data files, which goes before all sources"
    )
    tuned: Folder | None = option(None, "folder with what `tune` has chosen; null: config/tuned")
    on_missing: Literal["stand-in", "fail"] = option(
        "stand-in", "what to do when no source has a raw file"
    )
    device: Device = option("auto", "auto, cpu, cuda or cuda:0, cuda:1, ...")
    threads: Count = option(1, "of a heavy job; fixed, as the last bits of results depend on it")
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
            alike = [(e.notebook, e.protocol, e.in_all) for e in (one, shown)]
            if alike[0] != alike[1]:
                why = f"{other} shows the same table with another notebook, protocol or in_all"
                raise misfit(why, "experiments", name, "table")
        return self
