r"""EDNIL (Huang, Liao, Kao & Lin, "Environment diversification with multi-head neural
network for invariant learning", NeurIPS 2022).

A network with K heads on shared hidden layers infers environments, and IRMv1 learns on
them, in T rounds.  With :math:`\ell_{ie}` the logistic loss of head e at point i, tau a
temperature and :math:`h_i` the likeliest environment,

.. math::
    P_{ie} = \operatorname{softmax}_e(-\ell_{ie} / \tau), \qquad
    \min \; L_{ED} + \beta L_{LI} + \gamma_t L_{IP} + c |w|^2,

.. math::
    L_{ED} = -\frac{\sum_i u_{h_i} \log P_{i h_i}}{\sum_i u_{h_i}}, \quad
    L_{LI} = \frac{1}{K} \sum_e \mathrm{KL}\big(P(y | e) \,\|\, \tfrac12\big), \quad
    L_{IP} = \operatorname{Var}_e \frac{\sum_i P_{ie} \ell_i}{\sum_i P_{ie}} .

L_ED makes heads differ, where :math:`u_e` is the size of the largest environment over
that of e, at most ``balance_limit``.  L_LI keeps environments from copying the label.
L_IP asks that the invariant network's losses :math:`\ell_i` do not tell environments
apart; its weight rises from 0 to gamma over the rounds.

The invariant network then takes steps on IRMv1 over the environments :math:`h_i`, each
weighed by its mean :math:`P_{i h_i}`; in the first round the penalty's weight is 1, or
its later value if that is smaller.  The shared layers and the first head start by ERM.
Defaults are those of the authors (github.com/joe0123/EDNIL, config/cmnist.json), who
train on all points by Adam, too.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import one_hot, softplus

from kerhrm.algorithm.invariance import point_scores, worst_environment_score
from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.irm import decay, point_loss, scale_gradient
from kerhrm.methods.peer_options import EDNILOptions
from kerhrm.networks.base import Network
from kerhrm.networks.build import MLP
from kerhrm.networks.heads import head_outputs, heads_at
from kerhrm.networks.last_layer import LastLayer
from kerhrm.networks.rounds import Descent
from kerhrm.networks.training import BestWeights, require_training
from kerhrm.progress import progress
from kerhrm.randomness import stream

LEAST_MASS = 1e-10  #: of an environment that is divided by


@torch.inference_mode(False)  # gradients, also where the caller has none
def train_ednil(inputs: Inputs, options: EDNILOptions) -> Fitted:
    """Infer environments and learn on them, in turn."""
    require_training(inputs.network, inputs.x)
    heads = with_heads(inputs.network, options.n_environments, inputs.seed)
    of_heads = heads_at(heads, inputs.x)
    inference = pretrained(heads, of_heads, inputs, options)
    device = inputs.x.device
    invariant = Descent.start(inputs.network, device, options.learning_rate)
    outputs = inputs.network.at(inputs.x)
    looks: list[BestWeights[Network]] = []
    last = options.rounds - 1
    round_numbers = range(options.rounds)
    for number in progress(round_numbers, "rounds"):
        with torch.no_grad():
            f = outputs(invariant.network)
            losses = point_loss(f, inputs.y, "logistic")
        n_later = max(1, last)
        share = number / n_later
        infer = partial(
            inference_loss,
            inference.network,
            of_heads,
            inputs.y,
            losses,
            options,
            invariance_weight=share * options.invariance_weight,
        )
        inference.run(infer, options.inference_steps)
        train, validation = both_memberships(inference.network, inputs, options)
        penalty_weight = options.penalty_weight
        if number == 0:
            penalty_weight = min(penalty_weight, 1.0)
        learn = partial(
            invariant_loss,
            invariant.network,
            outputs,
            inputs.y,
            environment_weights(train),
            options,
            penalty_weight=penalty_weight,
        )
        if number == last and options.evaluate_every is not None:
            best = best_weights(
                invariant.network,
                inputs,
                validation,
                every=options.evaluate_every,
                steps=options.steps,
            )
            looks = [best]
        invariant.run(learn, options.steps, looks)
    model = invariant.network.detached()
    if looks:
        model = looks[0].or_last(model)
    both = torch.cat([train, validation])
    likeliest = both.argmax(1)
    environments = one_hot_environments(likeliest, options.n_environments)
    return Fitted({"model": model}, environments=environments)


def both_memberships(
    network: MLP, inputs: Inputs, options: EDNILOptions
) -> tuple[Tensor, Tensor]:
    """:func:`memberships` of the training and of the validation points."""
    train = memberships(network, inputs.x, inputs.y, options)
    validation = memberships(network, inputs.x_validation, inputs.y_validation, options)
    return train, validation


def best_weights(
    network: Network, inputs: Inputs, validation: Tensor, *, every: int, steps: int
) -> BestWeights[Network]:
    """Keep the weights with the best accuracy in the worst environment.

    ``validation`` are memberships (m, K) of the validation points, which are looked at
    after ``every`` so many of the ``steps``.
    """
    chosen = (validation > 0).T
    members = chosen.double()

    def score(trained: Network) -> Tensor:
        f = trained(inputs.x_validation)
        scores = point_scores(f, inputs.y_validation, inputs.task)
        (worst,) = worst_environment_score(scores[None], members)
        return worst

    untrained = network.detached()
    return BestWeights(untrained, score, every=every, steps=steps)


def with_heads(network: Network, count: int, seed: int) -> MLP:
    """A perceptron with other last layers in place of its own.

    They are drawn by the rule of :func:`kerhrm.networks.build.init_mlp`, from the
    stream ``heads`` of the seed.

    Raises KerhrmError if the network is no perceptron.
    """
    last = LastLayer.from_network(network)
    *hidden, (weight, _) = last.network.layers
    number = len(hidden)
    _, width = weight.shape
    bound = width**-0.5
    random = stream(seed, "heads")
    size = (count, width + 1)
    uniform = random.uniform(-bound, bound, size)
    drawn = torch.from_numpy(uniform).to(weight)
    weights = dict(last.network.weights)
    weights[f"weight_{number}"] = drawn[:, :-1]
    weights[f"bias_{number}"] = drawn[:, -1]
    return last.network.with_weights(weights)


def head_losses(outputs: Tensor, y: Tensor) -> Tensor:
    """Logistic losses of heads by their outputs (n, K) at labels (n,): (n, K)."""
    margins = -y[:, None] * outputs
    return softplus(margins)


def pretrained(
    heads: MLP,
    outputs: Callable[[MLP], Tensor],
    inputs: Inputs,
    options: EDNILOptions,
) -> Descent[MLP]:
    """Train the shared layers and the first head by ERM; a new optimiser follows.

    ``outputs`` are those of :func:`kerhrm.networks.heads.heads_at`.
    """
    device = inputs.x.device
    first = Descent.start(heads, device, options.learning_rate)

    def risk() -> Tensor:
        losses = head_losses(outputs(first.network), inputs.y)
        of_first_head = losses[:, 0]
        risk_of_head = of_first_head.mean()
        return risk_of_head + decay(first.network, options.weight_decay)

    first.run(risk, options.reference_steps)
    return Descent.start(first.network, device, options.learning_rate)


def probabilities(losses: Tensor, temperature: float) -> Tensor:
    """P (n, K) of the environments by the heads' losses (n, K)."""
    logits = -losses / temperature
    return torch.softmax(logits, dim=1)


