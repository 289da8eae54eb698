"""What the test of heterogeneity leaves."""

from dataclasses import dataclass

from torch import Tensor

from kerhrm.storage.records import Record

FOUND = "environments found"
NONE = "no environments found beyond noise"
BINARY = "cannot be tested: binary labels"


@dataclass(frozen=True)
class HeterogeneityTest(Record):
    """What the test says of data sets ``...``; nothing of binary labels, where numbers are NaN.

    Attributes
    ----------
    statistic : Tensor, (...)
        Gain of two environments over one, nats per point.
    null : Tensor, (..., nulls)
        The same of permuted residuals.
    p_value : Tensor, (...)
    found : Tensor, (...), bool
    """

    statistic: Tensor
    null: Tensor
    p_value: Tensor
    found: Tensor

    @property
    def excess(self) -> Tensor:
        """Gain beyond the permutations' mean, nats per point, (...)."""
        return self.statistic - self.null.mean(-1)

    @property
    def none_found(self) -> Tensor:
        """Where the test was possible and found nothing, (...), bool: there ERM is the answer."""
        return ~self.found & ~self.p_value.isnan()

    @property
    def verdict(self) -> str:
        """The verdict on a single data set, in words."""
        if bool(self.p_value.isnan()):
            return BINARY
        return FOUND if bool(self.found) else NONE
