"""
Can I hand environments of embeddings to my own trainer?
========================================================

An encoder is frozen, a loop of yours trains a head on its embeddings, and no row has a
label of its source.  KerHRM infers environments in the embeddings, and the loop trains
over them.  The embeddings here are made up; :doc:`/embeddings` has those of a text
encoder.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn.functional import softplus

from kerhrm import KerHRMClassifier
from kerhrm.estimators import PriceWarning

rng = np.random.default_rng(0)
d = 64
axes_of_both, _ = np.linalg.qr(rng.normal(size=(d, 2)))
directions = axes_of_both.T  # of meaning, and of a shortcut


def embeddings(n, second_source):
    """Embeddings (n, d), labels, and whether a row is from the second source."""
    y = rng.choice([-1.0, 1.0], n)
    source = rng.random(n) < second_source
    meaning_is_right = rng.random(n) < 0.8
    meaning = np.where(meaning_is_right, y, -y)
    shortcut_holds = rng.random(n) < 0.95
    holds = shortcut_holds != source  # in the second source it is reversed
    shortcut = np.where(holds, y, -y)
    means = np.column_stack([2 * meaning, 3 * shortcut])
    hidden = means + 0.5 * rng.normal(size=(n, 2))
    noise = 0.2 * rng.normal(size=(n, d))
    X = hidden @ directions + noise
    return X.astype("float32"), y, source


X, y, source = embeddings(2000, second_source=0.2)
X_new, y_new, source_new = embeddings(2000, second_source=0.5)

# %%
# From embeddings to environments
# -------------------------------
# A head on frozen features is linear: ``network=()``.

model = KerHRMClassifier(network=(), k=10, random_state=0)
with warnings.catch_warnings(action="ignore", category=PriceWarning):
    model.fit(X, y)
rare = np.bincount(model.environments_).argmin()
in_rare = model.environments_ == rare
same = np.mean(in_rare == source)
print(f"predicts by {model.predictor_}; {same:.0%} of the rows in their own source")

# %%
# From environments to your own loop
# ----------------------------------
# Each step lowers the loss of the environment that does worst.  With one environment
# the same loop is plain training.


def train(environments):
    """Accuracy of a head in each source of the new rows."""
    head = torch.nn.Linear(d, 1)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.03)
    inputs = torch.from_numpy(X)
    signs = torch.from_numpy(y).float()
    groups = torch.from_numpy(environments)
    for _ in range(300):
        outputs = head(inputs)[:, 0]
        losses = softplus(-signs * outputs)
        means = [losses[groups == group].mean() for group in groups.unique()]
        decay = 1e-3 * head.weight.square().sum()
        objective = max(means) + decay
        optimiser.zero_grad()
        objective.backward()
        optimiser.step()
    with torch.no_grad():
        outputs_new = head(torch.from_numpy(X_new))[:, 0].numpy()
    right = (outputs_new > 0) == (y_new > 0)
    first = right[~source_new].mean()
    second = right[source_new].mean()
    return first, second


accuracies = {
    "no environments": train(np.zeros(len(y))),
    "KerHRM's environments": train(model.environments_),
    "the true sources": train(source),
}
for name, (first, second) in accuracies.items():
    print(f"{name}: {first:.2f} in the first source, {second:.2f} in the second")

# %%
# The picture
# -----------

BLUE = "#0072B2"
VERMILION = "#D55E00"

figure, axes = plt.subplots(figsize=(6.5, 2.9), layout="constrained")
for place, (first, second) in enumerate(accuracies.values()):
    axes.hlines(place, first, second, color="0.8", zorder=0)
    axes.plot(first, place, "o", color=BLUE)
    axes.plot(second, place, "o", color=VERMILION)
first, second = accuracies["no environments"]
axes.text(first, -0.3, "first source", color=BLUE, ha="center")
axes.text(second, -0.3, "second source", color=VERMILION, ha="center")
axes.set_yticks(range(len(accuracies)), accuracies)
axes.set(xlim=(0, 1), ylim=(len(accuracies) - 0.5, -0.6))
axes.set_xlabel("accuracy of the head on new rows")
axes.set_title(
    "Inferred environments serve your loop\nas well as the true sources", loc="left"
)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Next: :doc:`your own method against these <plot_5_own_method>`; real embeddings,
# loaders and modules: :doc:`/embeddings`.
