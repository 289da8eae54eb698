"""Which network f_w an experiment uses."""

from kerhrm.sections import Count, Entry, Section, option


class NetworkOptions(Section):
    """The architecture; the default is the paper's."""

    widths: list[Count] = option([1024], "hidden ReLU layers of a multilayer perceptron")
    module: Entry | None = option(
        None, "'package.module:function' instead, from n_inputs to a torch.nn.Module"
    )
