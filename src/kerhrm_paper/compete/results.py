"""What a contest has found, and the answer for each table in a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

#: metrics in words
WORDS = {
    "test_acc": "test accuracy",
    "worst_acc": "worst accuracy",
    "mean_error": "mean error",
    "worst_error": "worst error",
    "mse": "mean squared error",
}


@dataclass(frozen=True)
class Results:
    """What the page shows.

    Attributes
    ----------
    titles : sequence of str
        Rows of the method.
    minutes : float
        Limit of a fit.
    ranks : DataFrame
        Of :func:`kerhrm_paper.compete.ranks.ranks`.
    tables : mapping of str to str
        Titles of the tables by name.
    comparisons : DataFrame
        Of KerHRM with the method, by table.
    candidates : DataFrame
        Candidates of the search by data set; empty if there was none.
    notices : sequence of str
        What a reader has to know of the numbers.
    figures : mapping of str to Path
        Images (PNG) with all methods, by table.
    unranked : mapping of str to str
        Why tables have no ranks, by name.
    failures : mapping of (str, str) to str
        Why a row of the method lacks values in a table without ranks, by both names.
    missing : mapping of str to sequence of str
        Methods that a table has at the preset fresh alone.
    failed_candidates : sequence of str
        Why some candidates have no score.
    caution : str
        Why the ranks say nothing, which has to be read first; empty if they do.
    """

    titles: Sequence[str]
    minutes: float
    ranks: pd.DataFrame
    tables: Mapping[str, str]
    comparisons: pd.DataFrame
    candidates: pd.DataFrame
    notices: Sequence[str] = ()
    figures: Mapping[str, Path] = field(default_factory=dict)
    unranked: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    failed_candidates: Sequence[str] = ()
    caution: str = ""


def sentences(results: Results) -> list[str]:
    """What a terminal shows: a caution, if there is one, and the answers."""
    return [*filter(None, [results.caution]), *answers(results)]


def answers(results: Results) -> list[str]:
    """The answer for each table, in a line."""
    lines = []
    is_own = results.ranks["method"].isin(results.titles)
    own = results.ranks[is_own]
    for row in own.to_dict("records"):
        start = f"{row['table']}: {row['method']}"
        if row["reason"]:
            lines.append(f"{start} has no rank: {row['reason']}.")
            continue
        of = f"of {row['n_methods']}"
        text = f"{start} is number {row['rank']} {of} by {WORDS[row['metric']]}"
        text += f" ({row['mean']:.3f})"
        if row["worst_metric"]:
            text += f" and number {row['worst_rank']} {of} by"
            text += f" {WORDS[row['worst_metric']]} ({row['worst']:.3f})"
        lines.append(f"{text}.")
    for (table, title), reason in results.failures.items():
        lines.append(f"{table}: {title} has failed: {reason}.")
    return lines
