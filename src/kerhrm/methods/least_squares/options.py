"""What linear least squares may be told: nothing."""

from kerhrm.sections import Section


class LeastSquares(Section):
    """Linear least squares on the raw inputs; nothing to choose."""
