"""What distributionally robust optimisation may be told."""

from kerhrm.sections import Count, PositiveFloat, Section, option


class DRO(Section):
    """Distributionally robust optimisation over a chi-square ball."""

    per_network = frozenset({"rho", "learning_rate"})

    rho: PositiveFloat = option(0.5, "radius of the ball")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")
