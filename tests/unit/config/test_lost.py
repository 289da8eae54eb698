"""What a file would lose without a word, or tell in a job, ends the plan."""

import re
from typing import Any

import pytest
from refusals import refusal
from small_config import A, B, Load, refused

HRM = {
    "method": "hrm",
    "titles": {"model": "HRM"},
    "grid": {"gate_cost": [0.1, 0.2]},
}
MINE = {"title": "Mine", "data": [A], "learners": ["erm"]}
ERM2 = {"method": "erm", "titles": {"model": "E2"}}
ERM3 = {"method": "erm", "titles": {"model": "E3"}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"tables": {"mine": MINE | {"seeds": 4}}}, "made+r2=0.7 has 3; lower it"),
        (
            {
                "data": {
                    "mine": {"title": "M", "generator": "classification", "seeds": 2}
                }
            }
            | {"tables": {"mine": MINE | {"data": ["mine"]}}},
            "tables.mine.learners = ['erm']: mine/erm: config/selected/mine.yaml: it "
            "has no options of erm by pooled; write erm+select=none or "
            "erm+select_on=made",
        ),
        (
            {"tables": {"one": {"data": {"made+r2=0.75": None}}}},
            "tables.one.data.made+r2=0.75 = None: there is none to leave out; "
            "known are: made+r2=0.7, made+r2=0.8",
        ),
        ({"data": {"made": {"seeds": {B: None}}}}, "there is none to leave out"),
        ({"selected": {"made": {"dro": None}}}, "there is none to leave out"),
        ({"labels": {"r": None}}, "labels.r = None: there is none to leave out"),
        (
            {"data": {"made": {"features": {"k": 500}}}},
            "made+r2=0.8: features.k=500 exceeds n=80 points; name data with",
        ),
        (
            {"learners": {"erm": {"at": {A: {"steps": 5}}}}},
            "options of a method: write options: {steps: 5}",
        ),
        (
            {"learners": {"erm2": {"method": "erm", "title": "E2"}}},
            "learners.erm2.title = 'E2': no such key; did you mean 'titles'?",
        ),
        (
            {"learners": {"erm2": {"method": "erm"}}},
            "it is missing; add titles: ... to",
        ),
        ({"tables": {"one": {"more_seeds": 2}}}, "write seeds: NUMBER; data have"),
        (
            {"learners": {"erm2": ERM2 | {"tuned_as": "hrm"}, "hrm": HRM}},
            "erm2.tuned_as = 'hrm': its gate_cost is no option of the method erm",
        ),
        (
            {"learners": {"erm2": ERM2 | {"tuned_as": "kerhrm"}}},
            "erm2.tuned_as = 'kerhrm': it has no candidates, so that nothing is "
            "selected for it; name a learner with a grid or candidates",
        ),
        (
            {"learners": {"erm2": ERM2 | {"tuned_as": "erm2"}}},
            "erm2.tuned_as = 'erm2': it has no candidates",
        ),
        (
            {
                "learners": {
                    "erm2": ERM2 | {"tuned_as": "erm3"},
                    "erm3": ERM3 | {"tuned_as": "erm"},
                }
            },
            "erm2.tuned_as = 'erm3': it has tuned_as: erm itself; write tuned_as: erm",
        ),
        (
            {
                "learners": {
                    "erm2": ERM2 | {"tuned_as": "erm3"},
                    "erm3": ERM3 | {"tuned_as": "erm2"},
                }
            },
            "erm2.tuned_as = 'erm3': it has tuned_as: erm2 itself; "
            "name a learner with a grid or candidates",
        ),
        (
            {
                "learners": {
                    "erm2": ERM2 | {"tuned_as": "erm3"},
                    "erm3": ERM3 | {"grid": {"steps": [7]}},
                },
                "tables": {"mine": MINE | {"learners": ["erm2"]}},
            },
            "config/selected/made.yaml: it has no options of erm3 by pooled; "
            "write erm2+select=none",
        ),
        ({"learners": {"erm2": ERM2 | {"at_only": True}}}, "add at: {DATA: {}}"),
        (
            {"tables": {"mine": MINE | {"outputs": {"erm": ["model", "model"]}}}},
            "outputs.erm",
        ),
    ],
)
def test_what_would_be_lost_or_end_in_a_job(
    load: Load, content: dict[str, Any], told: str
) -> None:
    assert told in str(refused(load, content))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("kerhrm+pretest.level=0.1", "leave pretest.level out"),
        ("kerhrm+pretest=none", "made+r2=0.7 has labels, which no pretest tests"),
        ("erm+select=none+select_on=made", "leave select_on out"),
    ],
)
def test_an_option_that_changes_nothing_is_refused(
    load: Load, name: str, told: str
) -> None:
    pattern = re.escape(told)
    with refusal(pattern):
        load().learner(A, name)


def test_outputs_of_a_shipped_table_go_with_their_learner(load: Load) -> None:
    table = {"learners": ["erm"]}
    config = load(tables={"other": table})
    rows = config.tables["other"].rows
    assert "kerhrm" not in {row.learner for row in rows}
