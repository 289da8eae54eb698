"""Options of networks."""

from kerhrm.options import Count, Entry, Options, option


class NetworkOptions(Options):
    """Architecture of a network; the default is the paper's.

    Examples
    --------
    >>> from kerhrm import NetworkOptions
    >>> NetworkOptions(widths=[64, 64]).widths
    [64, 64]
    """

    widths: list[Count] = option(
        [1024], "hidden ReLU layers of a multilayer perceptron"
    )
    module: Entry | None = option(
        None,
        "'package.module:function' instead, from the number of inputs to a "
        "torch.nn.Module",
    )
