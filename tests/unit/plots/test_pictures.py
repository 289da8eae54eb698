"""What pictures of estimators show, held against plain counts and scikit-learn."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose
from refusals import refusal
from scipy.stats import t
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import adjusted_rand_score, zero_one_loss

import kerhrm
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
    model, x, y, _ = numbers
    ax = kerhrm.plots.environments(model, x, y, features=["age", 2])
    environments = model.environments_
    for e, points in enumerate(scatters(ax)):
        is_inside = environments == e
        rows = x.loc[is_inside, ["age", "shade"]]
        assert_allclose(points, rows)
    assert ax.get_xlabel() == "age"
    assert ax.get_ylabel() == "shade"
    # markers, not colours
    markers = set()
    for collection in ax.collections:
        markers.add(str(collection.get_paths()))
    assert len(markers) == 2


@pytest.mark.parametrize("least", ["size", "shape"])
def test_importance_finds_what_makes_the_environments(
    least: str, labels: Any, numbers: Any
) -> None:
    one = labels if least == "shape" else numbers
    model, x, y, _ = one
    ax = kerhrm.plots.importance(model, x, y)
    widths = [bar.get_width() for bar in ax.patches]
    lengths = dict(zip(ticks(ax), widths, strict=True))
    target = f"{y.name} (target)"
    columns = lengths.keys() - {target}
    longest = max(columns, key=lengths.__getitem__)
    shortest = min(lengths, key=lengths.__getitem__)
    assert longest == "shade"
    assert shortest == least
    # by hand: the columns that are not shuffled leave memberships where they are
    shade = x["shade"].to_numpy()
    turned = x.assign(shade=shade[::-1])
    before = model.predict_environment_proba(x, y)
    after = model.predict_environment_proba(turned, y)
    changes = np.abs(after - before)
    moved = changes.sum(1).mean() / 2
    length = lengths["shade"]
    assert length == pytest.approx(moved, abs=0.1)
    ax_of_one = kerhrm.plots.importance(model, x, y, most=1)
    assert len(ax_of_one.patches) == 1


def test_shares_of_labels_are_counts(labels: Any) -> None:
    model, x, y, hidden = labels
    ax = kerhrm.plots.relation(model, x, y, "shape", bins=4)
    part = pd.qcut(x["shape"], 4, labels=False)
    groups = [model.environments_, part]
    is_positive = y == "yes"
    positive = is_positive.groupby(groups).mean()
    for e, container in enumerate(ax.containers):
        shares = values_of(container, "y")
        expected = positive[e]
        assert_allclose(shares, expected)
        ends = np.array(bars_of(container))
        low, high = ends[:, :, 1].T
        assert (low <= expected + 1e-9).all()
        assert (high >= expected - 1e-9).all()
        assert (low >= 0).all()
        assert (high <= 1).all()

    is_large = x["shape"] > 0.2
    few = x.assign(shape=is_large.astype(float))
    ax = kerhrm.plots.relation(hidden, few, y, "shape")
    positions = values_of(ax.containers[0], "x")
    assert len(positions) == 2


def test_lines_of_numbers_are_least_squares(numbers: Any) -> None:
    model, x_of_rows, y_of_rows, _ = numbers
    ax = kerhrm.plots.relation(model, x_of_rows, y_of_rows, "shade")
    column = x_of_rows[["shade"]].to_numpy()
    expected_words = []
    for e, line in enumerate(ax.lines):
        weight = model.environment_proba_[:, e]
        fit = LinearRegression()
        fit.fit(column, y_of_rows, sample_weight=weight)
        x, y = line.get_data()
        slope = np.diff(y) / np.diff(x)
        assert slope == pytest.approx(fit.coef_)
        is_inside = model.environments_ == e
        share = is_inside.mean()
        expected_words.append(f"environment {e} (likeliest for {share:.0%})")
    assert words(ax) == expected_words


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
    slopes_of_lines = np.ravel(slopes)
    assert_allclose(slopes_of_lines, [2, -2], atol=0.3)

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
    drawn_scores = zip(ax.lines, keys, strict=False)
    for line, key in drawn_scores:
        drawn = sign * line.get_ydata()
        expected = [row[key] for row in model.history_]
        assert drawn.tolist() == expected
    mark = ax.lines[-1].get_xdata()
    iteration = model.selected_["iteration"]
    assert mark[0] == iteration
    legend = " ".join(words(ax))
    assert "worst" in legend
    assert "which chooses" in legend
    # the mark stays where ERM predicts, and is that of the fit, not of the best score
    marked = copy.copy(model)
    marked.selected_ = {**model.selected_, "iteration": 0}
    marked.history_ = [
        {**row, "chosen": row["iteration"] == 1} for row in model.history_
    ]
    marked.history_[0]["score"] = -99.0
    assert kerhrm.plots.iterations(marked).lines[-1].get_xdata()[0] == 1
    changed = copy.copy(model).set_params(options__stop_by="pooled")
    ax_of_changed = kerhrm.plots.iterations(changed)
    assert words(ax_of_changed) == words(ax)  # options are those of the fit


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_agreement_is_scikit_learn_s(labels: Any) -> None:
    given = {
        "k": 5,
        "network": (128,),
        "n_init": 2,
        "if_not_better": "fit",
    }
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
    (image,) = ax.images
    drawn = np.asarray(image.get_array())
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
    of_itself = np.diag(drawn)
    assert (of_itself == 1).all()
    names = ["truth", "first", "second", "none\n(one environment)"]
    assert ticks(ax) == names
    assert ticks(ax, "x") == names

    again = kerhrm.plots.agreement(first, x, y, n=3)
    assert ticks(again) == ["seed 0", "seed 1", "seed 2"]
    (image,) = again.images
    drawn = np.asarray(image.get_array())
    first_with_second = expected[1][2]
    assert drawn[0, 2] == pytest.approx(first_with_second)

    fits = [first, second]
    of_two_fits = kerhrm.plots.agreement(fits, x, y)
    assert ticks(of_two_fits) == ["seed 0", "seed 2"]


def test_errors_of_labels_by_group_are_a_groupby_s(labels: Any) -> None:
    model, x, y, hidden = labels
    names = np.where(hidden, "turned", "as usual")
    groups = pd.Categorical(names, ["turned", "as usual"])
    other = LogisticRegression()
    other.fit(x, y)
    models = [model, other]
    ax = kerhrm.plots.group_errors(models, x, y, groups)
    for model, container in zip(models, ax.containers, strict=True):
        predicted = model.predict(x)
        wrong = pd.Series(predicted != y)
        by_group = wrong.groupby(groups, observed=True)
        overall = zero_one_loss(y, predicted)
        shares = [overall, *by_group.mean()]
        assert_allclose(values_of(container, "x"), shares)
    n = hidden.sum()
    assert ticks(ax) == ["all rows (300)", f"turned ({n})", f"as usual ({300 - n})"]
    assert words(ax) == ["KerHRMClassifier", "LogisticRegression"]
    same = [other, other]
    twice = kerhrm.plots.group_errors(same, x, y, groups)
    assert words(twice) == ["LogisticRegression 1", "LogisticRegression 2"]


def test_errors_of_numbers_have_student_s_intervals(numbers: Any) -> None:
    model, x, y, hidden = numbers
    groups = np.where(hidden, 1, 0)
    groups[7] = 2  # a group of one row
    models = {"mine": model}
    ax = kerhrm.plots.group_errors(models, x, y, groups)
    errors = model.predict(x) - y
    losses = errors**2
    by_group = losses.groupby(groups)
    (container,) = ax.containers
    means = [losses.mean(), *by_group.mean()]
    drawn = values_of(container, "x")
    assert_allclose(drawn, means, rtol=1e-12)

    bar_of_group_0 = bars_of(container)[1]
    low, high = bar_of_group_0[:, 0]
    n = by_group.size()[0]
    quantile = t.ppf(0.975, n - 1)
    standard_error = by_group.std()[0] / np.sqrt(n)
    half = quantile * standard_error
    half_length = (high - low) / 2
    assert half_length == pytest.approx(half)
    assert words(ax) == ["mine"]


def test_environments_of_auxiliary_columns_are_drawn(labels: Any) -> None:
    place = np.where(labels.hidden, "here", "there")
    anyway: Any = {"if_not_detected": "fit", "if_not_better": "fit"}
    small: Any = {"k": 2, "network": (16,), "random_state": 0}
    model = kerhrm.KerHRMClassifier(**small, **anyway)
    x = labels.x
    y = labels.y
    model.fit(x, y, auxiliary=place)
    features = (0, 1)
    ax = kerhrm.plots.environments(
        model,
        x,
        y,
        features=features,
        auxiliary=place,
    )
    sizes = sorted(map(len, scatters(ax)))
    n_hidden = labels.hidden.sum()
    n_other = (~labels.hidden).sum()
    assert sizes == sorted([n_hidden, n_other])
    # what chooses is a risk, and would be no accuracy
    of_iteration = kerhrm.plots.iterations(model)
    assert words(of_iteration) == [
        "training rows",
        "validation rows",
        "iteration 1, chosen",
    ]

    kerhrm.plots.relation(model, x, y, "shade", auxiliary=place)
    compared = [model, labels.hidden]
    ax = kerhrm.plots.agreement(compared, x, y, auxiliary=place)
    assert ax.texts[1].get_text() == "1.00"
    of_auxiliary_alone = "functions of auxiliary columns alone"
    with refusal(of_auxiliary_alone):
        kerhrm.plots.importance(model, x, y)
    with refusal(of_auxiliary_alone):
        kerhrm.plots.environments(model, x, y, auxiliary=place)


def test_a_rootogram_has_a_bar_for_each_membership(labels: Any) -> None:
    described = labels.model.describe(stability=0)
    ax = kerhrm.plots.rootogram(described)
    heights = []
    for bars in ax.containers:
        heights.append([bar.get_height() for bar in bars])
    by_bin = np.array(heights).T
    assert_allclose(by_bin, described.rootogram)
    tens = ticks(ax, "x")[::10]
    assert tens == ["0.0", "1.0"]
    with refusal(r"got KerHRMClassifier; give model.descr"):
        kerhrm.plots.rootogram(labels.model)


@pytest.mark.parametrize(("width", "columns"), [(12, 2), (6, 1)])
def test_a_figure_in_a_figure_is_drawn_in(
    labels: Any, width: float, columns: int
) -> None:
    """A legend is as wide as its axes allow."""
    figure = plt.figure(figsize=(width, 4))
    left, _ = figure.subfigures(1, 2)
    ax = left.subplots()
    environments = kerhrm.plots.environments
    environments(labels.hidden, labels.x, labels.y, features=[0, 1], ax=ax)
    assert ax.get_legend()._ncols == columns
