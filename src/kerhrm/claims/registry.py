"""All statements of the paper that are checked, and what a preset's check is made on."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kerhrm.claims import accuracies, clustering, errors, networks, population, theory
from kerhrm.claims.claim import Claim, check_all
from kerhrm.claims.evidence import Case, Scores
from kerhrm.claims.labs import SMOKE, Labs, Size

MODULES = (accuracies, errors, population, theory, clustering, networks)
CLAIMS: tuple[Claim, ...] = tuple(
    sorted((claim for module in MODULES for claim in module.CLAIMS), key=lambda c: c.number)
)


def check_claims(paths: Iterable[str | Path], preset: str) -> pd.DataFrame:
    """Check every claim on the score files of a run, an experiment each.

    Small runs of the library have the size of preset ``smoke``, or the usual one.
    """
    size = SMOKE if preset == "smoke" else Size()
    return check_all(CLAIMS, Case(Scores.read(paths), Labs(size)))
