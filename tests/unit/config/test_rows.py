"""Cells that would end in one row of a table are refused when they are read."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refusal
from small_config import TREE, A, B, Load

from kerhrm_paper.config.references import (
    CONSTANTS,
    reference_titles,
    titles_of_packages,
)
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.evaluation import metrics

COPY = TREE["data/made.yaml"] | {"at": {}, "tuning": None, "title": "Copy"}


def table(data: Any, learners: list[str], **more: Any) -> dict[str, Any]:
    content = {"title": "T", "data": data, "learners": learners, **more}
    return {"tables": {"two": content}}


def labelled(a: str, b: str) -> dict[str, Any]:
    return table({A: {"label": a}, B: {"label": b}}, ["kerhrm"])


def mine(**content: Any) -> dict[str, Any]:
    """Another learner than KerHRM, of the same method and titles."""
    learner = {**TREE["learners.yaml"]["kerhrm"], **content}
    return {"learners": {"mine": learner}, **table([A], ["kerhrm", "mine"])}


SHARED = {
    "one label": labelled("same", "same"),
    "case": labelled("same", "Same"),
    "spaces": labelled(" the same", "the  same"),
    "letters that look alike": labelled("same", "\uff53ame"),
    "another name": table({A: {"label": "r2=0.8"}, B: {}}, ["erm"]),
    "one title": mine(),
    "a title in another case": mine(titles={"network": "kerhrm", "linear": "L"}),
    "a title with a character of no width": mine(
        titles={"network": "Ker\u200bHRM", "linear": "L"}
    ),
    "a title with a blank letter": mine(titles={"network": "KerHRM\u3164"}),
    "a title of another method's": {
        "learners": {"new": {"method": "zin", "titles": {"model": "KerHRM"}}},
        **table([A], ["kerhrm", "new"]),
    },
    "two outputs of one title": mine(titles={"network": "X", "linear": "X"}),
    "an option that makes another label": table(
        {A: {}, B: {"label": "r2=0.7,k=3"}}, ["kerhrm", "kerhrm+k=3"]
    ),
    "a label of the table's": table(
        {A: {"label": "x,1"}, B: {"label": "x"}},
        ["erm", "erm+steps=1"],
        labels={"steps=1": "1"},
    ),
    "an option that labels leave out": table(
        [A], ["erm", "erm+steps=1"], labels={"steps": ""}
    ),
    "data of two data sets": {
        "data": {"copy": COPY},
        **table([A, "copy+r2=0.7"], ["kerhrm"]),
    },
    # rows that are called like test environments or iterations
    "environments": {**table([A, B], ["erm"], kind="shift")},
    "iterations": table([A, B], ["kerhrm"], kind="iterations"),
}


@pytest.mark.parametrize("name", SHARED)
def test_two_cells_are_not_one_row(load: Load, name: str) -> None:
    with refusal(r"--config: tables\.two\.data") as error:
        load(**SHARED[name])
    assert "its row '" in str(error.value)
    message = str(error.value)
    assert len(message.splitlines()) == 1


DIFFERENT = {
    "labels": labelled("same", "other"),
    "numbers": labelled("1", "1.0"),
    "options": table([A], ["kerhrm", "kerhrm+n_environments=3"]),
    "titles": mine(titles={"network": "Mine", "linear": "Mine (linear)"}),
    "labels of data sets": {
        "data": {"copy": COPY},
        "labels": {"copy": "copy"},
        **table([A, "copy+r2=0.7"], ["kerhrm"]),
    },
    "criteria": table([A], ["erm"], select=["own", "oracle", "none"]),
    "environments with options": table(
        {A: {"label": "x"}, B: {"label": "x,b"}}, ["erm"], kind="shift"
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_cells_that_differ_are_rows(load: Load, name: str) -> None:
    assert "two" in load(**DIFFERENT[name]).tables


#: other learners on each, so that no row of a learner is of both
IN_ONE_SETTING: dict[str, dict[str, Any]] = {
    "one label": {
        "data": {
            A: {"label": "same", "learners": ["erm"]},
            B: {"label": "Same", "learners": ["kerhrm"]},
        },
    },
    "options of a learner": {
        "data": {
            A: {"label": "x", "learners": ["erm+steps=1"]},
            B: {"label": "x,steps=1", "learners": ["kerhrm"]},
        },
    },
    "environments": {
        "data": {A: {"learners": ["erm"]}, B: {"learners": ["kerhrm"]}},
        "kind": "shift",
    },
}


@pytest.mark.parametrize("name", IN_ONE_SETTING)
def test_data_are_not_in_the_setting_of_others(load: Load, name: str) -> None:
    """Their references would be one row, and seeds of both would be paired."""
    content = {"title": "T", **IN_ONE_SETTING[name]}
    told = r"tables\.two\.data\.made\+r2=0\.[78]: its setting '.*' is that of made"
    with refusal(rf"{told}\+r2=0\.[78], too; give one of them a"):
        load(tables={"two": content})
    apart = {A: {"label": "x,a"}, B: {"label": "x,b"}}
    for data, more in content["data"].items():
        apart[data] = more | apart[data]
    assert "two" in load(tables={"two": content | {"data": apart}}).tables


@pytest.mark.parametrize("criterion", ["oracle", "none"])
@pytest.mark.parametrize("place", ["learners", f"data.{A}.learners"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_row_that_criteria_make_is_not_named_again(
    load: Load, criterion: str, place: str, is_first: bool
) -> None:
    named = f"erm+select={criterion}"
    learners = [named, "erm"] if is_first else ["erm", named]
    select = ["own", criterion]
    given = table([A], learners, select=select)
    if place != "learners":
        of_data = {"learners": learners, "select": select}
        given = table({A: of_data}, ["erm"])
    told = f"{place} = {learners}: {named} is shown by `select` already; leave it out"
    with refusal(re.escape(f"--config: tables.two.{told}")):
        load(**given)


@pytest.mark.parametrize("place", ["learners", f"data.{A}.learners"])
@pytest.mark.parametrize(
    "learners", [["erm", "erm+select=pooled"], ["erm+select=pooled", "erm"]]
)
def test_a_learner_is_not_named_twice_by_its_own_criterion(
    load: Load, place: str, learners: list[str]
) -> None:
    given = table([A], learners)
    if place != "learners":
        given = table({A: {"learners": learners}}, ["erm"])
    first, second = learners
    told = f"{place} = {learners}: {first} and {second} are the same"
    with refusal(re.escape(f"--config: tables.two.{told}; leave one of them out")):
        load(**given)


@pytest.mark.parametrize("label", ["method", "Selection", "setting", " "])
def test_a_label_names_no_column(load: Load, label: str) -> None:
    with refusal(r"two\.data\.made\+r2=0\.7\.label = "):
        load(**labelled(label, "x"))


@pytest.mark.parametrize(
    "title", ["method", "", "\u200b", "ref: majority", "Ref: Majority"]
)
def test_a_title_names_no_column_and_no_reference(load: Load, title: str) -> None:
    with refusal(r"learners\.mine\.titles\.linear = "):
        load(**mine(titles={"linear": title}))


@pytest.mark.parametrize("label", ["  ", "\u200b"])
def test_a_label_that_is_not_seen_is_refused(load: Load, label: str) -> None:
    """An empty one leaves the option out."""
    told = r"r2 = .*: it cannot name a row; choose another label"
    with refusal(rf"--config: labels\.{told}"):
        load(labels={"r2": label})
    with refusal(rf"--config: tables\.two\.labels\.{told}"):
        load(**table([A], ["erm"], labels={"r2": label}))
    load(**table([A], ["erm"], labels={"r2": ""}))


PACKAGE = "package kerhrm, kerhrm.data_sets: theirs"  #: where a test puts it


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("Linear", "has the title of the learner kerhrm; give one of them another"),
        ("ref: Majority", "has the title of a constant; give one of them another"),
        ("method", "cannot name a row; choose another title"),
    ],
)
def test_a_reference_of_a_package_has_a_title_of_its_own(
    load: Load, monkeypatch: pytest.MonkeyPatch, title: str, told: str
) -> None:
    data = DATA_SETS["classification"]
    theirs = replace(data, references=(title,))
    monkeypatch.setattr(DATA_SETS, "_plugins", {"theirs": theirs})
    with refusal(f"^{re.escape(f'{PACKAGE}: its reference {title!r} {told}')}"):
        load()


def test_references_of_packages_that_nothing_else_has_pass(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DATA_SETS["classification"]
    theirs = replace(data, references=("ref: theirs", *data.references))
    monkeypatch.setattr(DATA_SETS, "_plugins", {"theirs": theirs})
    assert titles_of_packages() == {"ref: theirs": PACKAGE}
    load()


def test_options_that_leave_no_point_to_train_name_the_package(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DATA_SETS["classification"]

    class Shrinking(data.options):  # type: ignore[name-defined, misc]
        @property
        def n_points(self) -> int:
            return int(50 - self.n_test)

    theirs = replace(data, options=Shrinking)
    monkeypatch.setattr(DATA_SETS, "_plugins", {"theirs": theirs})
    new = {**COPY, "generator": "theirs", "options": {"n_test": 20}}
    config = load({"data/new.yaml": new})
    assert config.data("new").n_points == 30
    told = "its options need n_points, a positive number; got -10; name other options"
    with refusal(f"^new\\+n_test=60: {PACKAGE}: {told}"):
        config.data("new+n_test=60")


def test_a_table_of_iterations_shows_learners_that_have_some(load: Load) -> None:
    with refusal("erm has no iterations, which this kind"):
        load(**table([A], ["erm"], kind="iterations"))


def test_the_references_are_those_that_scoring_makes() -> None:
    """And the closed forms: those of the regression that tables show among them."""
    y = np.ones((1, 4))
    labels = metrics.Labels(
        train=y,
        test=y,
        test_environment=np.arange(4),
        source="",
        names=list("abcd"),
        n_headline=4,
        unit=np.ones(1),
        x=y,
    )
    made = {title for kind in CONSTANTS for title in metrics.references(labels, kind)}
    for data in DATA_SETS.values():
        if data.closed_forms:
            rows = data.closed_forms(data.options())
            made.update(rows)
    assert reference_titles() == made
