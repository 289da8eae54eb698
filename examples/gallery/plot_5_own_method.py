"""
How does my own method or penalty compare with these?
=====================================================

Any estimator with ``fit`` and ``predict`` can stand next to the library's.  The one
here has a few lines: fit, find the rows that it gets wrong, weigh wrong and right rows
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
    cause = y + rng.normal(size=n)
    X = np.column_stack([cause, shortcut])
    return X, y, agrees


X, y, agrees = rows(1000, agreement=0.85)
X_new, y_new, agrees_new = rows(2000, agreement=0.5)

# %%
# A method of your own
# --------------------


class FitTwice(ClassifierMixin, BaseEstimator):
    """Logistic regression, again with wrong and right rows of equal weight."""

    def fit(self, X, y):
        first = LogisticRegression().fit(X, y)
        wrong = first.predict(X) != y
        share = wrong.mean()
        weights = np.where(wrong, 1 / share, 1 / (1 - share))
        self.model_ = LogisticRegression().fit(X, y, sample_weight=weights)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


# %%
# The others, on the same rows
# ----------------------------
# IRM and GroupDRO are given the hidden groups.  A penalty is an option of KerHRM, by
# its name; :doc:`/extending` shows how yours gets one.

linear = {"network": (), "random_state": 0}
steps = {"steps": 300, "learning_rate": 0.03}
whitened = {"penalty": "whitened_gradient_variance"}
without_groups = {
    "ERM": ERM(**steps, **linear),
    "JTT": JTT(**steps, **linear),
    "FitTwice (yours)": FitTwice(),
    "KerHRM": KerHRMClassifier(k=3, **linear),
    "KerHRM, whitened penalty": KerHRMClassifier(k=3, options=whitened, **linear),
}
with_groups = {
    "GroupDRO, groups given": GroupDRO(**steps, **linear),
    "IRM, groups given": IRM(**steps, **linear),
}
with warnings.catch_warnings(action="ignore", category=KerhrmWarning):
    for model in without_groups.values():
        model.fit(X, y)
for model in with_groups.values():
    model.fit(X, y, environments=agrees)
models = without_groups | with_groups

errors = {}
for name, model in models.items():
    wrong = model.predict(X_new) != y_new
    holds = wrong[agrees_new].mean()
    fails = wrong[~agrees_new].mean()
    errors[name] = holds, fails
    print(f"{name}: {holds:.2f} where the shortcut holds, {fails:.2f} where it fails")

# %%
# The picture
# -----------

BLUE = "#0072B2"
VERMILION = "#D55E00"

ordered = sorted(errors, key=lambda name: max(errors[name]))
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for place, name in enumerate(ordered):
    holds, fails = errors[name]
    axes.hlines(place, holds, fails, color="0.8", zorder=0)
    axes.plot(holds, place, "o", color=BLUE)
    axes.plot(fails, place, "o", color=VERMILION)
height = place - 0.3  # above the last row
axes.text(holds, height, "shortcut holds", color=BLUE, ha="left")
axes.text(fails, height, "shortcut fails", color=VERMILION, ha="right")
axes.set_yticks(range(len(ordered)), ordered)
labels = axes.get_yticklabels()
yours = ordered.index("FitTwice (yours)")
labels[yours].set_fontweight("bold")
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
# One data set says little.  ``kerhrm compete mymethod.py`` compares a method with all
# others on every table, with their data and seeds: :doc:`/extending`.
