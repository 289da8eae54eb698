"""Conditional value at risk: least mean loss of the worst share of the points.

A method for ``kerhrm compete``.  Change what follows into yours: the options, the
training, and the candidates of which the search takes one for each data set.
docs/extending.md says what Inputs and Fitted hold, and has a loop of PyTorch and a
method in NumPy: inputs.network is no nn.Module.
"""

from torch import Tensor

from kerhrm.methods.base import Method
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.networks.base import Network
from kerhrm.options import Count, Options, PositiveFloat, Probability, option


class MyOptions(Options):
    """Options of the method; each has a default."""

    share: Probability = option(0.2, "of the points, those with the largest losses")
    steps: Count = option(200, "of Adam, on all points")
    learning_rate: PositiveFloat = option(1e-3, "of Adam")
    evaluate_every: Count | None = option(
        25, "steps between looks at validation points"
    )


def train_my_method(inputs: Inputs, options: MyOptions) -> Fitted:
    """Train on the points of the largest losses, and stop as all methods do.

    train_model looks at the validation points every evaluate_every steps; a loop of
    another kind is not stopped unless it looks, too.

    Labels are -1 and +1, and the sign of an output is the label that it predicts.
    """
    n_worst = max(1, round(options.share * len(inputs.y)))

    def loss(outputs: Tensor, _network: Network, _step: int) -> Tensor:
        losses = (outputs - inputs.y) ** 2
        return losses.topk(n_worst).values.mean()

    network = inputs.train_model(loss, options)
    return Fitted(networks={"model": network})


#: its name in files and commands, which no other method may have.  More, if needed:
#: tasks=("classification",), needs_environments=True (the true ones),
#: needs_features=True.  A method that infers environments has infers=True and
#: criterion=WORST_INFERRED (from kerhrm.methods.base), and returns
#: Fitted(..., environments=...) of shape (n + m, K), training points before validation
#: points.  Pooled validation, the default, selects weaker candidates of such a method.
METHOD = Method("my_method", MyOptions, train_my_method)
#: its name in tables
TITLE = "My method"
#: at most eight, as every method has
CANDIDATES = [
    {"share": share, "learning_rate": learning_rate}
    for share in (0.1, 0.2, 0.5, 1.0)
    for learning_rate in (1e-3, 1e-2)
]
