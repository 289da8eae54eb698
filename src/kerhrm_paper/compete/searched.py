"""What a search has found out: candidates that all failed, and choices at an edge."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm_paper.config.criteria import WORDS
from kerhrm_paper.runs.arrays import load_records
from kerhrm_paper.runs.predictions import Predictions

KEYS = ("learner", "options")  #: columns that are no criterion
FEWEST = 3  #: numbers of an option that have a middle


def criteria(scores: pd.DataFrame) -> list[str]:
    """Criteria of the scores of candidates; the method's own is the first one."""
    return [str(name) for name in scores if name not in KEYS]


def all_failed(scores: pd.DataFrame) -> bool:
    """Whether no candidate has a score by the method's own criterion."""
    return bool(has_failed(scores).all())


def reasons(
    run: Path, data: Collection[str], learners: Collection[str]
) -> dict[str, str]:
    """Why candidates have no result, by their names: each one's first reason.

    Parameters
    ----------
    run : Path
        Folder of the search's run.
    data : collection of str
        On which it was.
    learners : collection of str
        Names of the candidates that have none.
    """
    return {learner: _first_reason(run, data, learner) for learner in learners}


def _first_reason(run: Path, data: Collection[str], learner: str) -> str:
    """Why the first fit of a candidate without a result has none."""
    for name in data:
        path = run / name / learner / "predictions.npz"
        for predictions in load_records(Predictions, path):
            if predictions.reason:
                return str(predictions.reason)
    return "outputs are not finite"


def has_failed(scores: pd.DataFrame) -> pd.Series:
    """Which candidates have no score by the method's own criterion."""
    own, *_ = criteria(scores)
    return ~np.isfinite(scores[own].astype(float))


def counted(by_learner: Mapping[str, str]) -> str:
    """Reasons of candidates, each once; with the number of its candidates, if there
    are several."""
    counts = Counter(by_learner.values())
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{reason} ({count})" for reason, count in counts.items())


def at_edges(data: str, scores: pd.DataFrame) -> list[str]:
    """A sentence for each option whose best number is the least or the largest of at
    least three that were tried, and no other number is as good.

    Parameters
    ----------
    data : str
        What the search was on.
    scores : DataFrame
        Of :func:`kerhrm_paper.evaluation.selection.search`.
    """
    if all_failed(scores):
        return []
    own, *_ = criteria(scores)
    tried = [json.loads(options) for options in scores["options"]]
    is_best = scores[own] == scores[own].max()
    equals = [options for options, best in zip(tried, is_best, strict=True) if best]
    chosen, *_ = equals
    sentences = []
    for key, best in chosen.items():
        numbers = set(_numbers(tried, key))
        are_equal = set(_numbers(equals, key)) == {best}
        if len(numbers) < FEWEST or not are_equal:
            continue
        for edge, word, beyond in (
            (min(numbers), "smallest", "smaller"),
            (max(numbers), "largest", "larger"),
        ):
            if best == edge:
                text = f"{data}: {WORDS.get(own, own)} selected {key} = {best:g}, the "
                text += f"{word} of your candidates; {beyond} ones were not tried"
                sentences.append(text)
    return sentences


def _numbers(tried: Sequence[Mapping[str, Any]], key: str) -> Iterator[float]:
    """Numbers of an option among candidates."""
    for candidate in tried:
        value = candidate.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value
