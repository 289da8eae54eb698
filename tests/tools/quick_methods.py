"""Options with which every method of the registry trains in a second or less."""

from collections.abc import Collection
from typing import Any

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.methods.base import Method

K = 8  #: reduced features at most
#: few steps, and rates at which these learn something
QUICK = {
    "steps": 40,
    "learning_rate": 1e-2,
    "evaluate_every": 5,
    "reference_steps": 15,
    "inference_steps": 100,
    "inference_rate": 0.05,
    "anneal": 5,
    "cluster_steps": 200,
    "cluster_rounds": 3,
    "cluster_rate": 1e-2,
    "gate_steps": 300,
    "gate_rate": 1e-2,
    "n_iterations": 2,
    "n_init": 2,
    "check_every": 10,
    "pretest": None,
    "penalty_weight": 1.0,
    "n_permutations": None,
    "hidden": 4,
    "identification_steps": 15,
    "twin_steps": 40,
    "twin_rate": 1e-2,
    "rounds": 3,
    "selected": [0.5],
    "l1": [0.03, 0.1],
}


def quick_options(method: Method) -> dict[str, Any]:
    """What changes a method's options for a quick run."""
    known = method.options.model_fields
    quick = _known(known)
    if method.name in ("balancing", "xrm"):
        # the worse group of few validation points would stop them near w_0
        del quick["evaluate_every"]
    if "k" in known:
        single = isinstance(known["k"].default, int)
        quick["k"] = K if single else [3, K]
    if "training" in known:
        of_training = _known(KerHRMOptions.model_fields)
        quick["training"] = KerHRMOptions(**of_training)
    return quick


def _known(names: Collection[str]) -> dict[str, Any]:
    """Those of the options for quick runs that are among some names."""
    return {key: value for key, value in QUICK.items() if key in names}
