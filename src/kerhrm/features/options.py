"""Options of the reduction of tangent features."""

from kerhrm.options import AtLeastOne, Count, Options, option

N_LANDMARKS = 300  #: of ridge regression
OVERSAMPLING = 1.5  #: by default


class NystroemOptions(Options):
    """Reduction by some of the points, for more of them than a kernel matrix holds."""

    n_landmarks: Count = option(
        8000, "training points whose features span the directions"
    )
    oversampling: AtLeastOne = option(
        OVERSAMPLING, "directions that are found first, in units of k"
    )


class FeatureOptions(Options):
    """How many features a data set has, and how they are found."""

    k: Count = option(25, "numbers of reduced features that are kept")
    n_landmarks: Count | None = option(
        None,
        "training points by way of which they are found; none: by the whole kernel "
        "matrix",
    )
    oversampling: AtLeastOne = option(
        OVERSAMPLING, "with landmarks, directions that are found first, in units of k"
    )

    @property
    def landmarks(self) -> NystroemOptions | None:
        """Options of the reduction by landmarks; None: there are none."""
        if self.n_landmarks is None:
            return None
        return NystroemOptions(
            n_landmarks=self.n_landmarks, oversampling=self.oversampling
        )
