"""
What would KerHRM do to my predictions?
=======================================

KerHRM gives up what a shortcut is worth on average, and does not fail where the
shortcut misleads.  Whether that price is worth paying depends on the rows that you will
predict.  The **break-even share** says from which share of the rarer rows on.
"""

import matplotlib.pyplot as plt
import numpy as np

from kerhrm import KerHRMRegressor

rng = np.random.default_rng(1)


def rows(n, reversed_share):
    """Columns and target; in a share of the rows the second column is reversed."""
    X = rng.normal(size=(n, 2))
    is_reversed = rng.random(n) < reversed_share
    slope = np.where(is_reversed, -2, 2)
    noise = 0.5 * rng.normal(size=n)
    y = X[:, 0] + slope * X[:, 1] + noise
    return X, y


X, y = rows(1000, reversed_share=0.15)
X_new, y_new = rows(1000, reversed_share=0.15)
model = KerHRMRegressor(k=5, network=(64,), random_state=0)
model.fit(X, y)
description = model.describe(stability=0)
break_even = description.break_even
print(break_even)

# %%
# Errors by environment
# ---------------------
# Of rows that the fit has not seen.

report = model.report(X_new, y_new)
print(report)

# %%
# The picture
# -----------
# Left: each environment's error by both models.  Right: the mean squared error of a
# mixture of both environments.  The grey band is the 95 % interval of the break-even
# share, which the training rows alone have given.

errors = report.errors
rare = break_even.environment
environments = errors.index.drop("all rows")
(common,) = environments.drop(rare)
GREY = "0.45"
COLOURS = {
    "ERM": "#000000",
    "KerHRM": "#0072B2",
}
ROWS = {
    "common rows": common,
    "all rows": "all rows",
    "rare rows": rare,
}

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")

for place, (title, name) in enumerate(ROWS.items()):
    of_rows = errors.loc[name, list(COLOURS)]
    left.hlines(place, of_rows.min(), of_rows.max(), color="0.8", zorder=0)
    left.text(0.05, place + 0.16, title, color=GREY)
    for method, colour in COLOURS.items():
        left.plot(of_rows[method], place, "o", color=colour)
for method, colour in COLOURS.items():
    point = errors.loc[rare, method], 2
    left.annotate(
        method,
        point,
        (0, -16),
        textcoords="offset points",
        color=colour,
        ha="center",
    )
left.set(yticks=[], xlim=(0, None), ylim=(-0.4, 2.6))
left.set_xlabel("root mean squared error")
left.set_title("KerHRM is worse on average,\nand better in the rare rows", loc="left")

share = np.linspace(0, 1, 101)
right.axvspan(break_even.low, break_even.high, color="0.9", zorder=0)
for method, colour in COLOURS.items():
    squares = errors[method] ** 2
    mixed = share * squares[rare] + (1 - share) * squares[common]
    right.plot(share, mixed, color=colour)
    right.text(1.02, mixed[-1], method, color=colour, va="center")
right.axvline(break_even.now, color=GREY, linestyle=":")
right.text(break_even.now - 0.02, 10.8, "your\nrows", color=GREY, ha="right", va="top")
right.set(xlim=(0, 1), ylim=(0, None))
right.set_xlabel("share of rare rows among those to come")
right.set_ylabel("mean squared error")
right.set_title(
    f"KerHRM pays once more than {break_even.share:.0%}\nof the rows are rare ones",
    loc="left",
)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Next: :doc:`which environments these are, where the truth is known
# <plot_3_known_environments>`; how a report is read: :doc:`/own_data`.
