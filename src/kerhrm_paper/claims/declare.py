"""How a claim of the paper is declared: a function with the statement as docstring.

    @claim
    def low_rank_suffices(evidence: Evidence) -> Comparison:
        "Claim NUMBER (WHERE): A low rank k suffices."

Number, place in the paper and statement are columns of ``claims.csv``.  The function
returns a :class:`Comparison` of values by seed or, of an identity or a counterexample,
the unit test that shows it.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kerhrm_paper.claims.comparison import Comparison
from kerhrm_paper.claims.evidence import Evidence

#: of the paper's statements; 21, 36 and 53 were withdrawn (CHANGELOG.md)
NUMBERS = frozenset(range(1, 56)) - {21, 36, 53}
DOCSTRING = re.compile(r"Claim (\d+) \((.+?)\): (.+)\.")
TESTS = "tests/unit/claims"


@dataclass(frozen=True)
class ShownByTest:
    """Status and effect of a claim that a unit test shows."""

    status: Literal["supported", "contradicted"]
    test: str
    effect: float


Function = Callable[[Evidence], Comparison | ShownByTest]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its place there, and how it is tested."""

    number: int
    where: str
    statement: str
    test: Function


#: all claims by number, in the order of their modules
CLAIMS: dict[int, Claim] = {}


def claim(function: Function) -> Function:
    """Declare a claim.

    Raises ValueError if the docstring does not begin with ``Claim N (WHERE):
    STATEMENT.``, or if the paper has no such number, or another claim has it.
    """
    text = inspect.getdoc(function) or ""
    paragraph, _, _ = text.partition("\n\n")
    first = paragraph.replace("\n", " ")
    match = DOCSTRING.fullmatch(first)
    if match is None:
        raise ValueError(f"not a claim, 'Claim N (WHERE): STATEMENT.': {first!r}")
    number = int(match[1])
    where = match[2]
    statement = match[3]
    if number not in NUMBERS:
        raise ValueError(f"the paper has no claim {number}: {statement}")
    if number in CLAIMS:
        raise ValueError(f"claim {number} is declared twice: {statement}")
    CLAIMS[number] = Claim(number, where, statement, function)
    return function


def supported_by(test: str, *, effect: float) -> ShownByTest:
    """A claim that a test, ``FILE::NAME``, proves, with what it measures."""
    return ShownByTest("supported", f"{TESTS}/{test}", effect)


def contradicted_by(test: str, *, effect: float) -> ShownByTest:
    """A claim that a test, ``FILE::NAME``, refutes, with what it measures."""
    return ShownByTest("contradicted", f"{TESTS}/{test}", effect)
