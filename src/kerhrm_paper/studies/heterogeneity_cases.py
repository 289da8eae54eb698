"""What the study ``heterogeneity`` draws: laws, numbers of rows, numbers of draws."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kerhrm.heterogeneity.result import VISIBLE
from kerhrm_paper.studies.laws import (
    Grouped,
    Law,
    Linear,
    OneHot,
    diabetes,
    homogeneous,
    scaled_noises,
    skewed,
)
from kerhrm_paper.studies.noises import NOISES


@dataclass(frozen=True)
class Case:
    """A law, and how much of it is drawn."""

    part: str  #: of the table
    name: str
    law: Law
    n: int  #: rows
    seeds: int


FLIP = Linear(flipped=0.2)  #: a slope of 1 is -1 in a fifth of the rows


def cases() -> Iterator[Case]:
    """All that is simulated, in the order of the table."""
    yield from without_environments()
    yield from with_environments()
    yield from visible_flips()
    yield from not_seen()


def without_environments() -> Iterator[Case]:
    """Laws that a test should not detect."""
    part = "no environments"
    laws = homogeneous()
    for name, n in product(laws, (300, 1000)):
        law = laws[name]
        yield Case(part, name, law, n, seeds=20)
    others: dict[str, Law] = {
        "50 inputs": Linear(d=50),
        "one-hot columns": OneHot(),
    }
    others |= scaled_noises()
    for name, law in others.items():
        yield Case(part, name, law, n=1000, seeds=20)
    yield Case(part, "diabetes", diabetes, n=400, seeds=20)
    name = "log-normal target"
    yield Case(part, name, laws[name], n=4000, seeds=10)


def with_environments() -> Iterator[Case]:
    """A coefficient flips in a share of the rows."""
    part = "environments"
    name = "20% flipped, Gaussian noise"
    for n in (500, 1000, 2000, 4000, 10000):
        yield Case(part, name, FLIP, n, seeds=10)
    noises = "Gaussian", "exponential"
    shares = 0.15, 0.3
    for n, share, noise in product((500, 2000), shares, noises):
        name = f"{share:.0%} flipped, {noise} noise"
        draw_noise = NOISES[noise]
        law = Linear(draw_noise, flipped=share)
        yield Case(part, name, law, n, seeds=10)
    name = "20% flipped, Gaussian noise of sd 0.3"
    quiet = replace(FLIP, sd=0.3)
    for n in (250, 500):
        yield Case(part, name, quiet, n, seeds=10)
    name = "20% flipped, 50 inputs"
    wide = replace(FLIP, d=50)
    yield Case(part, name, wide, n=20000, seeds=5)
    name = "20% flipped, one-hot columns"
    category = OneHot(flipped=0.2)
    yield Case(part, name, category, n=5000, seeds=5)


def visible_flips() -> Iterator[Case]:
    """Flips of the share of the residual variance that the result calls visible."""
    name = "20% flipped, visible share"
    variance = 0.64  # of the flip
    for n, share in VISIBLE.items():
        noise_variance = variance / share - variance
        sd = np.sqrt(noise_variance)
        law = replace(FLIP, sd=float(sd))
        yield Case("visible", name, law, n, seeds=20)


def not_seen() -> Iterator[Case]:
    """Environments that the test cannot see."""
    laws: dict[str, Law] = {
        "another intercept": Grouped(intercept=3.0),
        "other inputs": Grouped(inputs=2.0),
        "50% flipped": replace(FLIP, flipped=0.5),
        "another scale": Grouped(scale=3.0),
        "skew with the sign of the mean": skewed,
    }
    for name, law in laws.items():
        yield Case("not seen", name, law, n=1000, seeds=20)
