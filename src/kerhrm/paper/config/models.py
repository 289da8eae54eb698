"""Models of the configuration's files; every field's description is its
documentation."""

import itertools
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    model_validator,
)

from kerhrm.options import Count, Natural, NonEmpty, Options, Some, misfit, option

#: folders of a run and targets of the workflow
RESERVED = (
    "all",
    "benchmarks",
    "check_claims",
    "check_results",
    "claims",
    "data",
    "extract_features",
    "features",
    "fetch_raw",
    "figures",
    "generate_data",
    "iterations",
    "learn_direction",
    "learn_environments",
    "logs",
    "make_table",
    "measure_choices",
    "notebooks",
    "own_table",
    "provenance",
    "raw",
    "render_notebook",
    "render_report",
    "report",
    "score",
    "scores",
    "select",
    "select_hyperparameters",
    "selected",
    "studies",
    "tables",
    "temporary",
    "test_endpoints",
    "test_heterogeneity",
    "train",
    "train_network",
    "verify",
    "write_configuration",
)
MAX_SEEDS = 10_000
DEVICES = "auto, cpu, cuda or cuda:N"
STREAMS = ("data", "network", "clustering")
FIRST_SEARCHED = 100  #: seed of a search, beyond those of the tables
#: kinds of scores by task of the data; the first one is the default
KINDS = {
    "classification": ("accuracy", "shift", "iterations"),
    "regression": ("mean_error", "period"),
}


def check_name(name: str) -> str:
    """Refuse a name that cannot be a folder or a target."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_=.+-]{0,79}", name) or ".." in name:
        raise ValueError(
            "must be up to 80 letters, digits and _=.+-, and not begin with a sign"
        )
    if name.lower() in RESERVED or name.endswith("."):
        raise ValueError("the name is reserved; choose another one")
    return name


def _matches(pattern: str, text: str) -> AfterValidator:
    """Refuse text that does not match, in words."""

    def check(value: str) -> str:
        if re.fullmatch(pattern, value):
            return value
        raise ValueError(text)

    return AfterValidator(check)


Name = Annotated[str, AfterValidator(check_name)]
Place = Annotated[str, _matches("[^/]+/[^/]+", "must be DATA/SETTING")]
Values = dict[str, Any]
Cell = tuple[str, str, str]  #: data set, setting, learner
Item = TypeVar("Item")


def _without_null(entries: Any) -> Any:
    """Leave out entries that a file sets to null."""
    if not isinstance(entries, dict):
        return entries
    return {name: one for name, one in entries.items() if one is not None}


Entries = Annotated[dict[Name, Item], NonEmpty, BeforeValidator(_without_null)]


#: seeds of the data, of the initial weights w_0 and of all random initialisations
Replicate = tuple[Natural, Natural, Natural]


def _spell_out(seeds: Any) -> Any:
    """``10``: 0 to 9, the same in every stream; ``crossed: 4``: all combinations of
    four each."""
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if not 0 < seeds <= MAX_SEEDS:
            raise ValueError(f"write a number from 1 to {MAX_SEEDS}")
        seeds = list(range(seeds))
    if isinstance(seeds, dict) and set(seeds) == {"crossed"}:
        n = TypeAdapter(Annotated[int, Field(gt=0, le=20)]).validate_python(
            seeds["crossed"]
        )
        return list(itertools.product(range(n), repeat=3))
    if not isinstance(seeds, list):
        raise ValueError("write a number, a list of seeds, or crossed: N")
    return [seed if isinstance(seed, list | tuple) else (seed,) * 3 for seed in seeds]


def _differ(seeds: list[Replicate]) -> list[Replicate]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is given twice; write each once")
    return seeds


Seeds = Annotated[Some[Replicate], BeforeValidator(_spell_out), AfterValidator(_differ)]
Criteria = Literal["all", "own"]
Shown = Literal["all", "own", "others"]


class MoreSeeds(Options):
    """Learners with more replicates than the others."""

    seeds: Seeds = Field(description="all of them; the first ones are those of `seeds`")
    learners: Some[Name] = Field(description="learners that have all of them")


class Setting(Options):
    """Data of one column of a table, and what it changes in the data set's own keys."""

    options: Values = option(
        {}, "of the generator; a setting's lie over those of its data set"
    )
    seeds: Seeds | None = option(
        None,
        "number of replicates; or a list of seeds, of which one may be a "
        "list, of the data, of the "
        "network and of the clustering; or crossed: N, every combination of N of each",
    )
    more_seeds: MoreSeeds | None = option(None, "learners with more replicates")
    network: Values | None = option(None, "options of the network f_w")
    features: Values | None = option(
        None, "reduction by landmarks; null: the whole kernel matrix"
    )
    criteria: Criteria | None = option(
        None, "whose choices are trained: all (null) or own"
    )
    selected_from: str | None = option(
        None, "data set that options were selected on; null: itself"
    )


