"""
How do I hold my own method or penalty against these?
=====================================================

Any estimator with ``fit`` and ``predict`` can stand next to the library's.  Ours has a
few lines: fit, find the rows that are wrong, weigh wrong and right rows
equally, fit again.  What counts is the error in the group that does worst.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from kerhrm import ERM, IRM, JTT, GroupDRO, KerHRMClassifier
from kerhrm.estimators import KerhrmWarning

rng = np.random.default_rng(0)


def rows(n, agreement):
    """Columns, labels, and whether a shortcut agrees with the label."""
    y = rng.choice([-1.0, 1.0], n)
    agrees = rng.random(n) < agreement
    shortcut = np.where(agrees, y, -y) + 0.3 * rng.normal(size=n)
    return np.column_stack([y + rng.normal(size=n), shortcut]), y, agrees


X, y, agrees = rows(1000, agreement=0.85)
X_new, y_new, agrees_new = rows(2000, agreement=0.5)

# %%
# A method of your own
# --------------------


class FitTwice(ClassifierMixin, BaseEstimator):
    """Logistic regression, again with wrong and right rows of equal weight."""

    def fit(self, X, y):
        wrong = LogisticRegression().fit(X, y).predict(X) != y
        weights = np.where(wrong, 1 / wrong.mean(), 1 / (~wrong).mean())
        self.model_ = LogisticRegression().fit(X, y, sample_weight=weights)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


# %%
# The others, on the same rows
# ----------------------------
# IRM and GroupDRO are given the hidden groups, and serve as a bound.  A penalty is an
# option of KerHRM, by its name; how yours gets one is in :doc:`/extending`.

linear = {"network": (), "random_state": 0}
steps = {"steps": 300, "learning_rate": 0.03}
kerhrm = {"k": 3, **linear}
models = {
    "ERM": ERM(**steps, **linear).fit(X, y),
    "JTT": JTT(**steps, **linear).fit(X, y),
    "FitTwice (yours)": FitTwice().fit(X, y),
    "GroupDRO, groups given": GroupDRO(**steps, **linear).fit(
        X, y, environments=agrees
    ),
    "IRM, groups given": IRM(**steps, **linear).fit(X, y, environments=agrees),
}
with warnings.catch_warnings(action="ignore", category=KerhrmWarning):
    models["KerHRM"] = KerHRMClassifier(**kerhrm).fit(X, y)
    models["KerHRM, whitened penalty"] = KerHRMClassifier(
        options={"penalty": "whitened_gradient_variance"}, **kerhrm
    ).fit(X, y)

errors = {}
for name, model in models.items():
    wrong = model.predict(X_new) != y_new
    errors[name] = wrong[agrees_new].mean(), wrong[~agrees_new].mean()
    print(f"{name}: {errors[name][0]:.2f} where the shortcut holds,", end=" ")
    print(f"{errors[name][1]:.2f} where it fails")

# %%
# The picture
# -----------

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "0.45"
ordered = sorted(errors, key=lambda name: max(errors[name]))
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for place, name in enumerate(ordered):
    holds, fails = errors[name]
    axes.plot([holds, fails], [place, place], color="0.8", zorder=0)
    axes.plot(holds, place, "o", color=BLUE)
    axes.plot(fails, place, "o", color=VERMILION)
last = errors[ordered[-1]]
place = len(ordered) - 1
axes.text(last[0], place - 0.3, "shortcut holds", color=BLUE, ha="left")
axes.text(last[1], place - 0.3, "shortcut fails", color=VERMILION, ha="right")
axes.set_yticks(range(len(ordered)), ordered)
axes.get_yticklabels()[ordered.index("FitTwice (yours)")].set_fontweight("bold")
axes.set(xlim=(0, None), ylim=(len(ordered) - 0.5, -0.5))
axes.set_xlabel("share of wrong labels among new rows")
axes.set_title(
    "KerHRM infers groups that do as well as given ones;\n"
    "FitTwice does better than ERM, and worse than they do",
    loc="left",
)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One data set says little.  ``kerhrm compete mymethod.py`` holds a method against all
# others on every table, with their data and seeds: :doc:`/extending`.
