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
table = pd.DataFrame({"size": rng.normal(size=n), "rating": rng.normal(size=n)})
reversed_rows = rng.random(n) < 1 / 8
slope = np.where(reversed_rows, -2, 2)
price = table["size"] + slope * table["rating"] + 0.5 * rng.normal(size=n)
price = price.rename("price")

# %%
# The test, and the rows
# ----------------------
# ``describe`` answers in words: whether environments are detected, how they differ, and
# which rows belong to them most certainly.

model = KerHRMRegressor(k=5, network=(64,), random_state=0).fit(table, price)
description = model.describe(stability=5)
print(description)

# %%
# As the truth is known here, the answer can be checked.

rare = np.bincount(model.environments_).argmin()
found = model.environments_ == rare
print(f"{(found & reversed_rows).sum()} of {reversed_rows.sum()} reversed rows found")
print(f"{(found & ~reversed_rows).sum()} of {(~reversed_rows).sum()} others taken too")

# %%
# The picture
# -----------
# What you see in the table, and what the model sees in it.  Rows near the crossing fit
# both lines: they are told apart least.

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "0.45"
figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.8), sharey=True, layout="constrained"
)
left.scatter(table["rating"], price, s=9, color=GREY, linewidths=0)
left.set_title("The table: one cloud of rows", loc="left")
left.set_ylabel("price")
ends = np.array([-2.6, 2.6])
for members, colour, name, place in (
    (~found, BLUE, "most rows:\nprice rises", (-0.9, -7.7)),
    (found, VERMILION, "rare rows:\nprice falls", (-3.4, 6.2)),
):
    right.scatter(
        table["rating"][members], price[members], s=9, color=colour, linewidths=0
    )
    line = np.polynomial.Polynomial.fit(table["rating"][members], price[members], 1)
    right.plot(ends, line(ends), color=colour)
    right.text(*place, f"{name} ({members.mean():.0%})", color=colour)
right.set_title("KerHRM: two environments", loc="left")
for axes in (left, right):
    axes.set_xlabel("rating")
    axes.set(xlim=(-3.6, 3.6), ylim=(-8, 8))
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Next: :doc:`what KerHRM would do to your predictions <plot_2_price>`; the same from a
# CSV file, by one command: :doc:`/own_data`; what the test cannot see: :doc:`/python`.
