"""Pictures of fitted estimators, each on one matplotlib ``Axes``.

    >>> import kerhrm.plots
    >>> X, y = [[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]] * 5, [0.0, 1.0, 2.0] * 5
    >>> kerhrm.plots.environments(["north", "south", "south"] * 5, X, y).get_ylabel()
    'feature 1'

Every function takes ``ax``, draws there, or in a figure of its own without it, and
returns the ``Axes``; it changes nothing else.  Needs matplotlib: ``pip install
'kerhrm[plots]'``.

All of them, of one fit:

    >>> import numpy as np
    >>> from kerhrm import KerHRMRegressor, plots
    >>> random = np.random.default_rng(0)
    >>> X, flipped = random.normal(size=(200, 2)), random.random(200) < 0.2
    >>> y = X[:, 0] + 2 * np.where(flipped, -1, 1) * X[:, 1] + 0.3 * random.normal()
    >>> model = KerHRMRegressor(k=3, n_init=2, network=(16,), random_state=0)
    >>> model = model.set_params(pretest=False, if_not_better="fit").fit(X, y)
    >>> of_rows = plots.environments, plots.importance, plots.relation
    >>> _ = [draw(model, X, y) for draw in of_rows]
    >>> _ = plots.spectrum(model), plots.iterations(model)
    >>> _ = plots.agreement({"fit": model, "truth": flipped}, X, y)
    >>> _ = plots.group_errors(model, X, y, flipped)
    >>> plots.rootogram(model.describe(stability=0)).get_xlabel()
    'membership'
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "descriptions": ["rootogram"],
        "rows": ["environments", "importance", "relation"],
        "fits": ["agreement", "group_errors", "iterations", "spectrum"],
    },
)
