"""What a search has found out: candidates that all failed, and choices at an edge."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm_paper.runs.arrays import load_records
from kerhrm_paper.runs.predictions import Predictions

KEYS = ("learner", "options")  #: columns that are no criterion
FEWEST = 3  #: numbers of an option that have a middle


def criteria(scores: pd.DataFrame) -> list[str]:
    """Criteria of the scores of candidates; the method's own is the first one."""
    return [str(name) for name in scores if name not in KEYS]


def all_failed(scores: pd.DataFrame) -> bool:
    """Whether no candidate has a score by the method's own criterion."""
    own, *_ = criteria(scores)
    return not scores[own].gt(float("-inf")).any()


def first_reason(run: Path, data: Collection[str], learners: Collection[str]) -> str:
    """Why the first fit without a result has none.

    Parameters
    ----------
    run : Path
        Folder of the search's run.
    data : collection of str
        On which it was.
    learners : collection of str
        Names of the candidates.
    """
    for name in data:
        for learner in learners:
            path = run / name / learner / "predictions.npz"
            for predictions in load_records(Predictions, path):
                if predictions.reason:
                    return str(predictions.reason)
    return "outputs are not finite"


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
        for edge, word in ((min(numbers), "least"), (max(numbers), "largest")):
            if best == edge:
                text = f"{data}: the best {key}, {best:g}, is the {word} that was tried"
                sentences.append(text)
    return sentences


def _numbers(tried: Sequence[Mapping[str, Any]], key: str) -> Iterator[float]:
    """Numbers of an option among candidates."""
    for candidate in tried:
        value = candidate.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value
