"""``describe`` and ``outside`` of fitted estimators."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal
from sklearn import config_context
from sklearn.metrics import adjusted_rand_score

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.description.result import Description

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

SMALL: dict[str, Any] = {
    "k": 3,
    "n_init": 4,
    "network": (64,),
    "random_state": 3,
}
#: for rows whose environments are described, whatever the tests say
ANYWAY: dict[str, Any] = {"pretest": False, "if_not_better": "fit"}
NOTHING_DETECTED = "not detected: this may be noise of two kinds"


def linear_regression(**changes: Any) -> KerHRMRegressor:
    return KerHRMRegressor(**SMALL | changes)


def description(X: Any, y: Any, weights: Any = None, **changes: Any) -> Description:
    """Of a regression that is fitted to the rows."""
    model = linear_regression(**changes)
    model.fit(X, y, sample_weight=weights)
    return model.describe(stability=0)


@pytest.fixture(scope="module")
def slopes_frame() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The slope of ``b <i>`` is turned where ``place`` is 1."""
    random = np.random.default_rng(0)
    n = 400
    numbers = random.normal(size=(n, 2))
    index = range(1000, 1000 + n)
    X = pd.DataFrame(numbers, columns=["a", "b <i>"], index=index)
    is_place = random.random(n) < 0.2
    X["place"] = is_place.astype(float)
    hidden = X["place"].to_numpy() == 1
    turn = np.where(hidden, -4.0, 4.0)
    noise = 0.8 * random.normal(size=n)
    signal = 3 * X["a"] + turn * X["b <i>"]
    y = signal + noise + 7
    return X, y, hidden


@pytest.fixture(scope="module")
def model(slopes_frame: Any) -> KerHRMRegressor:
    X, y, _ = slopes_frame
    model = linear_regression(pretest={"n_permutations": 39})
    without_place = X.drop(columns="place")
    return model.fit(without_place, y)


@pytest.fixture(scope="module")
def described(model: KerHRMRegressor) -> Description:
    return model.describe(stability=2)


def test_metadata_routing_changes_no_description(
    described: Description, model: KerHRMRegressor
) -> None:
    """Of the tree, whose weights scikit-learn would refuse to pass on."""
    with config_context(enable_metadata_routing=True):
        routed = model.describe(stability=2)
    assert str(routed) == str(described)
    assert routed.tree is not None
    assert routed.tree == described.tree


def test_environments_of_the_fit_are_described(
    described: Description, model: KerHRMRegressor, slopes_frame: Any
) -> None:
    _, _, hidden = slopes_frame
    assert described.detected is True
    assert described.split == "fit"
    assert described.mark == ""
    assert described.memberships is not None
    assert_array_equal(described.memberships, model.environment_proba_)
    assert described.memberships.index[0] == 1000
    assert described.slopes is not None
    assert described.slopes["column"].iloc[0] == "b <i>"
    coefficients = described.slopes["coefficient"]
    rough = coefficients.iloc[:2].sort_values()
    assert_allclose(rough, [-4, 4], atol=0.8)
    assert described.certain is not None
    for name, part in described.certain.groupby("environment"):
        numbers = part["row"].astype(int) - 1000
        of_rows = hidden[numbers]
        is_pure = of_rows.all() or not of_rows.any()
        assert is_pure, name
    assert described.stability is not None
    assert described.stability.median > 0.5
    assert described.break_even is not None
    answer = "environments are detected; for rows mixed like"
    assert described.verdict.startswith(answer)
    assert described.verdict.endswith(f"; {described.break_even}")


def test_the_break_even_share_is_that_of_the_price(
    described: Description, model: KerHRMRegressor
) -> None:
    """The report has it without an interval."""
    found = described.break_even
    assert found is not None
    assert found.low <= found.share <= found.high
    X, y = _rows(model)
    told = model.report(X, y).facts["cost of KerHRM"]
    assert f"more than {found.share:.0%} of the rows are of {found.environment}" in told


def _rows(model: KerHRMRegressor) -> tuple[Any, Any]:
    assert model._given is not None
    return model._given.X, model._given.y


def test_a_person_reads_it_in_a_minute(described: Description) -> None:
    lines = str(described).splitlines()
    found = described.break_even
    assert found is not None
    assert len(lines) <= 40
    assert "break" not in lines[0]
    assert "KerHRM predicts better than ERM if more than" in lines[0]
    better = "KerHRM" if found.now > found.share else "ERM, the ordinary model,"
    assert f"for rows mixed like these {better} predicts better" in lines[0]
    assert "<i>" not in described.to_html()
    assert "in a hidden fifth" in described.to_html()
    assert "b &lt;i&gt;" in described._repr_html_()


def test_a_column_that_makes_the_environments_is_named(slopes_frame: Any) -> None:
    X, y, _ = slopes_frame
    described = description(X, y, **ANYWAY)
    assert described.stability is None
    assert described.mark.startswith("not tested: this may be noise of two kinds")
    assert described.tree is not None
    names_place = ["place = 1" in rule for rule in described.tree.rules]
    assert any(names_place)


