"""Where the time of a run goes, from the files of Snakemake's ``benchmark:``."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from kerhrm.costs.benchmarks import benchmarks
from kerhrm.errors import KerhrmError

#: the rules between raw data and the scores of KerHRM (NTF)
NTF_CHAIN = (
    "generate_data", "extract_ntf", "reduce_ntf", "reduce_by_landmarks", "learn_environments",
    "learn_direction", "test_heterogeneity", "predict_ntf", "score",
)  # fmt: skip
#: how rules begin that make no results of a run: `tune` chooses, `verify` compares, others publish
BESIDE = ("select_hyperparameters", "verify", "publish_")


def read_benchmarks(folder: str | Path) -> pd.DataFrame:
    """One row per job, from files ``<rule>/<experiment>/<setting>...tsv``.

    Rules without experiments leave ``<rule>/<name>.tsv`` or ``<rule>.tsv``.  Columns are ``rule``,
    ``experiment`` (or ""), ``place`` (tuple of str: what stands below the rule) and ``seconds``
    of wall time, start-up included.

    Raises
    ------
    KerhrmError
        If there is no file.
    """
    rows = []
    for (rule, *place), cost in benchmarks(Path(folder)).items():
        rows.append((rule, place[0] if len(place) > 1 else "", tuple(place), cost.s))
    if not rows:
        raise KerhrmError(f"{folder} has no benchmarks (*.tsv)", "run `snakemake all` first")
    return pd.DataFrame(rows, columns=["rule", "experiment", "place", "seconds"])


def of_run(jobs: pd.DataFrame, experiments: Collection[str]) -> pd.DataFrame:
    """Jobs of these experiments, and of none; what is made :data:`BESIDE` them is left out."""
    own = jobs["experiment"].isin(["", *experiments])
    return jobs[own & ~jobs["rule"].str.startswith(BESIDE)]


def compute_times(benchmarks: pd.DataFrame, experiments: Sequence[str]) -> str:
    """Seconds by rule and experiment, as a Markdown table that begins and ends as the data walk."""
    wide = benchmarks.pivot_table(
        index="rule", columns="experiment", values="seconds", aggfunc="sum", fill_value=0.0
    ).reindex(columns=list(experiments), fill_value=0.0)
    wide = wide[wide.sum(axis=1) > 0].rename_axis(columns=None)
    others = sorted(set(wide.index) - set(NTF_CHAIN))
    wide = wide.reindex([r for r in (*NTF_CHAIN[:-1], *others, NTF_CHAIN[-1]) if r in wide.index])
    chain = wide[wide.index.isin(NTF_CHAIN)].sum()
    wide.loc["all rules"] = wide.sum()
    wide.loc["from data to the scores of KerHRM (NTF)"] = chain
    return wide.to_markdown(floatfmt=".1f") + "\n"
