"""How long targets will take: the jobs of a dry run x the costs of published jobs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.spelling import base_of, unselected
from kerhrm_paper.config.strict_yaml import read_overrides
from kerhrm_paper.config.views import Cell
from kerhrm_paper.reporting.publication import PUBLISHED
from kerhrm_paper.runs.costs import FILE, planned, stored, time_in_words

#: a job starts Python and PyTorch, however many fits it has
START_SECONDS = 3.0

CountFits = Callable[[str], int]


def _one(place: str) -> int:
    """As many fits for any place: what took so long takes as long again."""
    return 1


def predict(
    targets: Sequence[str],
    reference: Path,
    cores: int = 2,
    config: Sequence[str] = (),
    configfiles: Sequence[Path] = (),
    declared: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """What targets will take on a machine as that of the published run.

    Parameters
    ----------
    targets : sequence of str
        Of Snakemake.
    reference : Path
        Published results.  Those of the same preset count, if it has any.
    cores : int
        Of the machine.
    config, configfiles : sequences
        ``KEY=VALUE`` and files, as Snakemake takes them.
    declared : mapping
        Seconds of rules that no run has measured.

    Returns
    -------
    str
        In all, and by rule.

    Raises
    ------
    KerhrmError
        If there are no cores, or Snakemake or the configuration refuses the command.
    """
    if cores < 1:
        raise KerhrmError(f"--cores must be at least 1; got {cores}", "use --cores 1")
    overrides = read_overrides(config)
    jobs = planned(targets, config, configfiles)
    wanted = load_config(overrides, configfiles)
    preset = wanted.preset or PUBLISHED
    path = reference / preset / FILE
    if not path.exists():
        path = reference / FILE
        preset = PUBLISHED
    published = load_config({"preset": preset})
    now = count_fits(wanted)
    then = count_fits(published)
    known, unknown = estimate(jobs, stored(path), declared, now=now, then=then)
    summary = _summary(known, len(jobs), cores)
    if unknown:
        names = [f"{number} of {rule}" for rule, number in unknown.items()]
        summary += f"; besides what is not known: {', '.join(names)}"
    if known.empty:
        return summary
    return f"{summary}\n{_by_rule(known)}"


def count_fits(config: Config) -> CountFits:
    """Number of fits of the job of a place.

    One for each seed of every learner that the job trains, else of the data, else 1.
    """
    together: dict[Cell, tuple[str, ...]] = {}
    for group in config.groups:
        first, *_ = group.learners
        together[group.data, first] = group.learners

    @cache
    def count(place: str) -> int:
        data, learner = _cell(place)
        learners = together.get((data, learner), (learner,))
        if learner:
            try:
                return sum(config.learner(data, name).n_seeds for name in learners)
            except KerhrmError:  # an older name, say
                pass
        try:
            cell = config.data(data)
        except KerhrmError:  # a table's name
            return 1
        return len(cell.seeds.data)

    return count


def estimate(
    jobs: Sequence[tuple[str, str]],
    costs: pd.DataFrame,
    declared: Mapping[str, float] = MappingProxyType({}),
    now: CountFits = _one,
    then: CountFits = _one,
) -> tuple[pd.DataFrame, Counter[str]]:
    """What jobs take.

    As the same job, else on average as the jobs of its rule that are the most alike
    (:func:`likenesses`), else the seconds that are ``declared`` of its rule; in
    proportion to the fits of a job, but for :data:`START_SECONDS`.

    Parameters
    ----------
    jobs : sequence of (rule, place)
        That are to run.
    costs : DataFrame
        Of jobs that have run.
    declared : mapping
        Seconds of rules that none has measured.
    now, then : functions
        Number of fits of a place in the run to come, and in the one of ``costs``.

    Returns
    -------
    DataFrame
        Rule, seconds and memory of each.
    Counter
        By rule the number of jobs of which none has run.
    """
    rows = []
    unknown = Counter[str]()
    for rule, place in jobs:
        of_rule = costs[costs["rule"] == rule]
        if of_rule.empty and rule in declared:
            row = (rule, declared[rule], 0.0)
            rows.append(row)
            continue
        if of_rule.empty:
            unknown[rule] += 1
            continue
        alike = _most_alike(of_rule, place)
        start = alike["seconds"].clip(upper=START_SECONDS)
        of_fits = alike["seconds"] - start
        of_a_fit = of_fits / alike["place"].map(then)
        each = start + of_a_fit * now(place)
        memory = alike["memory_mb"].max()
        row = (rule, each.mean(), memory)
        rows.append(row)
    known = pd.DataFrame(rows, columns=["rule", "seconds", "memory_mb"])
    known = known.astype({"seconds": float, "memory_mb": float})
    return known, unknown


def _most_alike(costs: pd.DataFrame, place: str) -> pd.DataFrame:
    """Costs of a rule in the places that are the most like one; else all."""
    every = costs["place"].map(likenesses)
    for number, likeness in enumerate(likenesses(place)):
        is_alike = every.str[number] == likeness
        if is_alike.any():
            return costs[is_alike]
    return costs


@cache
def likenesses(place: str) -> tuple[str, ...]:
    """What a place shares with others, the closest likeness first.

    The place itself; then the learner by any criterion, on the same data or on other
    data of the same base; then any learner of the same base, likewise; then the base
    of the data.
    """
    data, learner = _cell(place)
    base = base_of(data)
    by_any_criterion = unselected(learner)
    of_any_options = base_of(learner)
    return (
        place,
        f"{data}/{by_any_criterion}",
        f"{base}/{by_any_criterion}",
        f"{data}/{of_any_options}",
        f"{base}/{of_any_options}",
        base,
    )


def _cell(place: str) -> Cell:
    """Data and learner of a place; empty if it has none."""
    data, _, below = place.partition("/")
    learner, _, _ = below.partition("/")
    return data, learner


def _summary(known: pd.DataFrame, n_jobs: int, cores: int) -> str:
    """All jobs in one line."""
    seconds = known["seconds"].sum()
    longest = memory = 0.0
    if len(known):
        longest = known["seconds"].max()
        memory = known["memory_mb"].max()
    wall = max(seconds / cores, longest)
    text = f"{n_jobs} jobs: {time_in_words(wall)} on {cores} cores or more, "
    text += f"{time_in_words(seconds)} of one core, {memory / 1000:.1f} GB of memory"
    return text


def _by_rule(known: pd.DataFrame) -> str:
    """Jobs and seconds of each rule, the longest first."""
    seconds_of_rules = known.groupby("rule")["seconds"]
    rules = seconds_of_rules.agg(jobs="size", core_seconds="sum")
    rules = rules.sort_values("core_seconds", ascending=False)
    rules = rules.reset_index()
    return rules.to_string(index=False, float_format="%.0f")
