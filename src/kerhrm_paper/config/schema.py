"""Which keys do the files of ``config/`` have?

A field's description is its documentation.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from kerhrm.options import NonEmpty, NotBool, Options, Some, misfit, option
from kerhrm_paper.config.fields import (
    DEVICES,
    MAX_OFFSET,
    MAX_THREADS,
    BaseName,
    Bases,
    ByName,
    Differing,
    Entries,
    Folder,
    FolderName,
    Name,
    OptionValues,
    SeedNumber,
    WithoutNull,
    matching,
)
from kerhrm_paper.config.spelling import base_of

FIRST_SEARCHED = 100  #: seed of a search, beyond those of the tables
#: kinds of scores by task of the data; the first one is the default
KINDS = {
    "classification": ("accuracy", "shift", "iterations"),
    "regression": ("mean_error", "period"),
}
#: what may choose among a learner's candidates
CriterionName = Literal["pooled", "worst_inferred", "worst_true", "oracle", "none"]
Select = Literal["own", "pooled", "worst_inferred", "worst_true", "oracle", "none"]
Distinct = Annotated[list[str], Differing]  #: names, none twice
SomeDistinct = Annotated[Some[str], Differing]  #: and at least one
Selects = Annotated[Some[Select], Differing]


def _kind_of_seeds(value: Any) -> str:
    """How seeds are given, as errors' places have it."""
    return "[map]" if isinstance(value, dict) else "[number]"


#: a number of seeds, or numbers by DATA and DATA/LEARNER
SeedNumbers = Annotated[
    Annotated[SeedNumber, Tag("[number]")]
    | Annotated[ByName[SeedNumber], Tag("[map]")],
    Discriminator(_kind_of_seeds),
]


class DataAt(Options):
    """What a data set changes where some of its options have certain values."""

    options: OptionValues = option({}, "of the generator")
    network: OptionValues = option({}, "of the network f_w")
    features: OptionValues = option({}, "of the features")


class Tuning(Options):
    """What the preset ``tuning`` runs."""

    data: SomeDistinct = Field(
        description="data by name; scores of a candidate are averaged over them"
    )
    seeds: SeedNumber = option(5, "number of replicates")


class DataSet(Options):
    """A data set: its generator, network, features and seeds."""

    title: str = Field(description="shown in tables and reports")
    generator: str = Field(description="name of the generator (kerhrm_paper.data)")
    options: OptionValues = option({}, "of the generator")
    network: OptionValues = option({}, "of the network f_w")
    features: OptionValues = option({}, "how many there are, and how they are found")
    at: ByName[DataAt] = option({}, "changes by data, as DATA+option=value")
    seeds: SeedNumbers = Field(
        description="number of replicates; or by DATA, DATA+option=value or "
        "DATA/LEARNER, exactly as they are written"
    )
    select_on: BaseName | None = option(
        None, "data set that options were selected on; null: itself"
    )
    tuning: Tuning | None = option(None, "null: nothing is selected on this data set")


class LearnerAt(Options):
    """What a learner changes on some data."""

    options: OptionValues = option({}, "of the method")
    grid: ByName[Some[Any]] = option({}, "values to try, over those of the learner")
    candidates: Some[OptionValues] = option(
        [], "options to try, instead of what the learner tries elsewhere"
    )


class Learner(Options):
    """A method with its hyperparameters."""

    method: str = Field(description="of kerhrm.methods")
    titles: Annotated[dict[str, str], NonEmpty, WithoutNull] = Field(
        description="row of the tables, by output of the method"
    )
    options: OptionValues = option({}, "of the method")
    at: ByName[LearnerAt] = option(
        {}, "changes by data, as DATA+option=value; later ones win"
    )
    at_only: bool = option(
        False, "whether it is for the data of `at` alone, and refused on others"
    )
    grid: ByName[Some[Any]] = option(
        {}, "values to try; all combinations are candidates"
    )
    candidates: Some[OptionValues] = option([], "options to try, instead of `grid`")
    tuned_as: BaseName | None = option(
        None, "learner whose selected options it takes; null: itself"
    )
    checkpoint_iterations: bool = option(
        False, "whether M_c and M_p are jobs of their own"
    )
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False), NotBool] | None = (
        option(
            None,
            "minutes that a fit may take; if it takes longer or fails, its row says "
            "so; null: no limit, and a failure ends the run",
        )
    )

    @model_validator(mode="after")
    def _tries_one_list(self) -> Self:
        both = []
        if self.grid and self.candidates:
            both.append("grid")
        for condition, change in self.at.items():
            if change.grid and change.candidates:
                both.append(f"at {condition} a grid")
        if both:
            problem = f"it has {both[0]} and candidates"
            raise ValueError(f"{problem}; delete one of them")
        if self.timeout is not None and self.checkpoint_iterations:
            raise misfit("is of learners without checkpoint_iterations", "timeout")
        return self

    @property
    def is_tuned(self) -> bool:
        """Whether it has candidates, of which a criterion selects one."""
        places: list[Learner | LearnerAt] = [self, *self.at.values()]
        return any(place.grid or place.candidates for place in places)

    @property
    def all_candidates(self) -> list[dict[str, Any]]:
        """Candidates that are given one by one, on any data."""
        candidates = list(self.candidates)
        for change in self.at.values():
            candidates += change.candidates
        return candidates


