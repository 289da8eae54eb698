"""What a search has found out, in sentences and before any table is made."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

from kerhrm_paper.compete.contest import Contest
from kerhrm_paper.compete.searched import all_failed, at_edges
from kerhrm_paper.runs.arrays import save_stacked
from kerhrm_paper.runs.predictions import Predictions

FAILED = float("-inf")


def scores(options: list[str], pooled: list[float], **more: list[float]) -> Any:
    """Scores of candidates; the method's own criterion is the pooled one."""
    learners = [f"mine+c={number}" for number in range(len(options))]
    columns = {"learner": learners, "options": options, "pooled": pooled}
    return pd.DataFrame(columns | more)


@pytest.mark.parametrize(
    ("options", "best", "sentence"),
    [
        (['{"a": 1}', '{"a": 2}', '{"a": 10.5}'], 2, "a = 10.5, the largest"),
        (['{"a": 1}', '{"a": 2}', '{"a": 10}'], 0, "a = 1, the smallest"),
        (['{"a": 1}', '{"a": 2}', '{"a": 10}'], 1, ""),
        (['{"a": 1}', '{"a": 2}', '{"a": 2, "b": 3}'], 2, ""),  # two numbers alone
        (['{"a": "x"}', '{"a": true}', '{"a": [1]}'], 1, ""),
        (['{"a": 1}', '{"a": 2}', '{"a": 10}', '{"a": null}'], 3, ""),
    ],
)
def test_a_choice_at_the_edge_of_its_numbers(
    options: list[str], best: int, sentence: str
) -> None:
    of_candidates = [0.1] * len(options)
    of_candidates[best] = 0.7
    found = at_edges("houses", scores(options, of_candidates))
    if not sentence:
        assert found == []
        return
    beyond = "larger" if "largest" in sentence else "smaller"
    start = f"houses: pooled validation selected {sentence} of your candidates"
    assert found == [f"{start}; {beyond} ones were not tried"]


def test_an_equal_within_the_grid_is_no_edge() -> None:
    options = ['{"a": 1}', '{"a": 2}', '{"a": 10}']
    assert at_edges("houses", scores(options, [0.7, 0.7, 0.1])) == []


def test_failures_of_all_by_the_own_criterion() -> None:
    options = ['{"a": 1}', '{"a": 2}', '{"a": 3}']
    nothing = scores(options, [FAILED] * 3, oracle=[0.0, 1.0, 2.0])
    assert all_failed(nothing)
    assert at_edges("houses", nothing) == []
    assert not all_failed(scores(options, [FAILED, FAILED, -3.0]))


def judge(folder: Path, tables: dict[str, pd.DataFrame]) -> Any:
    """A contest after a search on the data that its tables are called after."""
    contest: Any = SimpleNamespace(method=SimpleNamespace(path=Path("mine.py")))
    tried_on = {name: [f"{name}+r=1"] for name in tables}
    Contest._judge(contest, folder, tables, tried_on)
    return contest


def fail(folder: Path, data: str, candidate: int, reason: str) -> None:
    """Predictions of a fit without a result."""
    nothing = np.full((1, 2), np.nan, np.float32)
    failure = Predictions(
        outputs=np.array(["model"]),
        train=nothing,
        validation=nothing,
        test=nothing,
        chosen=np.array([], dtype=str),
        choices=np.array([]),
        failed=np.array(reason),
    )
    path = folder / f"{data}+r=1" / f"mine+c={candidate}" / "predictions.npz"
    path.parent.mkdir(parents=True)
    save_stacked(path, [failure.arrays()])


def test_a_method_that_fails_everywhere_ends_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for data in ("houses", "mnist"):
        for candidate in range(2):
            fail(tmp_path, data, candidate, "ValueError: no")
    options = ['{"a": 1}', '{"a": 2}']
    nothing = scores(options, [FAILED] * 2)
    words = "^both candidates failed on houses, mnist: ValueError: no; correct mine.py$"
    with refusal(words):
        judge(tmp_path, {"houses": nothing, "mnist": nothing})
    some = scores(options, [0.1, 0.2])
    (notice,) = judge(tmp_path, {"houses": nothing, "mnist": some}).notices
    assert notice == (
        "both candidates failed on houses: ValueError: no; its tables have the first "
        "candidate."
    )
    assert capsys.readouterr().out == f"search: {notice}\n"


def test_a_longer_limit_is_advice_where_one_was_reached(tmp_path: Path) -> None:
    late = "timed out after 6 seconds"
    for candidate, reason in enumerate(["ValueError: no", late, late]):
        fail(tmp_path, "houses", candidate, reason)
    options = ['{"a": 1}', '{"a": 2}', '{"a": 3}']
    nothing = scores(options, [FAILED] * 3)
    words = rf"all 3 candidates failed on houses: ValueError: no \(1\); {late} \(2\)"
    with refusal(rf"^{words}; correct mine.py, or raise --timeout$"):
        judge(tmp_path, {"houses": nothing})


def test_candidates_that_fail_among_others_have_their_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(tmp_path, "houses", 1, "line 3: ValueError: no")
    options = ['{"a": 1}', '{"a": 2}', '{"a": 2, "b": 3}']
    table = scores(options, [0.1, FAILED, 0.2])
    contest = judge(tmp_path, {"houses": table})
    (line,) = contest.failed_candidates
    assert line == "houses: 1 of 3 candidates failed: line 3: ValueError: no."
    assert contest.notices == []
    assert capsys.readouterr().out == f"search: {line}\n"


def test_an_infinite_score_is_no_score() -> None:
    """That of memberships without any point."""
    infinite = scores(['{"a": 1}', '{"a": 2}'], [float("inf"), float("inf")])
    assert all_failed(infinite)
