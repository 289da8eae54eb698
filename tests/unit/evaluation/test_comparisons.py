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
MEANS_IN_ORDER = (0.75, 0.76, 0.74, 0.5, 0.4, 0.75, 0.5)
MEANS = dict(zip(RULES, MEANS_IN_ORDER, strict=True))
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
    here = frame["setting"] == setting
    here &= frame["method"] == method
    here &= frame["selection"] == RULES[method]
    return frame.loc[here, "value"].to_numpy()


def row(found: pd.DataFrame, **keys: Any) -> pd.Series:
    matches = [found[name] == value for name, value in keys.items()]
    here = np.logical_and.reduce(matches)
    (one,) = found[here].to_dict("records")
    return pd.Series(one)


def test_champions_meet_every_other_trained_row() -> None:
    found = compare(scores())
    assert list(found.columns) == COLUMNS
    others = ["KerHRM (first iteration)", AUTHORS, "ERM", "DRO"]
    expected = []
    for champion in PROPOSED:
        for other in others:
            expected.append((champion, other))
    pairs = list(zip(found["method"], found["baseline"], strict=True))
    assert pairs == expected
    assert set(found["n_seeds"]) == {SEEDS}
    assert set(found["n_settings"]) == {2}


def test_each_pair_is_the_paired_test() -> None:
    frame = scores()
    found = compare(frame)
    for one in found.to_dict("records"):
        in_a = values(frame, "a", one["method"])
        in_b = values(frame, "b", one["method"])
        ours = (in_a + in_b) / 2
        in_a = values(frame, "a", one["baseline"])
        in_b = values(frame, "b", one["baseline"])
        theirs = (in_a + in_b) / 2
        expected = scipy.stats.ttest_rel(ours, theirs)
        assert one["p"] == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval()
        assert one["ci_low"] == pytest.approx(interval.low)
        assert one["ci_high"] == pytest.approx(interval.high)
        difference = (ours - theirs).mean()
        assert one["difference"] == pytest.approx(difference)
    corrected = holm(found["p"].to_numpy())
    p_holm = found["p_holm"].to_numpy()
    assert p_holm == pytest.approx(corrected)
    is_open = found["outcome"] == "open"
    is_above_level = found["p_holm"] > 0.05
    assert (is_open == is_above_level).all()
    against_erm = row(found, method=NETWORK, baseline="ERM")
    against_dro = row(found, method=NETWORK, baseline="DRO")
    assert against_erm["outcome"] == "better"
    assert against_dro["outcome"] == "open"


def test_of_errors_the_lower_one_is_better() -> None:
    accuracy = compare(scores())
    error = compare(scores("mean_error"))
    same = ["difference", "ci_low", "ci_high", "p", "p_holm"]
    assert_frame_equal(accuracy[same], error[same])
    is_better = accuracy["outcome"] == "better"
    outcomes_of_error = error.loc[is_better, "outcome"]
    assert set(outcomes_of_error) == {"worse"}


def test_each_metric_is_a_family_of_its_own() -> None:
    """A second metric leaves every number and outcome of the first as it was."""
    first = scores()
    second = scores("worst_acc")
    second["value"] = second["value"] ** 2
    both = pd.concat([first, second], ignore_index=True)
    found = compare(both)
    of_each = {"test_acc": first, "worst_acc": second}
    for metric, alone in of_each.items():
        is_metric = found["metric"] == metric
        rows = found[is_metric].reset_index(drop=True)
        assert_frame_equal(rows, compare(alone))


def test_seeds_meet_their_own_number() -> None:
    frame = scores()
    in_any_order = frame.sample(frac=1, random_state=0)
    shuffled = in_any_order.sort_values("setting", kind="stable")
    keys = ["method", "baseline"]
    first = compare(frame).set_index(keys).sort_index()
    second = compare(shuffled).set_index(keys).sort_index()
    assert_frame_equal(first, second)
    # one that a method was not run with has no partner
    is_lost = frame["method"] == "ERM"
    is_lost &= frame["seed"] <= 1
    fewer = frame[~is_lost]
    found = compare(fewer)
    against_erm = found["baseline"] == "ERM"
    seeds_against_erm = found.loc[against_erm, "n_seeds"]
    other_seeds = found.loc[~against_erm, "n_seeds"]
    assert set(seeds_against_erm) == {SEEDS - 2}
    assert set(other_seeds) == {SEEDS}
    is_erm = frame["method"] == "ERM"
    seed = frame["seed"]
    other_seeds = seed.mask(is_erm, seed + 100)
    apart = frame.assign(seed=other_seeds)
    assert "ERM" not in set(compare(apart)["baseline"])


def test_other_rules_choices_do_not_count() -> None:
    frame = scores()
    is_linear = frame["method"] == LINEAR
    linear = frame[is_linear]
    other = linear.assign(selection="oracle", value=0.99)
    both = pd.concat([frame, other])
    found = compare(both)
    assert_frame_equal(found, compare(frame))


def test_what_the_oracle_has_chosen_is_compared_with_nothing() -> None:
    """Also of a method that has no other row, as of learners erm+select=oracle."""
    frame = scores()
    is_erm = frame["method"] == "ERM"
    of_oracle = frame.assign(
        selection=frame["selection"].mask(is_erm, "oracle"),
        value=frame["value"].mask(is_erm, 0.99),
    )
    assert_frame_equal(compare(of_oracle), compare(frame[~is_erm]))


def test_a_failed_seed_fails_its_pairs_and_no_other() -> None:
    frame = scores()
    failed = frame["method"] == "ERM"
    failed &= frame["setting"] == "a"
    failed &= frame["seed"] == 0
    values = frame["value"].mask(failed)
    with_a_hole = frame.assign(value=values)
    found = compare(with_a_hole)
    of_erm = found["baseline"] == "ERM"
    is_failed = found["outcome"] == "failed"
    assert (is_failed == of_erm).all()
    of_differences = found.loc[of_erm, ["difference", "p", "p_holm"]]
    assert of_differences.isna().all(axis=None)
    tests = found.loc[~of_erm, "p"].to_numpy()
    corrected = found.loc[~of_erm, "p_holm"]
    expected = holm(tests)
    assert corrected.to_numpy() == pytest.approx(expected)


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
    stand_ins = scores().assign(data_source="fallback:digits")
    table = compare(stand_ins)
    assert set(table["outcome"]) == {"stand-ins"}
    # but a failure is one on any data
    is_late = stand_ins["method"] == table["baseline"].iloc[0]
    values = stand_ins["value"].mask(is_late)
    table = compare(stand_ins.assign(value=values))
    outcomes = table.groupby("baseline", sort=False)["outcome"].agg(set).tolist()
    assert outcomes[0] == {"failed"}
    assert outcomes[1:] == [{"stand-ins"}] * len(outcomes[1:])
