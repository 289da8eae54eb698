"""What the examples of the docstrings share."""

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

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
TEXTS = {"data": DATA, "model": DATA + MODEL}


def with_example(function: Function) -> Function:
    """A function whose docstring has the texts above for lines ``<data>`` and ``<model>``."""

    def text(found: re.Match[str]) -> str:
        return textwrap.indent(TEXTS[found[2]].rstrip("\n"), found[1])

    documented = inspect.cleandoc(function.__doc__ or "")
    function.__doc__ = re.sub(r"(?m)^( *)<(data|model)>$", text, documented)
    return function