class Tuning(Options):
    """What the preset ``tuning`` runs."""

    settings: Some[Name] = Field(
        description="scores of a candidate are averaged over them"
    )
    n_seeds: Annotated[Count, Field(le=MAX_SEEDS)] = option(5, "number of replicates")

    @property
    def seeds(self) -> list[Replicate]:
        """Seeds of the search."""
        return [
            (seed,) * 3 for seed in range(FIRST_SEARCHED, FIRST_SEARCHED + self.n_seeds)
        ]


class DataSet(Setting):
    """A data set: its generator, its settings, and what all of them share."""

    title: str = Field(description="shown in tables and reports")
    generator: str = Field(description="name of the generator (kerhrm.paper.data)")
    seeds: Seeds = Field(description="as of a setting")
    settings: Entries[Setting] = Field(description="by name")
    tuning: Tuning | None = option(None, "null: nothing is selected on this data set")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.tuning is None:
            return self
        search = set(itertools.chain(*self.tuning.seeds))
        for seeds in (
            self.seeds,
            *(s.seeds for s in self.settings.values() if s.seeds),
        ):
            if search & set(itertools.chain(*seeds)):
                raise misfit(
                    "tables have seeds of the search, too; lower them", "tuning"
                )
        return self


class At(Options):
    """What a learner changes on some data."""

    options: Values = option({}, "of the method")
    grid: dict[str, Some[Any]] = option({}, "values to try, over those of the learner")


class Learner(Options):
    """A method with its hyperparameters."""

    like: Name | None = option(
        None, "learner whose method, options, at and titles it takes over"
    )
    method: str | None = option(None, "of kerhrm.methods; null: that of `like`")
    mark: str | None = option(None, "shown behind the setting's name, for example K=3")
    titles: dict[str, str] = option({}, "row of the tables, by output of the method")
    steps: bool | None = option(
        None, "whether M_c and M_p are jobs of their own; null: as `like`"
    )
    options: Values = option({}, "of the method")
    grid: dict[str, Some[Any]] = option(
        {}, "values to try; all combinations are candidates"
    )
    candidates: list[Values] = option([], "options to try, instead of `grid`")
    selected: str | None = option(
        None, "learner whose options are taken; null: itself; or none"
    )
    criteria: Shown | None = option(
        None, "shown; null: all if it has candidates, else own"
    )
    at: dict[str, At] = option(
        {}, "changes on DATA, DATA/SETTING or a pattern; later ones win"
    )


class Cells(Options):
    """One setting of a table."""

    label: str | None = option(
        None, "shown in the column `setting`; null: the setting's name"
    )
    learners: list[Name] | None = option(None, "null: those of the table")


def _settings(value: Any) -> Any:
    return (
        {place: {} for place in value}
        if isinstance(value, list)
        else _without_null(value)
    )


