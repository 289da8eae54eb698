"""
Does my table hide environments, and in which rows?
===================================================

A price follows size and rating.  In a hidden eighth of the rows the rating counts the
other way round, and no column says so.  :class:`~kerhrm.KerHRMRegressor` tests for such
rows, and names them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from kerhrm import KerHRMRegressor

rng = np.random.default_rng(0)
n = 800
size = rng.normal(size=n)
rating = rng.normal(size=n)
table = pd.DataFrame({"size": size, "rating": rating})
reversed_rows = rng.random(n) < 1 / 8
slope = np.where(reversed_rows, -2, 2)
noise = 0.5 * rng.normal(size=n)
price = pd.Series(size + slope * rating + noise, name="price")

# %%
# The test, and the rows
# ----------------------
# ``describe`` answers in words: whether environments are detected, how they differ, and
# which rows belong to them most certainly.

model = KerHRMRegressor(k=5, network=(64,), random_state=0)
model.fit(table, price)
description = model.describe(stability=5)
print(description)

# %%
# As the truth is known here, the answer can be checked.

rare = np.bincount(model.environments_).argmin()
found = model.environments_ == rare
n_reversed = reversed_rows.sum()
n_right = (found & reversed_rows).sum()
n_wrong = (found & ~reversed_rows).sum()
print(f"{n_right} of {n_reversed} reversed rows found")
print(f"{n_wrong} of {n - n_reversed} others taken for reversed")

# %%
# The picture
# -----------
# What you see in the table, and what the model sees in it.  Rows near the crossing fit
# both lines: no model can tell which one they belong to.

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREY = "0.45"

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.8), sharey=True, layout="constrained"
)
left.scatter(rating, price, s=9, color=GREY, linewidths=0)
left.set_title("The table: one cloud of rows", loc="left")
left.set_ylabel("price")


def draw(members, colour):
    """Rows of an environment, and the line that fits them."""
    x = rating[members]
    y = price[members]
    right.scatter(x, y, s=9, color=colour, linewidths=0)
    line = np.polynomial.Polynomial.fit(x, y, deg=1)
    ends = np.array([-2.6, 2.6])
    right.plot(ends, line(ends), color=colour)


draw(~found, BLUE)
draw(found, VERMILION)
share = found.mean()
right.text(-0.9, -7.7, f"most rows:\nprice rises ({1 - share:.0%})", color=BLUE)
right.text(-3.4, 6.2, f"rare rows:\nprice falls ({share:.0%})", color=VERMILION)
right.set_title("KerHRM: two environments", loc="left")
for axes in (left, right):
    axes.set_xlabel("rating")
    axes.set(xlim=(-3.6, 3.6), ylim=(-8, 8))
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Next: :doc:`what KerHRM would do to your predictions <plot_2_price>`; the same from a
# CSV file, by one command: :doc:`/own_data`; what the test cannot see: :doc:`/python`.
