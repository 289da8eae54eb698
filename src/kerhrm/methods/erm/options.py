"""What empirical risk minimisation may be told."""

from kerhrm.sections import Count, PositiveFloat, Section, option


class ERM(Section):
    """Empirical risk minimisation."""

    per_network = frozenset({"learning_rate"})

    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")
    evaluate_every: Count = option(10, "steps between looks at the pooled validation sample")
