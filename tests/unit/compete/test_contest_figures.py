"""The picture of a contest: what it draws is what the ranks are of."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from kerhrm_paper.compete import outcome
from kerhrm_paper.compete.outcome import Outcome
from kerhrm_paper.compete.ranks import ranks
from kerhrm_paper.evaluation.score_rows import COLUMNS
from kerhrm_paper.reporting.run import Run


def rows(method: str, setting: str, value: float) -> list[dict[str, Any]]:
    """Scores of a method on two seeds."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    row |= {"data": "d", "setting": setting, "method": method, "selection": "own"}
    row |= {"metric": "test_acc", "learner": method}
    return [row | {"seed": seed, "value": value} for seed in range(2)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """ERM and a user's method have a second setting, and one more only a third."""
    scores = pd.DataFrame(
        [
            *rows("ERM", "r2=0.7", 0.6),
            *rows("ERM", "r2=0.7,H=I", 0.2),
            *rows("DRO", "r2=0.7", 0.5),
            *rows("IRM", "r2=0.7", 0.3),
            *rows("JTT", "r2=0.7", 0.3),
            *rows("Elsewhere", "r2=0.8", 0.9),
            *rows("Mine", "r2=0.7", 0.4),
            *rows("Mine", "r2=0.7,H=I", 0.9),
        ]
    )
    for folder in ("scores", "tables"):
        (tmp_path / folder).mkdir()
    scores.to_csv(tmp_path / "scores/table1.csv.gz", index=False)
    cells = scores.drop_duplicates(["setting", "method"])
    cells = cells.assign(table="table1", verdict="", mean=cells["value"], n_seeds=2)
    cells = cells.assign(**dict.fromkeys(("std", "ci_low", "ci_high", "paper")))
    cells.to_csv(tmp_path / "tables/table1.csv", index=False)
    return Run(tmp_path)


def test_the_picture_has_the_means_of_the_ranks(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(outcome, "save", lambda figure, _: drawn.append(figure))
    method = SimpleNamespace(titles={"model": "Mine"})
    held: Any = SimpleNamespace(run=run, method=method)
    Outcome.figures(held, ["table1"])
    ((axis,),) = [figure.axes for figure in drawn]
    bold = [label for label in axis.get_yticklabels() if label.get_weight() == "bold"]
    assert [label.get_text() for label in bold] == ["Mine"]
    names = [label.get_text() for label in axis.get_yticklabels()]
    texts = [text.get_text() for text in axis.texts]
    start = 1 + texts.index("\N{BLACK VERTICAL RECTANGLE} mean")
    means = texts[start : start + len(names)]
    found = ranks(run, {"table1": ""}, ["Mine"], {})
    of_ranks = {row.method: f"{row.mean:.2f}" for row in found.itertuples()}
    assert of_ranks == {"ERM": "0.60", "DRO": "0.50", "Mine": "0.40"} | dict.fromkeys(
        ["IRM", "JTT"], "0.30"
    )
    assert dict(zip(names, means, strict=True)) == of_ranks


@pytest.mark.parametrize("preset", ["smoke", "fresh", "paper"])
def test_ranks_of_tiny_sizes_come_with_a_caution(preset: str) -> None:
    held: Any = SimpleNamespace(preset=preset, method=SimpleNamespace(title="Mine"))
    caution = Outcome._caution(held)
    is_cautious = caution.startswith("Ranks at smoke sizes say nothing, not even")
    assert is_cautious == (preset == "smoke")
    if is_cautious:
        assert "Mine as many as it asks for. --preset fresh ranks." in caution
