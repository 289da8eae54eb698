"""What pictures of estimators show, held against plain counts and scikit-learn."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose
from scipy.stats import t
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import adjusted_rand_score, zero_one_loss

import kerhrm
from kerhrm.errors import KerhrmError
from tests.unit.plots.seen import (
    bars_of,
    figure_state,
    pictures,
    scatters,
    ticks,
    values_of,
    words,
    words_before,
)

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")


@pytest.mark.parametrize("task", ["labels", "numbers"])
@pytest.mark.parametrize("name", kerhrm.plots.__all__)
def test_axes_in_axes_out(name: str, task: str, request: pytest.FixtureRequest) -> None:
    fitted = request.getfixturevalue(task)
    draw = pictures(fitted)[name]
    _, (first, second) = plt.subplots(1, 2)
    before = figure_state()
    assert draw(first) is first
    assert figure_state() == before
    assert not second.has_data()
    own = draw(None)
    assert own.figure is not first.figure
    assert own.has_data()
    own.figure.canvas.draw()  # without a warning
    assert own.get_xlabel()


def test_every_row_lies_in_its_environment(numbers: Any) -> None:
    ax = kerhrm.plots.environments(*numbers[:3], features=["age", 2])
    environments = numbers.model.environments_
    for e, points in enumerate(scatters(ax)):
        rows = numbers.x.loc[environments == e, ["age", "shade"]]
        assert_allclose(points, rows)
    assert ax.get_xlabel() == "age"
    assert ax.get_ylabel() == "shade"
    # markers, not colours
    markers = {str(collection.get_paths()) for collection in ax.collections}
    assert len(markers) == 2


@pytest.mark.parametrize("least", ["size", "shape"])
def test_importance_finds_what_makes_the_environments(
    least: str, labels: Any, numbers: Any
) -> None:
    one = labels if least == "shape" else numbers
    ax = kerhrm.plots.importance(*one[:3])
    widths = [bar.get_width() for bar in ax.patches]
    lengths = dict(zip(ticks(ax), widths, strict=True))
    target = f"{one.y.name} (target)"
    columns = lengths.keys() - {target}
    longest = max(columns, key=lengths.__getitem__)
    shortest = min(lengths, key=lengths.__getitem__)
    assert longest == "shade"
    assert shortest == least
    # by hand: the columns that are not shuffled leave memberships where they are
    reversed_shade = one.x["shade"].to_numpy()[::-1]
    turned = one.x.assign(shade=reversed_shade)
    before = one.model.predict_environment_proba(one.x, one.y)
    after = one.model.predict_environment_proba(turned, one.y)
    changes = np.abs(after - before)
    moved = changes.sum(1).mean() / 2
    assert lengths["shade"] == pytest.approx(moved, abs=0.1)
    ax_of_one = kerhrm.plots.importance(*one[:3], most=1)
    assert len(ax_of_one.patches) == 1


def test_shares_of_labels_are_counts(labels: Any) -> None:
    ax = kerhrm.plots.relation(*labels[:3], "shape", bins=4)
    part = pd.qcut(labels.x["shape"], 4, labels=False)
    groups = [labels.model.environments_, part]
    positive = (labels.y == "yes").groupby(groups).mean()
    for e, container in enumerate(ax.containers):
        shares = values_of(container, "y")
        assert_allclose(shares, positive[e])
        ends = np.array(bars_of(container))
        low, high = ends[:, :, 1].T
        assert (low <= positive[e] + 1e-9).all()
        assert (high >= positive[e] - 1e-9).all()
        assert (low >= 0).all()
        assert (high <= 1).all()

    two_values = (labels.x["shape"] > 0.2).astype(float)
    few = labels.x.assign(shape=two_values)
    ax = kerhrm.plots.relation(labels.hidden, few, labels.y, "shape")
    positions = values_of(ax.containers[0], "x")
    assert len(positions) == 2


def test_lines_of_numbers_are_least_squares(numbers: Any) -> None:
    ax = kerhrm.plots.relation(*numbers[:3], "shade")
    column = numbers.x[["shade"]].to_numpy()
    expected_words = []
    for e, line in enumerate(ax.lines):
        weight = numbers.model.environment_proba_[:, e]
        fit = LinearRegression()
        fit.fit(column, numbers.y, sample_weight=weight)
        x, y = line.get_data()
        slope = np.diff(y) / np.diff(x)
        assert slope == pytest.approx(fit.coef_)
        share = (numbers.model.environments_ == e).mean()
        expected_words.append(f"environment {e} ({share:.0%}")
    assert words_before(ax, " of") == expected_words


def test_given_environments_stand_for_an_estimator(numbers: Any) -> None:
    where = np.where(numbers.hidden, "town", "land")
    x = numbers.x.to_numpy()
    y = numbers.y.to_numpy()
    ax = kerhrm.plots.relation(where, x, y, 2)
    assert words_before(ax, " (") == ["environment land", "environment town"]
    assert ax.get_xlabel() == "feature 2"
    assert ax.get_ylabel() == "y"
    slopes = []
    for line in ax.lines:
        width = np.diff(line.get_xdata())
        height = np.diff(line.get_ydata())
        slopes.append(height / width)
    assert_allclose(np.ravel(slopes), [2, -2], atol=0.3)

    kept = LogisticRegression()
    kept.environments_ = where  # of an estimator that has those of its fit
    two = numbers.x[["age", "shade"]]
    ax = kerhrm.plots.environments(kept, two, numbers.hidden)
    assert len(scatters(ax)) == 2


def test_the_spectrum_and_the_chosen_dimension(labels: Any) -> None:
    model = kerhrm.KerHRMClassifier(
        k=[2, 20], n_init=2, network=(128,), random_state=0, if_not_better="fit"
    )
    model.fit(labels.x, labels.y)
    model.selected_["k"] = 2
    ax = kerhrm.plots.spectrum(model)
    used, other, mark = ax.lines
    values = [used.get_ydata(), other.get_ydata()]
    drawn = np.concatenate(values)
    assert drawn == pytest.approx(model.singular_values_)
    assert len(used.get_xdata()) == 2
    assert mark.get_xdata()[0] == 2
    assert words(ax) == ["used: k = 2 was chosen", "not used"]
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("task", ["labels", "numbers"])
def test_iterations_are_those_of_the_history(
    task: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(task).model
    ax = kerhrm.plots.iterations(model)
    sign = 1 if task == "labels" else -1
    keys = ("train_score", "validation_score", "score")
    for line, key in zip(ax.lines, keys, strict=False):
        drawn = sign * line.get_ydata()
        expected = [row[key] for row in model.history_]
        assert drawn.tolist() == expected
    mark = ax.lines[-1]
    assert mark.get_xdata()[0] == model.selected_["iteration"]
    legend = " ".join(words(ax))
    assert "worst" in legend


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_agreement_is_scikit_learn_s(labels: Any) -> None:
    given = {"k": 5, "network": (128,), "n_init": 2, "if_not_better": "fit"}
    x = labels.x
    y = labels.y
    first = kerhrm.KerHRMClassifier(**given, random_state=0)
    first.fit(x, y)
    second = kerhrm.KerHRMClassifier(**given, random_state=2)
    second.fit(x, y)
    one_environment = np.zeros(300)
    compared = {
        "truth": labels.hidden,
        "first": first,
        "second": second,
        "none": one_environment,
    }
    ax = kerhrm.plots.agreement(compared, x, y)
    drawn = np.asarray(ax.images[0].get_array())
    environments = [
        labels.hidden,
        first.environments_,
        second.environments_,
        one_environment,
    ]
    expected = []
    for a in environments:
        scores = [adjusted_rand_score(a, b) for b in environments]
        expected.append(scores)
    assert_allclose(drawn, expected, atol=1e-12)
    assert (np.diag(drawn) == 1).all()
    names = ["truth", "first", "second", "none\n(one environment)"]
    assert ticks(ax) == names
    assert ticks(ax, "x") == names

    again = kerhrm.plots.agreement(first, x, y, n=3)
    assert ticks(again) == ["seed 0", "seed 1", "seed 2"]
    drawn = np.asarray(again.images[0].get_array())
    first_with_second = expected[1][2]
    assert drawn[0, 2] == pytest.approx(first_with_second)

    of_two_fits = kerhrm.plots.agreement([first, second], x, y)
    assert ticks(of_two_fits) == ["seed 0", "seed 2"]


def test_errors_of_labels_by_group_are_a_groupby_s(labels: Any) -> None:
    names = np.where(labels.hidden, "turned", "as usual")
    groups = pd.Categorical(names, ["turned", "as usual"])
    other = LogisticRegression()
    other.fit(labels.x, labels.y)
    models = [labels.model, other]
    ax = kerhrm.plots.group_errors(models, labels.x, labels.y, groups)
    for model, container in zip(models, ax.containers, strict=True):
        predicted = model.predict(labels.x)
        wrong = pd.Series(predicted != labels.y)
        by_group = wrong.groupby(groups, observed=True).mean()
        overall = zero_one_loss(labels.y, predicted)
        assert_allclose(values_of(container, "x"), [overall, *by_group])
    n = labels.hidden.sum()
    assert ticks(ax) == ["all rows (300)", f"turned ({n})", f"as usual ({300 - n})"]
    assert words(ax) == ["KerHRMClassifier", "LogisticRegression"]
    twice = kerhrm.plots.group_errors([other, other], labels.x, labels.y, groups)
    assert words(twice) == ["LogisticRegression 1", "LogisticRegression 2"]


def test_errors_of_numbers_have_student_s_intervals(numbers: Any) -> None:
    groups = np.where(numbers.hidden, 1, 0)
    groups[7] = 2  # a group of one row
    models = {"mine": numbers.model}
    ax = kerhrm.plots.group_errors(models, numbers.x, numbers.y, groups)
    predictions = numbers.model.predict(numbers.x)
    losses = (predictions - numbers.y) ** 2
    by_group = losses.groupby(groups)
    (container,) = ax.containers
    means = [losses.mean(), *by_group.mean()]
    assert_allclose(values_of(container, "x"), means, rtol=1e-12)

    bar_of_group_0 = bars_of(container)[1]
    low, high = bar_of_group_0[:, 0]
    n = by_group.size()[0]
    quantile = t.ppf(0.975, n - 1)
    half = quantile * by_group.std()[0] / np.sqrt(n)
    assert (high - low) / 2 == pytest.approx(half)
    assert words(ax) == ["mine"]


def test_environments_of_auxiliary_columns_are_drawn(labels: Any) -> None:
    place = np.where(labels.hidden, "here", "there")
    anyway: Any = {"if_not_detected": "fit", "if_not_better": "fit"}
    model = kerhrm.KerHRMClassifier(k=2, network=(16,), random_state=0, **anyway)
    x = labels.x
    y = labels.y
    model.fit(x, y, auxiliary=place)
    ax = kerhrm.plots.environments(model, x, y, features=(0, 1), auxiliary=place)
    sizes = sorted(map(len, scatters(ax)))
    n_hidden = labels.hidden.sum()
    n_other = (~labels.hidden).sum()
    assert sizes == sorted([n_hidden, n_other])

    kerhrm.plots.relation(model, x, y, "shade", auxiliary=place)
    ax = kerhrm.plots.agreement([model, labels.hidden], x, y, auxiliary=place)
    assert ax.texts[1].get_text() == "1.00"
    of_auxiliary_alone = "functions of auxiliary columns alone"
    with pytest.raises(KerhrmError, match=of_auxiliary_alone):
        kerhrm.plots.importance(model, x, y)
    with pytest.raises(KerhrmError, match=of_auxiliary_alone):
        kerhrm.plots.environments(model, x, y, auxiliary=place)


def test_a_rootogram_has_a_bar_for_each_membership(labels: Any) -> None:
    described = labels.model.describe(stability=0)
    ax = kerhrm.plots.rootogram(described)
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    np.testing.assert_allclose(np.array(heights).T, described.rootogram)
    assert ticks(ax, "x")[::10] == ["0.0", "1.0"]
    with pytest.raises(KerhrmError, match=r"got KerHRMClassifier; give model.descr"):
        kerhrm.plots.rootogram(labels.model)
