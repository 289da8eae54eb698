"""How neural tangent features are reduced."""

from typing import Annotated

from pydantic import Field

from kerhrm.sections import Count, Natural, Number, Section, option

AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False), Number]


class Landmarks(Section):
    """Reduction by some of the points, for more of them than a kernel matrix holds."""

    landmarks: Count = option(8000, "training points whose features span the directions")
    oversampling: AtLeastOne = option(1.5, "directions looked at, in units of the largest k")
    passes: Natural = option(0, "over the kernel of all points, each of which lowers the error")
