"""Methods on small problems: options that take a moment, and the features that some read."""

from typing import Any

from kerhrm.algorithm.problem import Problem
from kerhrm.data.samples import Samples
from kerhrm.features.map import NTFMap
from kerhrm.networks.protocol import Network
from kerhrm.sections import Section

LARGEST = 12  #: of all numbers of steps, restarts and dimensions: random starts still show
QUICK = {"steps": 25, "learning_rate": 1e-2, "weight": 2.0, "anneal": 4}
QUICK["cosine"] = "signed"  # the printed one may well go against the labels
LOSSES = ("squared", "logistic")


def small(section: Section, **changes: Any) -> Section:
    """A method's options, so that it takes a moment."""
    values: dict[str, Any] = {}
    for name, value in section:
        if name == "guard":  # a test by permutations takes its time, and has tests of its own
            values[name] = None
        elif isinstance(value, Section):
            values[name] = small(value)
        elif isinstance(value, list):
            # networks that classify alike are told apart by rounding: a single lambda
            few = value[: 1 if name == "penalty" else 2]
            values[name] = [min(v, LARGEST) if type(v) is int else v for v in few]
        elif type(value) is int:
            values[name] = min(value, LARGEST)
        if name in QUICK:
            values[name] = QUICK[name]
    return type(section).model_validate(section.model_dump() | values | changes)


def pose(samples: Samples, network: Network) -> tuple[NTFMap, Problem]:
    """Features of the samples, and what may be known of them."""
    ntf = NTFMap.fit(network, samples.x, LARGEST)
    psi, f0 = ntf.transform(samples.x_validation)
    y, y_validation = samples.y.double(), samples.y_validation.double()
    return ntf, Problem(
        ntf.reduction.u, ntf.reduction.s, psi, ntf.f0, f0, y, y_validation, samples.task,
        list(samples.seeds),
    )  # fmt: skip
