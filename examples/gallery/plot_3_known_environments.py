"""
Which environments does it find where they are known?
=====================================================

Data of the paper's Table 1, at a small size.  Two sources are pooled.  In both a
shortcut agrees with the label in most rows: in 90 % of the first source's, and in 70 %
of the second one's.  Does :class:`~kerhrm.KerHRMClassifier` find the sources?

The data are in ``kerhrm_paper``, which a checkout of this repository has.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from kerhrm import KerHRMClassifier, TangentRidge
from kerhrm.estimators import PriceWarning
from kerhrm_paper.data.classification import ClassificationData, generate

options = ClassificationData(n_train_per_environment=500, scramble="identity")
draws = generate(options, seeds=[0])
(X,) = draws.train.x
(y,) = draws.train.y
(source,) = draws.train.environment
shortcut = X[:, options.d :]  # not scrambled, so that it can be seen
agrees = np.sign(shortcut.mean(1)) == y

model = KerHRMClassifier(k=(5, 10), network=(128,), random_state=0)
with warnings.catch_warnings(action="ignore", category=PriceWarning):
    model.fit(X, y)
erm = TangentRidge(network=(128,), random_state=0)
erm.fit(X, y)

# %%
# Neither source is an environment that it finds
# ----------------------------------------------
# It finds the rows in which the shortcut fails, whatever source they are from.  That is
# all that two labels can show, and these are the rows in which a model has to be right.

rare = np.bincount(model.environments_).argmin()
found = model.environments_ == rare
HOLDS = "shortcut holds"
FAILS = "shortcut fails"
word = np.where(agrees, HOLDS, FAILS)
shares = {}
for number in (1, 2):
    for outcome in (HOLDS, FAILS):
        is_source = source == number - 1
        members = is_source & (word == outcome)
        share = found[members].mean()
        name = f"source {number}, {outcome}"
        shares[name] = share
        print(f"{name} ({members.sum()} rows): {share:.0%} in the rarer environment")

# %%
# In the test the shortcut fails in nine rows of ten.

(X_test,) = draws.test.x
(y_test,) = draws.test.y
accuracies = {
    "ERM": erm.score(X_test, y_test),
    "KerHRM": model.score(X_test, y_test),
}
print(accuracies)

# %%
# The picture
# -----------

GREY = "0.45"
COLOURS = {
    "ERM": "#000000",
    "KerHRM": "#0072B2",
    HOLDS: "#0072B2",
    FAILS: "#D55E00",
}

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.4), width_ratios=(3, 2), layout="constrained"
)
for place, (name, share) in enumerate(shares.items()):
    _, outcome = name.split(", ")
    colour = COLOURS[outcome]
    left.barh(place, share, color=colour, height=0.6)
    left.text(share + 0.02, place, f"{share:.0%}", color=colour, va="center")
left.set_yticks(range(len(shares)), shares)
left.set(xlim=(0, 1.15), ylim=(3.5, -0.5), xticks=[0, 0.5, 1])
left.set_xlabel("share of the rows in the rarer environment")
left.set_title("It finds rows whose shortcut fails,\nnot the sources", loc="left")

for place, (name, accuracy) in enumerate(accuracies.items()):
    right.barh(place, accuracy, color=COLOURS[name], height=0.5)
    right.text(
        accuracy - 0.02,
        place,
        f"{name} {accuracy:.2f}",
        color="white",
        ha="right",
        va="center",
    )
right.axvline(0.5, color=GREY, linestyle=":", zorder=0)
right.text(0.52, 0, "a guess", color=GREY, va="center")
right.set(yticks=[], xlim=(0, 1.15), ylim=(1.5, -0.5), xticks=[0, 0.5, 1])
right.set_xlabel("accuracy in the test")
right.set_title("Where the shortcut fails,\nERM fails", loc="left")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Next: :doc:`the environments for a trainer of your own <plot_4_embeddings>`; the whole
# table, and what was found of its claims: :doc:`/findings`.
