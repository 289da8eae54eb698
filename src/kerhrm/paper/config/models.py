"""Models of the configuration's files; every field's description is its
documentation."""

import itertools
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from kerhrm.options import Natural, NonEmpty, Number, Options, Some, misfit, option
from kerhrm.paper.config.alternatives import Alternative as Alternative
from kerhrm.paper.config.alternatives import Choice
from kerhrm.paper.config.fields import (
    DEVICES,
    MAX_SEEDS,
    MAX_THREADS,
    Cell,
    Criteria,
    Criterion,
    DataName,
    Differing,
    Entries,
    Folder,
    FolderName,
    LearnerName,
    LearnerPattern,
    Name,
    Place,
    PlacePattern,
    Replicate,
    Seeds,
    Selected,
    Shown,
    Values,
    WithoutNull,
    matching,
)

STREAMS = ("data", "network", "clustering")
FIRST_SEARCHED = 100  #: seed of a search, beyond those of the tables
#: kinds of scores by task of the data; the first one is the default
KINDS = {
    "classification": ("accuracy", "shift", "iterations"),
    "regression": ("mean_error", "period"),
}


class MoreSeeds(Options):
    """Learners with more replicates than the others."""

    seeds: Seeds = Field(description="all of them; the first ones are those of `seeds`")
    learners: Annotated[Some[LearnerName], Differing] = Field(
        description="learners that have all of them"
    )


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
    selected_from: DataName | None = option(
        None, "data set that options were selected on; null: itself"
    )


class Tuning(Options):
    """What the preset ``tuning`` runs."""

    settings: Annotated[Some[Name], Differing] = Field(
        description="scores of a candidate are averaged over them"
    )
    n_seeds: Annotated[int, Field(gt=0, le=MAX_SEEDS), Number] = option(
        5, "number of replicates"
    )

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

    like: LearnerName | None = option(
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
    selected: Selected | None = option(
        None, "learner whose options are taken; null: itself; or none"
    )
    criteria: Shown | None = option(
        None, "shown; null: all if it has candidates, else own"
    )
    at: dict[PlacePattern, At] = option(
        {}, "changes on DATA, DATA/SETTING or a pattern; later ones win"
    )

    @model_validator(mode="after")
    def _tries_one_list(self) -> Self:
        gridded = [place for place, one in self.at.items() if one.grid]
        if self.candidates and (self.grid or gridded):
            grid = "grid" if self.grid else f"at {gridded[0]} a grid"
            raise ValueError(f"it has {grid} and candidates; delete one of them")
        return self


class Cells(Options):
    """One setting of a table."""

    label: str | None = option(
        None, "shown in the column `setting`; null: the setting's name"
    )
    learners: Annotated[Some[LearnerName], Differing] | None = option(
        None, "null: those of the table"
    )


def _settings(value: Any) -> Any:
    """``[PLACE, ...]`` stands for settings without changes."""
    if isinstance(value, str):
        raise ValueError(f"must be a list; write [{value}]")
    return {place: {} for place in _once(value)} if isinstance(value, list) else value


def _once(items: list[Any]) -> list[Any]:
    if len(items) > len({str(item) for item in items}):
        raise ValueError("a setting is given twice; write each once")
    return items


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
    outputs: dict[LearnerPattern, Some[str]] = option(
        {}, "shown, by learner or pattern with *; else all"
    )
    learners: Annotated[list[LearnerName], Differing] = option(
        [], "learners of every setting"
    )
    marks: dict[LearnerName, str] = option(
        {}, "mark of a learner in this table, in place of its own"
    )
    settings: Annotated[
        dict[Place, Cells], NonEmpty, WithoutNull, BeforeValidator(_settings)
    ] = Field(
        description="DATA/SETTING, with a label and learners of its own if it has any"
    )
    choices: Annotated[list[LearnerName], Differing] = option(
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


class Whole(Options):
    """All files of ``config/`` together."""

    preset: Name = option("paper", "a name in config/presets")
    results: FolderName = option("results", "folder of everything that is generated")
    raw_dir: Folder | None = option(None, "folder with raw data files, searched first")
    on_missing: Literal["fallback", "fail"] = option(
        "fail", "raw files: synthetic, or an error"
    )
    device: Annotated[str, matching(r"auto|cpu|cuda(:\d+)?", f"must be {DEVICES}")] = (
        option("auto", DEVICES)
    )
    threads: Annotated[int, Field(gt=0, le=MAX_THREADS), Number] = option(
        1, "of a heavy job; last bits depend on it"
    )
    seed_offset: Natural = option(0, "added to every seed of the tables")
    search: bool = option(
        False, "train all candidates at the tuning settings and seeds"
    )
    data: Entries[DataSet] = Field(description="data sets by name")
    learners: Entries[Learner] = Field(description="learners by name")
    tables: Entries[Table] = Field(description="tables by name")
    selected: dict[DataName, dict[LearnerName, dict[Criterion, Values]]] = option(
        {}, "by data, learner, criterion"
    )
    choices: Annotated[dict[str, Choice], WithoutNull] = option(
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
