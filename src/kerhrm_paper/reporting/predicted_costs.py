"""How long targets will take: the jobs of a dry run x the costs of published jobs."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.strict_yaml import read_overrides
from kerhrm_paper.reporting.publish import PUBLISHED
from kerhrm_paper.runs.costs import (
    FILE,
    CountSeeds,
    duration,
    estimate,
    planned,
    stored,
)


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
    jobs = planned(targets, config, configfiles)
    wanted = load_config(read_overrides(config), configfiles)
    preset = wanted.preset or PUBLISHED
    path = reference / preset / FILE
    if not path.exists():
        path = reference / FILE
        preset = PUBLISHED
    published = load_config({"preset": preset})
    now = count_seeds(wanted)
    then = count_seeds(published)
    known, unknown = estimate(jobs, stored(path), declared, now=now, then=then)
    summary = _summary(known, len(jobs), cores)
    if unknown:
        names = [f"{number} of {rule}" for rule, number in unknown.items()]
        summary += f"; besides what is not known: {', '.join(names)}"
    if known.empty:
        return summary
    return f"{summary}\n{_by_rule(known)}"


def count_seeds(config: Config) -> CountSeeds:
    """Number of seeds of a place: of its learner, else of its data, else 1."""

    @cache
    def count(place: str) -> int:
        data, _, below = place.partition("/")
        learner, _, _ = below.partition("/")
        if learner:
            try:
                return config.learner(data, learner).n_seeds
            except KerhrmError:  # an older name, say
                pass
        try:
            cell = config.data(data)
        except KerhrmError:  # a table's name
            return 1
        return len(cell.seeds.data)

    return count


def _summary(known: pd.DataFrame, n_jobs: int, cores: int) -> str:
    """All jobs in one line."""
    seconds = known["seconds"].sum()
    longest = memory = 0.0
    if len(known):
        longest = known["seconds"].max()
        memory = known["memory_mb"].max()
    wall = max(seconds / cores, longest)
    text = f"{n_jobs} jobs: {duration(wall)} on {cores} cores or more, "
    text += f"{duration(seconds)} of one core, {memory / 1000:.1f} GB of memory"
    return text


def _by_rule(known: pd.DataFrame) -> str:
    """Jobs and seconds of each rule, the longest first."""
    seconds_of_rules = known.groupby("rule")["seconds"]
    rules = seconds_of_rules.agg(jobs="size", core_seconds="sum")
    rules = rules.sort_values("core_seconds", ascending=False)
    rules = rules.reset_index()
    return rules.to_string(index=False, float_format="%.0f")
