"""Penalties of M_p by name: another one is a subclass of ``base.Penalty`` in a file, and a line.

Other packages add theirs by entry points in the group ``kerhrm.penalties`` that name such a class.
"""

from kerhrm.entries import added, check

_BUILT_IN = {
    "gradient_variance": "kerhrm.algorithm.penalties.gradient_variance:GradientVariance",
    "whitened_gradient_variance": "kerhrm.algorithm.penalties.gradient_variance:WhitenedVariance",
    "scale_gradient_variance": "kerhrm.algorithm.penalties.scale_gradient:ScaleGradientVariance",
}
PENALTIES: dict[str, str] = added(
    "kerhrm.penalties", _BUILT_IN, lambda name, entry, so_far: check(entry)
)
