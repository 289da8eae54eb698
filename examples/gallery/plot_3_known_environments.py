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
X, y, source = draws.train.x[0], draws.train.y[0], draws.train.environment[0]
shortcut = np.sign(X[:, options.d :].mean(1))  # not scrambled, so that it can be seen
agrees = shortcut == y

model = KerHRMClassifier(k=(5, 10), network=(128,), random_state=0)
with warnings.catch_warnings(action="ignore", category=PriceWarning):
    model.fit(X, y)
erm = TangentRidge(network=(128,), random_state=0).fit(X, y)

# %%
# Neither source is an environment that it finds
# ----------------------------------------------
# It finds the rows in which the shortcut fails, whatever source they are from.  That is
# all that two labels can show, and it is what a model has to hold against.

rare = np.bincount(model.environments_).argmin()
found = model.environments_ == rare
shares = {}
for number, rate in enumerate((options.r1, options.r2)):
    for holds in (True, False):
        members = (source == number) & (agrees == holds)
        shares[rate, holds] = found[members].mean()
        word = "holds" if holds else "fails"
        print(
            f"source {number + 1}, shortcut {word} ({members.sum()} rows):"
            f" {shares[rate, holds]:.0%} in the rarer environment"
        )

# %%
# In the test the shortcut fails in nine rows of ten.

X_test, y_test = draws.test.x[0], draws.test.y[0]
accuracies = {
    "ERM": erm.score(X_test, y_test),
    "KerHRM": model.score(X_test, y_test),
}
print(accuracies)

# %%
# The picture
# -----------

BLACK, BLUE, VERMILION, GREY = "#000000", "#0072B2", "#D55E00", "0.45"
figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.4), width_ratios=(3, 2), layout="constrained"
)
names = []
for place, ((rate, holds), share) in enumerate(shares.items()):
    colour = BLUE if holds else VERMILION
    left.barh(place, share, color=colour, height=0.6)
    left.text(share + 0.02, place, f"{share:.0%}", color=colour, va="center")
    number = 1 if rate == options.r1 else 2
    names.append(f"source {number}, shortcut {'holds' if holds else 'fails'}")
left.set_yticks(range(len(names)), names)
left.set(xlim=(0, 1.15), ylim=(3.5, -0.5), xticks=[0, 0.5, 1])
left.set_xlabel("share of the rows in the rarer environment")
left.set_title("It finds rows whose shortcut fails,\nnot the sources", loc="left")

for place, (name, accuracy) in enumerate(accuracies.items()):
    colour = BLACK if name == "ERM" else BLUE
    right.barh(place, accuracy, color=colour, height=0.5)
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
