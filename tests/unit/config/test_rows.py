"""Cells that would end in one row of a table are refused when they are read."""

from typing import Any

import numpy as np
import pytest
from small_config import Load

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.rows import REFERENCES
from kerhrm.paper.data.registry import DATA_SETS
from kerhrm.paper.evaluation import metrics

SETTINGS = {"made/a": {"label": "same"}, "made/b": {"label": "x"}}
COPY = {"title": "C", "generator": "classification", "seeds": 1, "settings": {"a": {}}}


def table(settings: Any, learners: list[str], **more: Any) -> dict[str, Any]:
    content = {"title": "T", "settings": settings, "learners": learners, **more}
    return {"tables": {"two": content}}


def labelled(a: str, b: str) -> dict[str, Any]:
    return table({"made/a": {"label": a}, "made/b": {"label": b}}, ["kerhrm"])


def mine(**content: Any) -> dict[str, Any]:
    """A learner like KerHRM beside it."""
    learner = {"learners": {"mine": {"like": "kerhrm", **content}}}
    return learner | table(["made/a"], ["kerhrm", "mine"])


SHARED = {
    "one label": labelled("same", "same"),
    "case": labelled("same", "Same"),
    "spaces": labelled(" the same", "the  same"),
    "letters that look alike": labelled("same", "\uff53ame"),
    "another setting's name": table({"made/a": {"label": "b"}, "made/b": {}}, ["erm"]),
    "one title": mine(),
    "a title in another case": mine(titles={"network": "kerhrm", "linear": "L"}),
    "a title with a character of no width": mine(
        titles={"network": "Ker\u200bHRM", "linear": "L"}
    ),
    "a title with a blank letter": mine(titles={"network": "KerHRM\u3164"}),
    "a title of another method's": {
        "learners": {"new": {"method": "ridge", "titles": {"model": "KerHRM"}}},
        **table(["made/a"], ["kerhrm", "new"]),
    },
    "two outputs of one title": mine(titles={"network": "X", "linear": "X"}),
    "a mark that makes another setting's label": {
        **mine(mark="two"),
        **table({"made/a": {}, "made/b": {"label": "a,two"}}, ["kerhrm", "mine"]),
    },
    "a mark of the table's": table(
        {"made/a": {"label": "x,1"}, "made/b": {"label": "x"}},
        ["erm", "erm_short"],
        marks={"erm_short": "1"},
    ),
    "settings of two data sets": {
        "data": {"copy": COPY},
        **table(["made/a", "copy/a"], ["kerhrm"]),
    },
    # rows that are called like test environments or iterations
    "environments": {**table(["made/a", "made/b"], ["erm"], kind="shift")},
    "iterations": table(["made/a", "made/b"], ["kerhrm"], kind="iterations"),
}


@pytest.mark.parametrize("name", SHARED)
def test_two_cells_are_not_one_row(load: Load, name: str) -> None:
    with pytest.raises(KerhrmError, match=r"--config: tables\.two\.settings") as error:
        load(**SHARED[name])
    assert "its row '" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


DIFFERENT = {
    "labels": labelled("same", "other"),
    "numbers": labelled("1", "1.0"),
    "marks": mine(mark="K=3"),
    "titles": mine(titles={"network": "Mine", "linear": "Mine (linear)"}),
    "environments with marks": table(
        {"made/a": {"label": "x"}, "made/b": {"label": "x,b"}}, ["erm"], kind="shift"
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_cells_that_differ_are_rows(load: Load, name: str) -> None:
    assert "two" in load(**DIFFERENT[name]).tables


@pytest.mark.parametrize("label", ["method", "Selection", "setting", " "])
def test_a_label_names_no_column(load: Load, label: str) -> None:
    with pytest.raises(KerhrmError, match=r"two\.settings\.made/a\.label = "):
        load(**labelled(label, "x"))


@pytest.mark.parametrize(
    "title", ["method", "", "\u200b", "ref: majority", "Ref: Majority"]
)
def test_a_title_names_no_column_and_no_reference(load: Load, title: str) -> None:
    with pytest.raises(KerhrmError, match=r"learners\.mine\.titles\.linear = "):
        load(**mine(titles={"linear": title}))


def test_the_references_are_those_that_scoring_makes() -> None:
    """And the closed forms: those of the regression that tables show among them."""
    y = np.ones((1, 4))
    labels = metrics.Labels(y, y, np.arange(4), "", list("abcd"), np.ones(1), y)
    made = {
        title
        for kind in metrics.CONSTANTS
        for title in metrics.references(labels, kind)
    }
    for data in DATA_SETS.values():
        if data.closed_forms:
            made.update(data.closed_forms(data.options()))
    assert set(REFERENCES) == made