class Table(Options):
    """A view: settings x learners."""

    title: str = Field(description="of the table")
    about: str = option("", "what its notebook says first, Markdown")
    kind: str | None = option(
        None, "of its scores; null: accuracy or mean_error, by the task"
    )
    in_all: bool = option(
        True,
        "whether `snakemake all` makes it, and all criteria are shown; else own ones",
    )
    outputs: dict[str, Some[str]] = option(
        {}, "shown, by learner or pattern with *; else all"
    )
    learners: list[Name] = option([], "learners of every setting")
    marks: dict[Name, str] = option(
        {}, "mark of a learner in this table, in place of its own"
    )
    settings: Annotated[dict[Place, Cells], NonEmpty, BeforeValidator(_settings)] = (
        Field(
            description="DATA/SETTING, with a label and learners of its own "
            "if it has any"
        )
    )
    choices: list[Name] = option(
        [], "adds alternatives of choices.yaml, for these learners"
    )

    @property
    def cells(self) -> list[Cell]:
        """Data set, setting and learner of every cell, in order."""
        return [
            (*place.split("/"), learner)  # type: ignore[misc]
            for place, one in self.settings.items()
            for learner in (one.learners if one.learners is not None else self.learners)
        ]

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the settings: their names, where ``+`` stands for a comma."""
        names = {
            place: place.split("/")[1].replace("+", ",") for place in self.settings
        }
        return {
            place: one.label or names[place] for place, one in self.settings.items()
        }


class Alternative(Options):
    """Another choice.

    Other options of a learner or of the data, or another row of the table.
    """

    to: str = Field(description="the other choice, in words")
    where: Some[str] = Field(description="data sets on which it is measured")
    learner: Name = option("kerhrm", "learner whose options change")
    set: Values = option({}, "its options that change")
    data: Values = option(
        {}, "options of the data that change instead; a setting of its own"
    )
    network: Values = option({}, "options of the network that change instead")
    mark: str = option(
        "", "shown behind the setting's name; alternatives with a title need none"
    )
    only: str | None = option(None, "title of the only row that can change; null: all")
    title: str | None = option(None, "title of a row that stands in the table already")
    instead: str | None = option(None, "title of the row that takes its place")
    selection: str | None = option(
        None, "criterion that takes the place of the row's own"
    )

    @property
    def name(self) -> str:
        """Mark of the changed setting, or the row and what takes its place."""
        return self.mark or f"{self.title}: {self.instead or self.selection}"

    @property
    def learner_name(self) -> str:
        """Name of the learner whose options change.

        ``kerhrm_T_1``, ``eiil_loss_logistic``.
        """
        mark = re.sub("[=,]", "_", self.mark)
        return mark if mark.startswith(f"{self.learner}_") else f"{self.learner}_{mark}"

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if sum(map(bool, (self.set, self.data, self.network, self.title))) != 1:
            raise ValueError("give one of set, data, network and title")
        if bool(self.title) == bool(self.mark):
            raise ValueError("give a mark, or a title")
        if self.title and bool(self.instead) == bool(self.selection):
            raise ValueError("give instead or selection")
        return self


class Choice(Options):
    """What the paper leaves open or says in two ways, and the measured alternatives."""

    title: str = Field(description="the choice")
    paper: Some[dict[Literal["words", "where"], str]] = Field(
        description="what the paper says"
    )
    authors_code: str = Field(description="what the authors' code does")
    default: str = Field(description="what is done here")
    because: str = Field(description="why")
    alternatives: list[Alternative] = option([], "whose effect is measured")
    unmeasured: str | None = option(None, "why there are none")


def check_there(folder: str) -> str:
    """Refuse a folder that is not there."""
    if not Path(folder).expanduser().is_dir():
        raise ValueError("the folder does not exist; correct its name")
    return folder


Folder = Annotated[str, AfterValidator(check_there)]


class Whole(Options):
    """All files of ``config/`` together."""

    preset: Name = option("paper", "a name in config/presets")
    results: Annotated[
        str, _matches(r"[^{}\x00-\x1f]+", "must be a path without { and }")
    ] = option("results", "folder of everything that is generated")
    raw_dir: Folder | None = option(None, "folder with raw data files, searched first")
    on_missing: Literal["fallback", "fail"] = option(
        "fail", "raw files: synthetic, or an error"
    )
    device: Annotated[str, _matches(r"auto|cpu|cuda(:\d+)?", f"must be {DEVICES}")] = (
        option("auto", DEVICES)
    )
    threads: Annotated[Count, Field(le=256)] = option(
        1, "of a heavy job; last bits depend on it"
    )
    seed_offset: Natural = option(0, "added to every seed of the tables")
    search: bool = option(
        False, "train all candidates at the tuning settings and seeds"
    )
    data: Entries[DataSet] = Field(description="data sets by name")
    learners: Entries[Learner] = Field(description="learners by name")
    tables: Entries[Table] = Field(description="tables by name")
    selected: dict[Name, dict[Name, dict[str, Values]]] = option(
        {}, "by data, learner, criterion"
    )
    choices: Annotated[dict[str, Choice], BeforeValidator(_without_null)] = option(
        {}, "what the paper leaves open"
    )

    def nearest(
        self, data: str, setting: str, field: str
    ) -> tuple[tuple[str, ...], Any]:
        """Key and value of a field of a setting, or of its data set, where only that
        has it."""
        at, one = ("data", data), self.data[data]
        if (value := getattr(one.settings[setting], field)) is not None:
            return (*at, "settings", setting, field), value
        return (*at, field), getattr(one, field)

    def seeds(self, data: str, setting: str, learner: str | None = None) -> Values:
        """Seeds and replicates of a setting, or of a learner in it."""
        tuning = self.data[data].tuning
        seeds, more = (
            self.nearest(data, setting, f)[1] for f in ("seeds", "more_seeds")
        )
        if more and (learner is None or learner in more.learners):
            seeds = more.seeds
        offset = self.seed_offset
        if self.search and tuning:
            seeds, offset = tuning.seeds, 0
        seeds = [tuple(seed + offset for seed in one) for one in seeds]
        streams = dict(zip(STREAMS, map(list, zip(*seeds, strict=True)), strict=True))
        names = [
            ",".join(f"{s}={n}" for s, n in zip(STREAMS, one, strict=True))
            for one in seeds
        ]
        if all(len(set(one)) == 1 for one in seeds):
            names = streams["data"]
        return {"seeds": streams, "replicates": names}
