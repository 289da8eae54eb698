"""Sentences of the report that a run's own numbers decide."""

import pandas as pd

from kerhrm_paper.evaluation.tables import AUTHORS_CODE, primary, where
from kerhrm_paper.reporting.figures import in_paper
from kerhrm_paper.reporting.version_figure import HIGH, LOW

OURS = "KerHRM"
AS_PRINTED = "KerHRM (as printed)"


def against_paper(endpoints: pd.DataFrame) -> str:
    """Outcomes of our version and of the algorithm as printed, by table.

    Of the latter also those that differ if the printed means have no error.

    Parameters
    ----------
    endpoints : DataFrame
        Of :func:`kerhrm_paper.evaluation.endpoints.endpoints`.

    Returns
    -------
    str
        Sentences; empty without a test of one of the two.
    """
    ours = where(endpoints, method=OURS, part="")
    printed = where(endpoints, method=AS_PRINTED, part="")
    if ours.empty or printed.empty:
        return ""
    text = f"Our version against the paper: {_outcomes(ours, 'outcome')}."
    text += f" The algorithm as printed: {_outcomes(printed, 'outcome')}."
    differs = printed[printed["outcome"] != printed["outcome_exact"]]
    if len(differs):
        text += " If the printed means have no error: "
        text += f"{_outcomes(differs, 'outcome_exact')}."
    return text


def _outcomes(tests: pd.DataFrame, column: str) -> str:
    """Each outcome with its table."""
    pairs = zip(tests[column], tests["table"], strict=True)
    phrases = [f"{outcome} in {in_paper(table)}" for outcome, table in pairs]
    return ", ".join(phrases)


def on_images(endpoints: pd.DataFrame) -> str:
    """The outcome of our version on Colored MNIST; empty without one."""
    tests = where(endpoints, table="table4", method=OURS, part="")
    if tests.empty:
        return ""
    outcome, *_ = tests["outcome"]
    return f"Our version against the paper on Colored MNIST: {outcome}."


def of_authors_code(scores: pd.DataFrame) -> str:
    """How many runs of the authors' code find the invariant feature, and how many are
    worse than a guess; empty without any.

    Parameters
    ----------
    scores : DataFrame
        Of Table 1, of :func:`kerhrm_paper.evaluation.scores.score_table`.
    """
    own = scores[primary(scores)]
    runs = where(own, method=AUTHORS_CODE, metric="test_acc")
    if runs.empty:
        return ""
    accuracies = runs["value"]
    high = (accuracies >= HIGH).mean()
    low = (accuracies < LOW).mean()
    shares = f"{high:.0%} reach {HIGH:.2f}, {low:.0%} stay below {LOW:.2f}"
    verb = " split" if high > 0 and low > 0 else ""
    return f"Runs of the authors' code{verb}: {shares}."
