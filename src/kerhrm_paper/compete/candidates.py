"""Candidates of a search as the page shows them."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from kerhrm_paper.compete.searched import criteria


def candidates_table(scores: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Candidates of all searches as the page shows them.

    Parameters
    ----------
    scores : mapping of str to DataFrame
        Scores of the candidates by data set, of
        :func:`kerhrm_paper.evaluation.selection.search`.
    """
    rows = []
    for data, frame in scores.items():
        names = criteria(frame)
        winners = {name: frame[name].idxmax() for name in names}
        for number, candidate in frame.iterrows():
            options = json.loads(candidate["options"])
            row = {"data": data, "options": _worded(options)}
            for name in names:
                is_winner = number == winners[name]
                row[name] = _score(candidate[name], is_winner)
            rows.append(row)
    return pd.DataFrame(rows)


def _score(score: float, is_selected: bool) -> str:
    """Score of a candidate, marked if a criterion selects it."""
    if score == float("-inf"):
        return "failed"
    return f"{score:.4f} \N{LEFTWARDS ARROW}" if is_selected else f"{score:.4f}"


def _worded(options: Mapping[str, Any]) -> str:
    texts = [f"{key}={value}" for key, value in options.items()]
    return ", ".join(texts)
