"""Options of the reduction of tangent features."""

from typing import Annotated

from pydantic import Field

from kerhrm.options import Count, Number, Options, option

N_LANDMARKS = 300  #: of ridge regression


class NystroemOptions(Options):
    """Reduction by some of the points, for more of them than a kernel matrix holds."""

    n_landmarks: Count = option(
        8000, "training points whose features span the directions"
    )
    oversampling: Annotated[float, Field(ge=1, allow_inf_nan=False), Number] = option(
        1.5, "directions that are found first, in units of k"
    )
