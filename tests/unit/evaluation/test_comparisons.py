"""Methods compared with each other: which rows, over which seeds, by which test."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from pandas.testing import assert_frame_equal

from kerhrm_paper.evaluation.comparisons import COLUMNS, PROPOSED, compare
from kerhrm_paper.evaluation.statistics import holm

NETWORK, LINEAR = PROPOSED
AUTHORS = "KerHRM (authors' code)"
OWN = "worst inferred environment"
POOLED = "pooled validation"
RULES = {
    NETWORK: OWN,
    LINEAR: OWN,
    "KerHRM (first iteration)": OWN,
    AUTHORS: "as released",
    "ERM": POOLED,
    "DRO": POOLED,
    "ref: majority": "none",
}
MEANS = dict(zip(RULES, (0.75, 0.76, 0.74, 0.5, 0.4, 0.75, 0.5), strict=True))
SEEDS = 6


def scores(
    metric: str = "test_acc", settings: tuple[str, ...] = ("a", "b")
) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (
            setting,
            method,
            seed,
            metric,
            MEANS[method] + rng.normal(0, 0.02),
            rule,
            "synthetic",
            "",
        )
        for setting in settings
        for method, rule in RULES.items()
        for seed in range(SEEDS)
    ]
    names = [
        "setting",
        "method",
        "seed",
        "metric",
        "value",
        "selection",
        "data_source",
        "reason",
    ]
    return pd.DataFrame(rows, columns=names)


def values(frame: pd.DataFrame, setting: str, method: str) -> np.ndarray:
    here = (frame["setting"] == setting) & (frame["method"] == method)
    return frame.loc[here & (frame["selection"] == RULES[method]), "value"].to_numpy()


def row(found: pd.DataFrame, **keys: Any) -> pd.Series:
    here = np.logical_and.reduce([found[name] == value for name, value in keys.items()])
    (one,) = found[here].to_dict("records")
    return pd.Series(one)


def test_champions_meet_every_other_trained_row() -> None:
    found = compare(scores())
    assert list(found.columns) == COLUMNS
    others = ["KerHRM (first iteration)", AUTHORS, "ERM", "DRO"]
    expected = [(c, b) for c in PROPOSED for b in others]
    assert list(zip(found["method"], found["baseline"], strict=True)) == expected
    assert (set(found["n_seeds"]), set(found["n_settings"])) == ({SEEDS}, {2})


def test_each_pair_is_the_paired_test() -> None:
    frame = scores()
    found = compare(frame)
    for one in found.to_dict("records"):
        ours = (
            values(frame, "a", one["method"]) + values(frame, "b", one["method"])
        ) / 2
        theirs = (
            values(frame, "a", one["baseline"]) + values(frame, "b", one["baseline"])
        ) / 2
        expected = scipy.stats.ttest_rel(ours, theirs)
        assert one["p"] == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval()
        assert (one["ci_low"], one["ci_high"]) == pytest.approx(tuple(interval))
        assert one["difference"] == pytest.approx((ours - theirs).mean())
    assert found["p_holm"].to_numpy() == pytest.approx(holm(found["p"].to_numpy()))
    assert ((found["outcome"] == "open") == (found["p_holm"] > 0.05)).all()
    assert row(found, method=NETWORK, baseline="ERM")["outcome"] == "better"
    assert row(found, method=NETWORK, baseline="DRO")["outcome"] == "open"


def test_of_errors_the_lower_one_is_better() -> None:
    accuracy = compare(scores())
    error = compare(scores("mean_error"))
    same = ["difference", "ci_low", "ci_high", "p", "p_holm"]
    assert_frame_equal(accuracy[same], error[same])
    assert set(error.loc[accuracy["outcome"] == "better", "outcome"]) == {"worse"}


def test_each_metric_is_a_family_of_its_own() -> None:
    """A second metric leaves every number and outcome of the first as it was."""
    first = scores()
    second = scores("worst_acc")
    second["value"] = second["value"] ** 2
    found = compare(pd.concat([first, second], ignore_index=True))
    for metric, alone in (("test_acc", first), ("worst_acc", second)):
        rows = found[found["metric"] == metric].reset_index(drop=True)
        assert_frame_equal(rows, compare(alone))


def test_seeds_meet_their_own_number() -> None:
    frame = scores()
    shuffled = frame.sample(frac=1, random_state=0).sort_values(
        "setting", kind="stable"
    )
    keys = ["method", "baseline"]
    first = compare(frame).set_index(keys).sort_index()
    second = compare(shuffled).set_index(keys).sort_index()
    assert_frame_equal(first, second)
    # one that a method was not run with has no partner
    fewer = frame[(frame["method"] != "ERM") | (frame["seed"] > 1)]
    found = compare(fewer)
    assert set(found.loc[found["baseline"] == "ERM", "n_seeds"]) == {SEEDS - 2}
    assert set(found.loc[found["baseline"] != "ERM", "n_seeds"]) == {SEEDS}
    apart = frame.assign(
        seed=frame["seed"].mask(frame["method"] == "ERM", frame["seed"] + 100)
    )
    assert "ERM" not in set(compare(apart)["baseline"])


def test_other_rules_choices_do_not_count() -> None:
    frame = scores()
    other = frame[frame["method"] == LINEAR].assign(selection="oracle", value=0.99)
    found = compare(pd.concat([frame, other]))
    assert_frame_equal(found, compare(frame))


def test_a_failed_seed_fails_its_pairs_and_no_other() -> None:
    frame = scores()
    failed = (
        (frame["method"] == "ERM") & (frame["setting"] == "a") & (frame["seed"] == 0)
    )
    found = compare(frame.assign(value=frame["value"].mask(failed)))
    of_erm = found["baseline"] == "ERM"
    assert ((found["outcome"] == "failed") == of_erm).all()
    assert found.loc[of_erm, ["difference", "p", "p_holm"]].isna().all(axis=None)
    tests = found.loc[~of_erm, "p"].to_numpy()
    assert found.loc[~of_erm, "p_holm"].to_numpy() == pytest.approx(holm(tests))


@pytest.mark.parametrize(
    "frame",
    [
        scores("train_acc"),  # without merit
        scores("error_sd"),  # not a result
        scores()[lambda f: ~f["method"].isin(PROPOSED)],
        scores()[lambda f: f["method"].isin(PROPOSED)],
        scores().head(0),
    ],
)
def test_where_nothing_can_be_compared(frame: pd.DataFrame) -> None:
    found = compare(frame)
    assert list(found.columns) == COLUMNS
    assert found.empty


def test_stand_ins_have_no_outcome() -> None:
    table = compare(scores().assign(data_source="fallback:digits"))
    assert set(table["outcome"]) == {"stand-ins"}