def test_nothing_detected_is_not_the_end(slopes_frame: Any) -> None:
    """A hidden level is not seen by the pre-test; the mixture and the dip show it."""
    X, _, hidden = slopes_frame
    random = np.random.default_rng(1)
    signal = X["a"] + X["b <i>"] + 5 * hidden
    noise = 0.5 * random.normal(size=len(X))
    y = signal + noise
    X = X.drop(columns="place")
    model = KerHRMRegressor(**SMALL).fit(X, y)
    before = copy.deepcopy(model)
    found = model.describe(stability=2)
    assert not found.detected
    assert found.split == "mixture"
    assert model.predictor_ == "erm"
    assert found.mark == NOTHING_DETECTED
    assert NOTHING_DETECTED in str(found)
    words = "use ERM, the ordinary model (KerHRM predicts the same)"
    assert found.verdict == f"{words}: no environments are detected"
    assert "a hidden fifth" in str(found)
    first_words = [limit.split()[0] for limit in found.limits]
    assert first_words == ["environments", "weaker"]
    for limit in found.limits:
        assert limit in str(found)
        assert limit in found.to_html()
    assert found.memberships is not None
    likeliest = found.memberships.to_numpy().argmax(1)
    assert adjusted_rand_score(hidden, likeliest) > 0.9
    assert found.slopes is not None
    assert found.slopes["column"].iloc[0] == "(level)"
    assert found.dip is not None
    assert found.dip.p_value < 0.01
    assert "residuals of ERM have more than one mode" in str(found)
    assert found.candidates is not None
    assert found.candidates["BIC"].idxmin() == 2
    assert_array_equal(model.environments_, before.environments_)
    assert_array_equal(model.environment_proba_, before.environment_proba_)
    assert_array_equal(model.predict(X), before.predict(X))
    again = model.predict_environment_proba(X, y)
    assert_array_equal(again, before.environment_proba_)


def test_null_tables_say_not_detected(null: Any) -> None:
    described = description(null.x, null.y)
    assert not described.detected
    assert described.mark == NOTHING_DETECTED
    assert described.dip is not None
    assert described.dip.p_value > 0.05
    hidden_changes = described.smallest_changes["hidden"]
    assert (hidden_changes > 0).all()


def test_neither_the_order_of_rows_nor_that_of_columns_matters(null: Any) -> None:
    X = pd.DataFrame(null.x, columns=["a", "b", "c"])
    y = pd.Series(null.y)
    random = np.random.default_rng(0)
    by = random.permutation(len(X))
    permuted = X[["c", "a", "b"]].iloc[by]
    first = description(X, y)
    second = description(permuted, y.iloc[by])
    assert first.memberships is not None
    assert second.memberships is not None
    in_order = second.memberships.loc[X.index]
    assert_frame_equal(first.memberships, in_order, atol=1e-10)
    assert first.slopes is not None
    assert second.slopes is not None
    assert_frame_equal(first.slopes, second.slopes, atol=1e-8)
    assert first.tree == second.tree
    assert_frame_equal(first.certain, second.certain, atol=1e-10)


def test_two_labels(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL)
    model.fit(labels.x, labels.y)
    described = model.describe(stability=1)
    assert model.predictor_ == "linear"
    assert described.mark.startswith("not tested, as two labels cannot be")
    assert described.slopes is not None
    assert described.slopes["column"].iloc[0] == "column 1"
    assert described.dip is None
    _, _, of_changes = str(described).partition("smallest change")
    assert "hidden" not in of_changes
    assert described.stability is not None
    assert described.stability.median > 0.9


def test_labels_without_environments_have_no_split() -> None:
    random = np.random.default_rng(1)
    n = 120
    x = random.normal(size=(n, 2))
    time = random.random(n)
    noise = random.normal(size=n)
    y = x[:, 0] + noise > 0
    model = KerHRMClassifier(**SMALL)
    model.fit(x, y, auxiliary=time)
    described = model.describe()
    assert described.split == "none"
    assert described.memberships is None
    assert "two labels have none of their own" in str(described)
    assert "two labels" in described.to_html()
    again = pickle.loads(pickle.dumps(model))
    with refusal(r"give describe\(X, y, auxiliary=...\) with"):
        again.describe()
    with refusal("give auxiliary="):
        again.describe(x, y)
    with_rows = again.describe(x, y, auxiliary=time)
    assert str(with_rows) == str(described)


def test_environments_by_an_auxiliary_column() -> None:
    random = np.random.default_rng(0)
    n = 400
    time = random.random(n)
    sign = random.choice([-1, 1], n)
    is_early = time < 0.5
    share = np.where(is_early, 0.99, 0.7)
    agrees = random.random(n) < share
    noise = 0.3 * random.normal(size=n)
    other = np.where(agrees, sign, -sign) + noise
    stable = sign + random.normal(size=n)
    x = np.column_stack([stable, other])
    model = KerHRMClassifier(**SMALL, **ANYWAY)
    model.fit(x, sign, auxiliary=time)
    described = model.describe(stability=2)
    assert described.split == "fit"
    assert described.stability is not None


