"""Penalties of M_p by name: another one is a subclass of ``base.Penalty`` in a file, and a line."""

PENALTIES = {
    "gradient_variance": "kerhrm.algorithm.penalties.gradient_variance:GradientVariance",
    "whitened_gradient_variance": "kerhrm.algorithm.penalties.gradient_variance:WhitenedVariance",
    "scale_gradient_variance": "kerhrm.algorithm.penalties.scale_gradient:ScaleGradientVariance",
}
