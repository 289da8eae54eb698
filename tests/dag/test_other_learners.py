"""Learners that stand in no table of ``all`` train, too."""

import numpy as np
import pytest
from dagtools import SMOKE, Checkout
from expected import CONFIG

from kerhrm_paper.runs.arrays import load_records
from kerhrm_paper.runs.predictions import Predictions

pytestmark = pytest.mark.dag


def other_cells() -> dict[str, list[str]]:
    """Outputs of one cell of each learner, by ``DATA/LEARNER``, with other outputs than
    that learner has in ``all``."""
    cells = {}
    kinds = set()
    in_all_first = sorted(CONFIG.tables.values(), key=lambda table: not table.in_all)
    for table in in_all_first:
        for row in table.rows:
            learner = CONFIG.learner(row.data, row.learner)
            outputs = list(learner.titles)
            kind = (learner.base, *outputs)
            is_new = kind not in kinds
            kinds.add(kind)
            if is_new and not table.in_all:
                cells[f"{row.data}/{row.learner}"] = outputs
    return cells


def test_each_trains(checkout: Checkout) -> None:
    cells = other_cells()
    names = {cell.partition("/")[2] for cell in cells}
    assert {"kerhrm_auxiliary", "kerhrm_landmarks", "printed_starts"} <= names
    files = [f"results/smoke/{cell}/predictions.npz" for cell in cells]
    checkout.run(*files, *SMOKE)
    for cell, file in zip(cells, files, strict=True):
        for record in load_records(Predictions, checkout.folder / file):
            assert record.outputs.tolist() == cells[cell]
            assert np.isfinite(record.test).all()