def inference_loss(
    network: MLP,
    outputs: Callable[[MLP], Tensor],
    y: Tensor,
    losses: Tensor,
    options: EDNILOptions,
    *,
    invariance_weight: float,
) -> Tensor:
    """What the inference of environments minimises.

    Parameters
    ----------
    network : MLP
        With a head for each environment.
    outputs : callable
        Of the network to those of its heads at the training points, (n, K).
    y : Tensor, (n,)
        Their labels.
    losses : Tensor, (n,)
        Of the invariant network.
    options : EDNILOptions
        Temperature, weights and limit.
    invariance_weight : float
        Of L_IP in this round.
    """
    of_heads = head_losses(outputs(network), y)
    p = probabilities(of_heads, options.temperature)
    return (
        diversity_loss(p, options.balance_limit)
        + options.label_weight * label_divergence(p, y)
        + invariance_weight * loss_variance(p, losses)
        + decay(network, options.weight_decay)
    )


def diversity_loss(p: Tensor, limit: float) -> Tensor:
    """L_ED of probabilities (n, K)."""
    _, k = p.shape
    likeliest, environments = p.max(1)
    sizes = environments.bincount(minlength=k).to(p)
    largest = sizes.max()
    ratios = largest / sizes[environments]
    weights = ratios.clamp(max=limit)
    logarithms = likeliest.log()
    log_likelihood = weights @ logarithms
    return -log_likelihood / weights.sum()


