"""Penalties of M_p by name; none of them is imported here.

Another penalty is one file with a subclass of :class:`kerhrm.algorithm.penalties.base.Penalty`,
and one line.
"""

PENALTIES = {
    "gradient_variance": "kerhrm.algorithm.penalties.gradient_variance:GradientVariance",
    "whitened_gradient_variance": "kerhrm.algorithm.penalties.whitened:WhitenedGradientVariance",
}