class TableData(Options):
    """Data of a table."""

    label: str | None = option(None, "shown in the column `setting`; null: its options")
    learners: SomeDistinct | None = option(None, "null: those of the table")
    select: Selects | None = option(None, "null: those of the table")


def _once(value: Any) -> Any:
    """``[DATA, ...]`` stands for data without changes."""
    if isinstance(value, str):
        raise ValueError(f"must be a list; write [{value}]")
    if not isinstance(value, list):
        return value
    for item in value:
        if not isinstance(item, str):
            raise ValueError("must be names; write DATA: {label: TEXT} without a dash")
    changes: dict[str, Any] = {}
    for name in value:
        if name in changes:
            raise ValueError("data are given twice; write each once")
        changes[name] = {}
    return changes


class Table(Options):
    """A view: data x learners, by their names."""

    title: str = Field(description="of the table")
    about: str = option("", "what its notebook says first, Markdown")
    kind: str | None = option(
        None, "of its scores; null: accuracy or mean_error, by the task"
    )
    in_all: bool = option(True, "whether `snakemake all` makes it")
    data: Annotated[
        dict[str, TableData], NonEmpty, WithoutNull, BeforeValidator(_once)
    ] = Field(
        description="by name, each with a label and learners of its own if it has any"
    )
    learners: Distinct = option([], "of all data, by name")
    select: Selects = option(
        ["own"],
        "criteria by which options were selected, a row each, of learners whose "
        "names have no options",
    )
    seeds: SeedNumber | None = option(None, "how many are shown; null: all")
    outputs: ByName[SomeDistinct] = option(
        {}, "shown, by learner's name, or by what it begins with; else all"
    )
    labels: ByName[str] = option({}, "of options, over those of labels.yaml")
    choices: Distinct = option(
        [], "adds alternatives of choices.yaml; learners on those of the data"
    )


class Alternative(Options):
    """Another choice: other options of a learner or of the data, or another row of the
    table."""

    to: str = Field(description="the other choice, in words")
    data: str | None = option(None, "data with the other choice, by name")
    learner: str | None = option(None, "learner with the other choice, by name")
    where: Annotated[list[BaseName], Differing] = option(
        [], "data sets on which it is measured; of data, that of its name"
    )
    only: str | None = option(None, "title of the only row that can change; null: all")
    title: str | None = option(None, "title of a row that stands in the table already")
    instead: str | None = option(None, "title of the row that takes its place")
    select: CriterionName | None = option(
        None, "criterion that takes the place of the row's own"
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        changes = [self.data, self.learner, self.title]
        changed = list(filter(None, changes))
        if len(changed) != 1:
            raise ValueError("give one of data, learner and title")
        replacements = list(filter(None, [self.instead, self.select]))
        if self.title and len(replacements) != 1:
            raise ValueError("give instead or select")
        if self.data and self.where:
            raise misfit("is that of data; leave it out", "where")
        if not self.data and not self.where:
            raise misfit("is missing; name the data sets", "where")
        return self

    @property
    def name(self) -> str:
        """What tells it from others: a name, or the row and what takes its place."""
        return (
            self.data or self.learner or f"{self.title}: {self.instead or self.select}"
        )

    @property
    def places(self) -> list[str]:
        """Data sets on which it is measured."""
        if self.data:
            return [base_of(self.data)]
        return self.where


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


#: options of a learner, by criterion; of a data set, by learner; of all data sets
ByCriterion = Annotated[dict[Select, OptionValues], WithoutNull]
OfLearners = Annotated[dict[BaseName, ByCriterion], WithoutNull]
Selected = Annotated[dict[BaseName, OfLearners], WithoutNull]


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
    threads: Annotated[int, Field(gt=0, le=MAX_THREADS), NotBool] = option(
        1, "of a heavy job; last bits depend on it"
    )
    seed_offset: Annotated[int, Field(ge=0, le=MAX_OFFSET), NotBool] = option(
        0, "added to every seed of the tables"
    )
    search: bool = option(False, "train all candidates on the tuning data and seeds")
    data: Bases[DataSet] = Field(description="data sets by name")
    learners: Bases[Learner] = Field(description="learners by name")
    tables: Entries[Table] = Field(description="tables by name")
    labels: ByName[str] = option(
        {}, "what tables show for an option, `option=value`, or a data set"
    )
    selected: Selected = option({}, "by data set, learner, criterion")
    choices: ByName[Choice] = option({}, "what the paper leaves open")
    published: ByName[str] = option(
        {}, "files of scores by table, whose learners it shows without training them"
    )