def label_divergence(p: Tensor, y: Tensor) -> Tensor:
    """L_LI of probabilities (n, K) and labels (n,), in nats."""
    lower = p[y <= 0]
    of_lower = lower.sum(0)
    upper = p[y > 0]
    of_upper = upper.sum(0)
    mass = torch.stack([of_lower, of_upper], dim=1)
    total = mass.sum(1, keepdim=True)
    positive_total = total.clamp_min(LEAST_MASS)
    shares = mass / positive_total
    terms = torch.special.xlogy(shares, 2 * shares)
    divergences = terms.sum(1)
    return divergences.mean()


def loss_variance(p: Tensor, losses: Tensor) -> Tensor:
    """L_IP of probabilities (n, K) and losses (n,)."""
    sums = losses @ p
    sums_of_p = p.sum(0)
    mass = sums_of_p.clamp_min(LEAST_MASS)
    means = sums / mass
    return means.var(correction=0)


@torch.no_grad()
def memberships(network: MLP, x: Tensor, y: Tensor, options: EDNILOptions) -> Tensor:
    """P (n, K) of the likeliest environment of each point, and 0 of the others."""
    losses = head_losses(head_outputs(network, x), y)
    p = probabilities(losses, options.temperature)
    _, k = p.shape
    likeliest = p.argmax(1)
    is_likeliest = one_hot(likeliest, k) > 0
    return torch.where(is_likeliest, p, 0.0)


def environment_weights(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Weights of the environments that IRMv1 sees, and means over each.

    Parameters
    ----------
    chosen : Tensor, (n, K)
        By :func:`memberships`.

    Returns
    -------
    Tensor, (E,)
        Mean probabilities of the environments with points, in units of their sum.
    Tensor, (E, n)
        Rows that average over each.
    """
    is_member = chosen > 0
    members = is_member.to(chosen)
    sizes = members.sum(0)
    occupied = sizes > 0
    total = chosen.sum(0)
    sums = total[occupied]
    confidence = sums / sizes[occupied]
    positive_sizes = sizes.clamp_min(1)
    columns = members / positive_sizes
    means = columns.T[occupied]
    shares = confidence / confidence.sum()
    return shares, means


def invariant_loss(
    network: Network,
    outputs: Callable[[Network], Tensor],
    y: Tensor,
    environments: tuple[Tensor, Tensor],
    options: EDNILOptions,
    *,
    penalty_weight: float,
) -> Tensor:
    """IRMv1 over weighted environments, as in :mod:`~kerhrm.methods.irm`."""
    weights, means = environments
    f = outputs(network)
    risks = means @ point_loss(f, y, "logistic")
    risk = weights @ risks
    slopes = means @ scale_gradient(f, y, "logistic")
    total = risk + penalty_weight * weights @ slopes**2
    total = total + decay(network, options.weight_decay)
    return total / max(penalty_weight, 1.0)
