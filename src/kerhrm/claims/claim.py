"""A statement of the paper with its check, and the one rule that gives its verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from kerhrm.claims.evidence import LITERAL, NTF, Case, Finding, NotInRunError
from kerhrm.claims.parts import NAN, Part
from kerhrm.scoring.statistics import LEVEL, holm

Verdict = Literal["holds", "fails", "undecided", "not testable"]
COLUMNS = [
    "claim", "where", "statement", "verdict", "literal", "effect", "ci_low", "ci_high", "p",
    "p_holm", "tests", "measure", "evidence", "reason",
    "data_source",
]  # fmt: skip
UNTESTED = Part("", NAN, NAN, NAN, NAN, NAN)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, in few words."""

    number: int
    where: str  #: section, appendix, theorem or table
    statement: str
    check: Callable[[Case], Finding] | None = None
    own: bool = False  #: about the paper's own method, which has several rows
    because: str = ""  #: why there is no check

    def __post_init__(self) -> None:
        if (self.check is None) == (self.because == ""):
            raise ValueError(f"claim {self.number} needs a check or a reason why it has none")


def check_all(claims: Sequence[Claim], case: Case) -> pd.DataFrame:
    """Check every claim: a row each, columns :data:`COLUMNS`.

    ``verdict``: ``holds`` or ``fails`` if the p-value is at most 5 % after Holm's correction over
    the page, by the side that it speaks for; by itself if it is exact (an identity, a
    counterexample); else ``undecided``.  ``literal`` is the verdict of the row of Algorithm 1 as
    printed, with a correction over that column; empty where there is no such row, or where it
    plays no part.
    """
    found = [_try(claim, case) for claim in claims]
    literal = [_try(claim, replace(case, row=LITERAL)) if claim.own else None for claim in claims]
    adjusted = holm([one.part.p if isinstance(one, Finding) else NAN for one in found])
    of_literal = holm([one.part.p if isinstance(one, Finding) else NAN for one in literal])
    rows = [
        _row(claim, one, p, case)
        | {"literal": _literal(other, q), "data_source": case.scores.sources}
        for claim, one, p, other, q in zip(
            claims, found, adjusted, literal, of_literal, strict=True
        )
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def verdict(part: Part, p_holm: float) -> Verdict:
    """The rule of :func:`check_all`."""
    if np.isnan(part.p_for):
        return "undecided"
    if part.exact:
        return "holds" if part.p_for < part.p_against else "fails"
    if not p_holm <= LEVEL:
        return "undecided"
    return "holds" if part.p_for < part.p_against else "fails"


def _try(claim: Claim, case: Case) -> Finding | str:
    """What the check finds, or why it cannot."""
    if claim.check is None:
        return claim.because
    try:
        return claim.check(case)
    except NotInRunError as missing:
        return f"not in this run: {missing}"


def _literal(found: Finding | str | None, p_holm: float) -> str:
    return verdict(found.part, p_holm) if isinstance(found, Finding) else ""


def _row(claim: Claim, found: Finding | str, p_holm: float, case: Case) -> dict[str, Any]:
    told = {"claim": claim.number, "where": claim.where, "statement": claim.statement}
    if isinstance(found, str):
        how: Verdict = "undecided" if claim.check else "not testable"
        return told | _numbers(UNTESTED, NAN) | {
            "verdict": how, "measure": "", "evidence": "", "reason": found,
        }  # fmt: skip
    part = found.part
    note = [_counted(part), found.note]
    if claim.own:
        other = _try(claim, replace(case, row=NTF))
        if isinstance(other, Finding):
            note.append(f"with the NTF predictor {effect(other.part)}")
    failed = "a seed has no result" if np.isnan(part.p_for) else ""
    return told | _numbers(part, p_holm) | {
        "verdict": verdict(part, p_holm), "measure": part.name, "reason": failed,
        "evidence": "; ".join(filter(None, note)),
    }  # fmt: skip


def _numbers(part: Part, p_holm: float) -> dict[str, Any]:
    """Columns of a part; identities have nothing but an effect."""
    untested = part is UNTESTED
    return {
        "effect": part.effect, "ci_low": part.ci_low, "ci_high": part.ci_high, "p": part.p,
        "p_holm": p_holm, "tests": 0 if untested else part.n,
    }  # fmt: skip


def _counted(part: Part) -> str:
    if part.n == 1:
        return ""
    against = f", {part.n_against} of their opposites" if part.n_against else ""
    return f"of {part.n} parts {part.n_for} hold one by one{against}; the one that decides is shown"


def effect(part: Part) -> str:
    """``+0.123 [+0.100, +0.146]``."""
    ends = "" if np.isnan(part.ci_low) else f" [{number(part.ci_low)}, {number(part.ci_high)}]"
    return f"{number(part.effect)}{ends}"


def number(value: float) -> str:
    """Three decimals; small and large ones with an exponent."""
    return f"{value:+.1e}" if 0 < abs(value) < 5e-4 or abs(value) >= 1e4 else f"{value:+.3f}"
