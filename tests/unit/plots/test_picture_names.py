"""Names in pictures: as they are, none hidden, and one for each thing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import kerhrm
from tests.unit.plots.seen import (
    pictures,
    ticks,
    words,
    words_before,
)

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")


@pytest.mark.parametrize("name", kerhrm.plots.__all__)
def test_names_are_not_read_as_mathematics(name: str, labels: Any) -> None:
    """A pair of dollars in a column, target, label or group would crash or be set in
    italics."""
    odd = {"shape": "price_$/m^2_in_$", "shade": "$50K_to_$75K"}
    x = labels.x.rename(columns=odd)
    odd_answers = {"yes": "$y^$", "no": "$n"}
    answers = labels.y.map(odd_answers)
    y = answers.rename("$_$")
    model = kerhrm.KerHRMClassifier(
        k=5, n_init=2, network=(128,), random_state=0, if_not_better="fit"
    )
    model.fit(x, y)
    groups = np.where(labels.hidden, "$^$", "other")
    fitted = {"model": model, "x": x, "y": y, "hidden": groups}
    renamed = labels._replace(**fitted)
    draw = pictures(renamed)[name]
    ax = draw(None)
    ax.figure.canvas.draw()
    texts = [
        ax.xaxis.label,
        ax.yaxis.label,
        *ax.get_xticklabels(),
        *ax.get_yticklabels(),
    ]
    characters_of_numbers = set("$\\{}^.-0123456789")
    for text in texts:
        name = text.get_text().replace(r"$\mathdefault", "$")  # ticks of a logarithm
        has_no_dollar = "$" not in name.replace(r"\$", "")
        is_a_number = set(name) <= characters_of_numbers
        assert has_no_dollar or is_a_number


def test_a_name_that_matplotlib_would_hide_is_in_the_legend(labels: Any) -> None:
    """A label that begins with an underscore is left out by matplotlib."""
    x = labels.x
    y = labels.y
    group = labels.hidden
    names = ("_mine", "_nolegend_", "", "$b$")
    models = dict.fromkeys(names, labels.model)
    ax = kerhrm.plots.group_errors(models, x, y, group)
    assert words(ax) == ["_mine", "_nolegend_", "''", r"\$b\$"]
    environments = np.where(group, "_a", "b")
    ax = kerhrm.plots.environments(environments, x, y)
    assert words_before(ax, " (") == ["environment _a", "environment b"]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([1, "A"], ["1", "A"]),
        ([1, True], ["1", "True"]),
        ([10, 9], ["9", "10"]),
        (["all rows", "x"], ["group all rows", "x"]),
        (["", "x"], ["''", "x"]),
    ],
)
def test_every_group_has_a_tick_of_its_own(
    groups: Any, expected: list[str], labels: Any
) -> None:
    x = labels.x
    n = len(x)
    half = n // 2
    given = pd.Series(groups * half, dtype=object)
    ax = kerhrm.plots.group_errors(labels.model, x, labels.y, given)
    counts = [f"{name} ({half})" for name in expected]
    assert ticks(ax) == [f"all rows ({n})", *counts]


def test_a_column_named_as_the_target_keeps_a_bar_of_its_own(labels: Any) -> None:
    renamed = {"shape": "answer (target)"}
    x = labels.x.rename(columns=renamed)
    model = clone(labels.model)
    model.fit(x, labels.y)
    ax = kerhrm.plots.importance(model, x, labels.y)
    names = ticks(ax)
    assert sorted(names) == ["answer (target)", "shade", "target answer (target)"]


def test_a_column_whose_name_is_a_number_is_that_column(labels: Any) -> None:
    x = pd.DataFrame(np.asarray(labels.x))
    numbered = x.set_axis(range(1, 1 + x.shape[1]), axis=1)
    groups = np.where(labels.hidden, "a", "b")
    ax = kerhrm.plots.relation(groups, numbered, labels.y, feature=1)
    assert ax.get_xlabel() == "1"
    by_position = kerhrm.plots.relation(groups, labels.x, labels.y, feature=1)
    assert by_position.get_xlabel() == str(labels.x.columns[1])
