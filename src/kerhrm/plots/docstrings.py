"""What the docstrings of the pictures share."""

from kerhrm.docstrings import completer

AX = """\
ax : matplotlib.axes.Axes, optional
    By default those of a new figure.

Returns
-------
matplotlib.axes.Axes

Raises
------
KerhrmError
    One line that says what is wrong and the cure.
"""
#: in a fifth of the rows shade tells the opposite of the answer
DATA = """\
>>> import numpy as np
>>> import pandas as pd
>>> import kerhrm
>>> random = np.random.default_rng(0)
>>> sign = random.choice([-1, 1], 300)
>>> turned = random.random(300) < 0.2
>>> shade = np.where(turned, -sign, sign) + 0.1 * random.normal(size=300)
>>> X = pd.DataFrame({"shape": sign + random.normal(size=300), "shade": shade})
>>> y = pd.Series(np.where(sign > 0, "yes", "no"), name="answer")
"""
MODEL = """\
>>> given = {"k": 5, "network": (128,)}
>>> model = kerhrm.KerHRMClassifier(**given, random_state=0).fit(X, y)
"""
#: for lines ``<ax>``, ``<data>`` and ``<model>``
completed = completer({"ax": AX, "data": DATA, "model": DATA + MODEL})
