"""What pictures of estimators show, held against plain counts and scikit-learn."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from scipy.stats import t
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import adjusted_rand_score, zero_one_loss

import kerhrm
from kerhrm.errors import KerhrmError

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")


def scatters(ax: Axes) -> list[np.ndarray]:
    """Points of each environment."""
    found = [c for c in ax.collections if isinstance(c, PathCollection)]
    return [np.asarray(c.get_offsets()) for c in found]


def ticks(ax: Axes, which: str = "y") -> list[str]:
    return [label.get_text() for label in getattr(ax, f"get_{which}ticklabels")()]


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def pictures(one: Any) -> dict[str, Any]:
    """All of them, each a function of axes."""
    given, plots = (one.model, one.x, one.y), kerhrm.plots
    return {
        "rootogram": lambda ax: plots.rootogram(one.model.describe(stability=0), ax=ax),
        "environments": lambda ax: plots.environments(*given, ax=ax),
        "relation": lambda ax: plots.relation(*given, ax=ax),
        "importance": lambda ax: plots.importance(*given, ax=ax),
        "spectrum": lambda ax: plots.spectrum(one.model, ax=ax),
        "iterations": lambda ax: plots.iterations(one.model, ax=ax),
        "agreement": lambda ax: plots.agreement(
            [one.model, one.model], *given[1:], ax=ax
        ),
        "group_errors": lambda ax: plots.group_errors(*given, one.hidden, ax=ax),
    }


@pytest.mark.parametrize("task", ["labels", "numbers"])
@pytest.mark.parametrize("name", kerhrm.plots.__all__)
def test_axes_in_axes_out(name: str, task: str, request: pytest.FixtureRequest) -> None:
    draw = pictures(request.getfixturevalue(task))[name]
    _, (first, second) = plt.subplots(1, 2)
    before = dict(mpl.rcParams), plt.gcf(), plt.gca(), plt.get_fignums()
    assert draw(first) is first
    assert (dict(mpl.rcParams), plt.gcf(), plt.gca(), plt.get_fignums()) == before
    assert not second.has_data()
    own = draw(None)
    assert own.figure is not first.figure
    assert own.has_data()
    own.figure.canvas.draw()  # without a warning
    assert own.get_xlabel()


def test_every_row_lies_in_its_environment(numbers: Any) -> None:
    ax = kerhrm.plots.environments(*numbers[:3], features=["age", 2])
    for e, points in enumerate(scatters(ax)):
        here = numbers.model.environments_ == e
        np.testing.assert_allclose(points, numbers.x.loc[here, ["age", "shade"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "shade")
    # markers, not colours
    assert len(set(map(str, (c.get_paths() for c in ax.collections)))) == 2


@pytest.mark.parametrize("least", ["size", "shape"])
def test_importance_finds_what_makes_the_environments(
    least: str, labels: Any, numbers: Any
) -> None:
    one = labels if least == "shape" else numbers
    ax = kerhrm.plots.importance(*one[:3])
    lengths = dict(zip(ticks(ax), [bar.get_width() for bar in ax.patches], strict=True))
    target = f"{one.y.name} (target)"
    assert max(lengths.keys() - {target}, key=lengths.__getitem__) == "shade"
    assert min(lengths, key=lengths.__getitem__) == least
    # by hand: the columns that are not shuffled leave memberships where they are
    turned = one.x.assign(shade=one.x["shade"].to_numpy()[::-1])
    proba = one.model.predict_environment_proba
    moved = np.abs(proba(turned, one.y) - proba(one.x, one.y)).sum(1).mean() / 2
    assert lengths["shade"] == pytest.approx(moved, abs=0.1)
    assert len(kerhrm.plots.importance(*one[:3], most=1).patches) == 1


def test_shares_of_labels_are_counts(labels: Any) -> None:
    ax = kerhrm.plots.relation(*labels[:3], "shape", bins=4)
    part = pd.qcut(labels.x["shape"], 4, labels=False)
    positive = (labels.y == "yes").groupby([labels.model.environments_, part]).mean()
    for e, container in enumerate(ax.containers):
        np.testing.assert_allclose(container.lines[0].get_ydata(), positive[e])
        low, high = np.array(container.lines[2][0].get_segments())[:, :, 1].T
        assert (low <= positive[e] + 1e-9).all()
        assert (high >= positive[e] - 1e-9).all()
        assert ((low >= 0) & (high <= 1)).all()
    few = labels.x.assign(shape=(labels.x["shape"] > 0.2).astype(float))
    ax = kerhrm.plots.relation(labels.hidden, few, labels.y, "shape")
    assert len(ax.containers[0].lines[0].get_xdata()) == 2


def test_lines_of_numbers_are_least_squares(numbers: Any) -> None:
    ax = kerhrm.plots.relation(*numbers[:3], "shade")
    for e, line in enumerate(ax.lines):
        column = numbers.x[["shade"]].to_numpy()
        weight = numbers.model.environment_proba_[:, e]
        fit = LinearRegression().fit(column, numbers.y, sample_weight=weight)
        x, y = line.get_data()
        assert np.diff(y) / np.diff(x) == pytest.approx(fit.coef_)
    shares = [
        f"environment {e} ({(numbers.model.environments_ == e).mean():.0%}"
        for e in (0, 1)
    ]
    assert [word.partition(" of")[0] for word in words(ax)] == shares


def test_given_environments_stand_for_an_estimator(numbers: Any) -> None:
    where = np.where(numbers.hidden, "town", "land")
    ax = kerhrm.plots.relation(where, numbers.x.to_numpy(), numbers.y.to_numpy(), 2)
    assert [word.partition(" (")[0] for word in words(ax)] == [
        "environment land",
        "environment town",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 2", "y")
    slopes = [
        np.diff(line.get_ydata()) / np.diff(line.get_xdata()) for line in ax.lines
    ]
    np.testing.assert_allclose(np.ravel(slopes), [2, -2], atol=0.3)
    kept = LogisticRegression()
    kept.environments_ = where  # of an estimator that has those of its fit
    two = numbers.x[["age", "shade"]]
    assert len(scatters(kerhrm.plots.environments(kept, two, numbers.hidden))) == 2


def test_the_spectrum_and_the_chosen_dimension(labels: Any) -> None:
    model = kerhrm.KerHRMClassifier(
        k=[2, 20], n_init=2, network=(128,), random_state=0, if_not_better="fit"
    )
    model.fit(labels.x, labels.y).selected_["k"] = 2
    ax = kerhrm.plots.spectrum(model)
    used, other, mark = ax.lines
    assert np.concatenate([used.get_ydata(), other.get_ydata()]) == pytest.approx(
        model.singular_values_
    )
    assert len(used.get_xdata()) == mark.get_xdata()[0] == 2
    assert words(ax) == ["used: k = 2 was chosen", "not used"]
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("task", ["labels", "numbers"])
def test_iterations_are_those_of_the_history(
    task: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(task).model
    ax = kerhrm.plots.iterations(model)
    sign = 1 if task == "labels" else -1
    for line, key in zip(
        ax.lines, ("train_score", "validation_score", "score"), strict=False
    ):
        assert (sign * line.get_ydata()).tolist() == [
            row[key] for row in model.history_
        ]
    assert ax.lines[-1].get_xdata()[0] == model.selected_["iteration"]
    assert "worst" in " ".join(words(ax))


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_agreement_is_scikit_learn_s(labels: Any) -> None:
    given = {"k": 5, "network": (128,), "n_init": 2, "if_not_better": "fit"}
    fits = [
        kerhrm.KerHRMClassifier(**given, random_state=s).fit(labels.x, labels.y)
        for s in (0, 2)
    ]
    some = {
        "truth": labels.hidden,
        "first": fits[0],
        "second": fits[1],
        "none": np.zeros(300),
    }
    ax = kerhrm.plots.agreement(some, labels.x, labels.y)
    found = np.asarray(ax.images[0].get_array())
    each = [labels.hidden, *(fit.environments_ for fit in fits), np.zeros(300)]
    expected = [[adjusted_rand_score(a, b) for b in each] for a in each]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (np.diag(found) == 1).all()
    assert (
        ticks(ax)
        == ticks(ax, "x")
        == ["truth", "first", "second", "none\n(one environment)"]
    )
    again = kerhrm.plots.agreement(fits[0], labels.x, labels.y, n=3)
    assert ticks(again) == ["seed 0", "seed 1", "seed 2"]
    assert np.asarray(again.images[0].get_array())[0, 2] == pytest.approx(
        expected[1][2]
    )
    assert ticks(kerhrm.plots.agreement(fits, labels.x, labels.y)) == [
        "seed 0",
        "seed 2",
    ]


def test_errors_of_labels_by_group_are_a_groupby_s(labels: Any) -> None:
    groups = pd.Categorical(
        np.where(labels.hidden, "turned", "as usual"), ["turned", "as usual"]
    )
    other = LogisticRegression().fit(labels.x, labels.y)
    ax = kerhrm.plots.group_errors([labels.model, other], labels.x, labels.y, groups)
    for model, container in zip([labels.model, other], ax.containers, strict=True):
        wrong = pd.Series(model.predict(labels.x) != labels.y)
        by_group = wrong.groupby(groups, observed=True).mean()
        expected = [zero_one_loss(labels.y, model.predict(labels.x)), *by_group]
        np.testing.assert_allclose(container.lines[0].get_xdata(), expected)
    n = labels.hidden.sum()
    assert ticks(ax) == ["all rows (300)", f"turned ({n})", f"as usual ({300 - n})"]
    assert words(ax) == ["KerHRMClassifier", "LogisticRegression"]
    twice = kerhrm.plots.group_errors([other, other], labels.x, labels.y, groups)
    assert words(twice) == ["LogisticRegression 1", "LogisticRegression 2"]


def test_errors_of_numbers_have_student_s_intervals(numbers: Any) -> None:
    groups = np.where(numbers.hidden, 1, 0)
    groups[7] = 2  # a group of one row
    ax = kerhrm.plots.group_errors(
        {"mine": numbers.model}, numbers.x, numbers.y, groups
    )
    losses = (numbers.model.predict(numbers.x) - numbers.y) ** 2
    by_group = losses.groupby(groups)
    (container,) = ax.containers
    np.testing.assert_allclose(
        container.lines[0].get_xdata(), [losses.mean(), *by_group.mean()], rtol=1e-12
    )
    low, high = np.array(container.lines[2][0].get_segments()[1])[:, 0]
    n = by_group.size()[0]
    half = t.ppf(0.975, n - 1) * by_group.std()[0] / np.sqrt(n)
    assert (high - low) / 2 == pytest.approx(half)
    assert words(ax) == ["mine"]


@pytest.mark.parametrize("name", kerhrm.plots.__all__)
def test_names_are_not_read_as_mathematics(name: str, labels: Any) -> None:
    """A pair of dollars in a column, target, label or group would crash or be set in
    italics."""
    odd = {"shape": "price_$/m^2_in_$", "shade": "$50K_to_$75K"}
    x, y = (
        labels.x.rename(columns=odd),
        labels.y.map({"yes": "$y^$", "no": "$n"}).rename("$_$"),
    )
    model = kerhrm.KerHRMClassifier(
        k=5, n_init=2, network=(128,), random_state=0, if_not_better="fit"
    ).fit(x, y)
    groups = np.where(labels.hidden, "$^$", "other")
    ax = pictures(labels._replace(model=model, x=x, y=y, hidden=groups))[name](None)
    ax.figure.canvas.draw()
    texts = [
        ax.xaxis.label,
        ax.yaxis.label,
        *ax.get_xticklabels(),
        *ax.get_yticklabels(),
    ]
    for text in texts:
        name = text.get_text().replace(r"$\mathdefault", "$")  # ticks of a logarithm
        assert "$" not in name.replace(r"\$", "") or set(name) <= set(
            "$\\{}^.-0123456789"
        )


def test_a_name_that_matplotlib_would_hide_is_in_the_legend(labels: Any) -> None:
    """A label that begins with an underscore is left out by matplotlib."""
    x, y, group = labels.x, labels.y, labels.hidden
    models = dict.fromkeys(("_mine", "_nolegend_", "", "$b$"), labels.model)
    ax = kerhrm.plots.group_errors(models, x, y, group)
    assert words(ax) == ["_mine", "_nolegend_", "''", r"\$b\$"]
    ax = kerhrm.plots.environments(np.where(group, "_a", "b"), x, y)
    assert [word.split(" (")[0] for word in words(ax)] == [
        "environment _a",
        "environment b",
    ]


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
    n = len(labels.x)
    given = pd.Series(groups * (n // 2), dtype=object)
    ax = kerhrm.plots.group_errors(labels.model, labels.x, labels.y, given)
    counts = [f"{name} ({n // 2})" for name in expected]
    assert ticks(ax) == [f"all rows ({n})", *counts]


def test_environments_of_auxiliary_columns_are_drawn(labels: Any) -> None:
    place = np.where(labels.hidden, "here", "there")
    anyway: Any = {"if_not_detected": "fit", "if_not_better": "fit"}
    model = kerhrm.KerHRMClassifier(k=2, network=(16,), random_state=0, **anyway)
    model.fit(labels.x, labels.y, auxiliary=place)
    given = model, labels.x, labels.y
    ax = kerhrm.plots.environments(*given, features=(0, 1), auxiliary=place)
    assert sorted(map(len, scatters(ax))) == sorted(
        [labels.hidden.sum(), (~labels.hidden).sum()]
    )
    kerhrm.plots.relation(*given, "shade", auxiliary=place)
    ax = kerhrm.plots.agreement([model, labels.hidden], *given[1:], auxiliary=place)
    assert ax.texts[1].get_text() == "1.00"
    for draw in (kerhrm.plots.importance, kerhrm.plots.environments):
        how = {} if draw is kerhrm.plots.importance else {"auxiliary": place}
        with pytest.raises(KerhrmError, match="functions of auxiliary columns alone"):
            draw(*given, **how)


def test_a_column_named_as_the_target_keeps_a_bar_of_its_own(labels: Any) -> None:
    x = labels.x.rename(columns={"shape": "answer (target)"})
    model = clone(labels.model).fit(x, labels.y)
    names = ticks(kerhrm.plots.importance(model, x, labels.y))
    assert sorted(names) == ["answer (target)", "shade", "target answer (target)"]


def test_a_rootogram_has_a_bar_for_each_membership(labels: Any) -> None:
    described = labels.model.describe(stability=0)
    ax = kerhrm.plots.rootogram(described)
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    np.testing.assert_allclose(np.array(heights).T, described.rootogram)
    assert ticks(ax, "x")[::10] == ["0.0", "1.0"]
    with pytest.raises(KerhrmError, match=r"got KerHRMClassifier; give model.descr"):
        kerhrm.plots.rootogram(labels.model)
