"""Claims that a unit test shows, and the effects that they declare."""

from kerhrm_paper.claims.check import CLAIMS
from kerhrm_paper.claims.declare import ShownByTest
from kerhrm_paper.claims.evidence import Evidence


def shown_by_tests() -> dict[int, ShownByTest]:
    """Claims that name a test, by number."""
    shown = {}
    for number, claim in CLAIMS.items():
        if claim.test.__annotations__["return"] is ShownByTest:
            result = claim.test(Evidence({}))
            assert isinstance(result, ShownByTest)
            shown[number] = result
    return shown


SHOWN = shown_by_tests()


def effect_of(number: int) -> float:
    """The effect that a claim declares."""
    return SHOWN[number].effect
