"""Which network f_w an experiment uses."""

from pydantic import Field

from kerhrm.sections import Count, Entry, Section


class NetworkOptions(Section):
    """The architecture; the default is the paper's."""

    widths: list[Count] = Field(
        default=[1024], description="hidden ReLU layers of a multilayer perceptron"
    )
    module: Entry | None = Field(
        default=None,
        description="'package.module:function' instead: the number of inputs to a torch.nn.Module",
    )