def test_a_copy_needs_the_rows_again(
    model: KerHRMRegressor, described: Description, slopes_frame: Any
) -> None:
    X, y, _ = slopes_frame
    X = X.drop(columns="place")
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded._given is None
    with refusal(r"without the rows of its fit; give des"):
        loaded.describe()
    with_rows = loaded.describe(X, y, stability=2)
    assert str(with_rows) == str(described)
    X_fewer = X[1:]
    y_fewer = y[1:]
    with refusal("the fit had 400 rows, and these are 399"):
        loaded.describe(X_fewer, y_fewer)
    with refusal("other rows than those of the fit"):
        loaded.describe(X + 1, y)
    with refusal("describe has no y"):
        loaded.describe(X)


def test_other_rows_within_the_same_range_are_refused(
    model: KerHRMRegressor, slopes_frame: Any
) -> None:
    """Memberships would be those of other rows."""
    X, y, _ = slopes_frame
    X = X.drop(columns="place")
    words = "these are other rows than those of the fit, or in another order; give"
    with refusal(words):
        model.describe(X[::-1], y[::-1])
    with refusal(words):
        model.describe(X, 100 * y)
    weights = np.linspace(1, 2, len(y))
    with refusal(words):
        model.describe(X, y, sample_weight=weights)


def test_a_table_that_has_changed_since_the_fit_is_refused(slopes_frame: Any) -> None:
    table, y, _ = slopes_frame
    X = table[["a"]].to_numpy(copy=True)
    model = linear_regression(n_init=1).fit(X, y)
    described = str(model.describe(stability=0))
    X[:] = X[::-1].copy()
    with refusal("in another order"):
        model.describe(stability=0)
    X[:] = X[::-1].copy()
    assert str(model.describe(stability=0)) == described


def test_parameters_that_are_set_after_the_fit_change_nothing(
    slopes_frame: Any,
) -> None:
    table, y, _ = slopes_frame
    X = table[["a", "b <i>"]]
    model = linear_regression(n_init=1, **ANYWAY).fit(X, y)
    described = str(model.describe(stability=2))
    model.set_params(network=(3,), n_init=2, options__ridge=5.0)
    assert str(model.describe(stability=2)) == described


def test_arguments_that_would_change_nothing_are_refused(slopes_frame: Any) -> None:
    table, y, _ = slopes_frame
    X = table[["a"]].to_numpy()
    time = np.arange(len(y))
    model = linear_regression(n_init=1, pretest=False).fit(X, y)
    with refusal(r"had no auxiliary .* leave auxiliary out"):
        model.describe(X, y, auxiliary=time)
    for name in ("auxiliary", "sample_weight"):
        problem = f"describe has {name}, and neither X nor y; give X and y"
        with refusal(problem):
            model.describe(**{name: time})


def test_other_auxiliary_columns_are_refused(slopes_frame: Any) -> None:
    table, y, _ = slopes_frame
    X = table[["a"]].to_numpy()
    time = np.arange(len(y))
    model = linear_regression(n_init=1).fit(X, y, auxiliary=time)
    with refusal("in another order"):
        model.describe(X, y, auxiliary=time[::-1], stability=0)
    again = model.describe(X, y, auxiliary=time, stability=0)
    assert str(again) == str(model.describe(stability=0))


@pytest.mark.parametrize("stability", [-1, 2.5, "ten", True, None])
def test_a_stability_that_is_refused(stability: Any, model: KerHRMRegressor) -> None:
    with refusal("use stability=10"):
        model.describe(stability=stability)
    with refusal("use random_state=0"):
        model.describe(random_state="seed")


def test_weights_count(slopes_frame: Any) -> None:
    """A weight of 2 is a row twice, and one of 0 no row."""
    X, y, _ = slopes_frame
    X = X.drop(columns="place")[:150]
    y = y[:150]
    weights = np.tile([1.0, 2.0, 0.0], 50)
    described = description(X, y, weights, **ANYWAY)
    assert described.memberships is not None
    without_membership = described.memberships.isna().any(axis=1)
    assert without_membership.sum() == 50
    assert described.environments is not None
    total = described.environments["share"].sum()
    assert total == pytest.approx(1)


def test_rows_outside_the_range_of_the_fit(model: KerHRMRegressor) -> None:
    X, _ = _rows(model)
    assert model.outside(X).empty
    new = X.copy()
    largest = X["a"].max()
    new.iloc[:3, 0] = largest + 0.1
    new.iloc[:2, 1] = 1e3
    table = model.outside(new)
    assert table.index.tolist() == ["a", "b <i>"]
    assert table["rows"].tolist() == [3, 2]
    assert table["far"].tolist() == [0, 2]
    assert table.loc["b <i>", "largest"] == 1e3
