"""What ``methods`` may say, one model per method (``config/methods/*.yaml``)."""

from itertools import product
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from kerhrm.config.sections import NonEmpty, NonNegative, PositiveFloat, Probability, Section

PointLoss = Literal["squared", "logistic"]  #: logistic: classification alone
Options = TypeVar("Options", bound=Section)


class Clustering(Section):
    """M_c: the mixture of kernel ridge regressions."""

    clusters: PositiveInt = 2  #: K, an upper bound
    restarts: PositiveInt = 10  #: random starts per seed and per (k, ridge)
    ridge: Annotated[list[PositiveFloat], NonEmpty] = [1e-3, 1e-2]  #: chosen by held-out likelihood
    sigma: PositiveFloat | None = None  #: fixed, or null: re-estimated in each M step
    max_iterations: PositiveInt = 300
    tolerance: PositiveFloat = 1e-5  #: nats per point
    max_label_information: Probability = 0.5  #: above: the split only repeats the label
    min_share: Probability = 0.02  #: below: an environment counts as empty and is dropped


class Invariance(Section):
    """M_p: the invariant direction."""

    alpha: Annotated[list[NonNegative], NonEmpty] = [0.0, 0.1, 1.0, 10.0]
    #: weights of the gradient variance, in units of 1 / (mean eigenvalue of Psi^T Psi / n)
    metric: Literal["euclidean", "whitened"] = "euclidean"  #: of the gradient variance
    weights: Literal["uniform", "shares"] = "uniform"  #: of the environments
    ridge: NonNegative = 1e-6  #: in units of the mean eigenvalue of Psi^T Psi / n


class Network(Section):
    """Step 3, invariant gradient descent of the network."""

    penalty: Annotated[list[NonNegative], NonEmpty] = [10.0, 100.0, 1000.0]  #: lambda
    cosine: Literal["signed", "absolute"] = "signed"  #: absolute: as printed in the paper
    steps: PositiveInt = 150
    learning_rate: PositiveFloat = 1e-3


class KerHRM(Section):
    """The described algorithm."""

    k: Annotated[list[PositiveInt], NonEmpty] = [10, 15, 20, 25]  #: reduced dimensions to try
    iterations: PositiveInt = 3  #: T; KerHRM-s is iteration 1
    clustering: Clustering = Clustering()
    invariance: Invariance = Invariance()
    network: Network = Network()


class Released(Section):
    """KerHRM as its authors released it; every departure from the paper is an option.

    The other choice of each option is what the paper describes.
    """

    k: PositiveInt = 15  #: reduced dimension
    iterations: PositiveInt = 19  #: of clustering and invariant learning in turn
    clusters: PositiveInt = 2  #: K
    environments_used: Annotated[int, Field(ge=2)] = 2
    #: clusters 0, 1, ... that M_p sees; the points of the others are dropped
    assignment: Literal["hard", "soft"] = "hard"  #: to the smallest residual, or EM
    intercept: bool = True  #: of the clusters' regressions
    centres: Literal["lasso", "ridge"] = "lasso"  #: Adam on the L1 penalty, or closed form
    cluster_steps: PositiveInt = 3000
    cluster_rate: PositiveFloat = 1e-3
    cluster_l1: NonNegative = 0.01
    cluster_ridge: PositiveFloat = 1e-2  #: of centres "ridge", in units as in ``Clustering``
    reuse_assignment: bool = True  #: the next clustering starts from the last assignment
    stop_share: Probability = 0.1  #: clustering ends when at most this share of n/K points moves
    max_reassignments: PositiveInt = 100  #: the released loop has no cap; steps of EM, if soft
    penalty: Literal["scale_gradient", "gradient_variance"] = "scale_gradient"
    #: squared difference of the scale-gradients, or mean squared difference of theta-gradients
    weight: NonNegative = 60.0  #: of the penalty
    first_weight: NonNegative = 1.0  #: before the anneal step
    anneal: NonNegativeInt = 500
    theta: Literal["early_stopped", "converged"] = "early_stopped"  #: Adam's steps, or the minimum
    reuse_theta: bool = False  #: Adam starts from the last theta; not known of the released code
    steps: PositiveInt = 2000
    learning_rate: PositiveFloat = 1e-4

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        if self.k == 1 and self.iterations > 1:
            raise ValueError("k=1 leaves nothing to cluster after the first iteration: raise k")
        if self.environments_used > self.clusters:
            raise ValueError(
                f"environments_used={self.environments_used} exceeds clusters={self.clusters}"
            )
        if self.assignment == "soft" and self.centres == "lasso":
            raise ValueError('assignment "soft" is EM in closed form: set centres to "ridge"')
        if self.theta == "converged" and self.penalty == "scale_gradient":
            raise ValueError(
                'theta "converged" needs the quadratic penalty "gradient_variance": the other is'
                " of fourth order and need not have one minimum"
            )
        return self


class ERM(Section):
    """Empirical risk minimisation."""

    steps: PositiveInt = 200
    learning_rate: PositiveFloat = 1e-3
    evaluate_every: PositiveInt = 10  #: steps between looks at the pooled validation sample


class DRO(Section):
    """Distributionally robust optimisation over a chi-square ball."""

    rho: PositiveFloat = 0.5  #: radius of the ball
    steps: PositiveInt = 200
    learning_rate: PositiveFloat = 1e-3


class IRM(Section):
    """IRMv1, with environment labels."""

    loss: PointLoss = "squared"
    weight: NonNegative = 1e4  #: lambda of the squared scale-gradients
    anneal: NonNegativeInt = 50  #: steps before the weight applies
    steps: PositiveInt = 200
    learning_rate: PositiveFloat = 1e-3


class EIIL(IRM):
    """Environment inference, then IRMv1 on what it found."""

    reference_steps: PositiveInt = 50  #: of the reference network, by ERM
    inference_steps: PositiveInt = 1000  #: of Adam on the soft assignment
    inference_rate: PositiveFloat = 1e-2


class IGA(Section):
    """Inter-gradient alignment, with environment labels."""

    loss: PointLoss = "squared"
    penalty: NonNegative = 100.0  #: lambda of the gradients' variance
    steps: PositiveInt = 100
    learning_rate: PositiveFloat = 1e-3


class HRM(Section):
    """Heterogeneous risk minimisation: gated linear models on raw features."""

    clusters: PositiveInt = 3  #: K
    iterations: PositiveInt = 5  #: of clustering and selection in turn
    cluster_steps: PositiveInt = 3000  #: of Adam for the clusters' linear models
    cluster_rounds: PositiveInt = 10  #: reassignments, each after an equal share of the steps
    cluster_rate: PositiveFloat = 1e-3
    cluster_l1: NonNegative = 0.01  #: gate-weighted L1 of the clusters' linear models
    gate_steps: PositiveInt = 6000  #: of Adam for the gates and the invariant linear model
    gate_rate: PositiveFloat = 1e-3
    gate_noise: PositiveFloat = 0.1  #: sigma of the stochastic gates
    gate_cost: NonNegative = 0.1  #: lambda, of what gate_goal says
    gate_goal: Literal["few", "all"] = "few"
    #: the expected number of open gates, or the squared expected number of closed ones
    penalty: NonNegative = 1000.0  #: of the gradients' variance in the gated coordinates
    growth: PositiveFloat = 1.05  #: factor of gate_cost and penalty per iteration
    threshold: Probability = 0.2  #: gate probability above which a feature is kept


class LeastSquares(Section):
    """Linear least squares on the raw inputs; nothing to choose."""


class Baseline(Section, Generic[Options]):
    """A method whose hyper-parameters `tune` searches.

    ``selected`` and ``oracle`` come from ``config/tuned/<experiment>.yaml``, which ``tune`` writes;
    defaults stand in where that file says nothing.
    """

    grid: dict[str, Annotated[list[Any], NonEmpty]] = {}  #: values on trial, all combinations
    selected: Options  #: chosen by the method's own rule
    oracle: Options | None = None  #: chosen on test data: a bound, in rows of its own

    def candidates(self) -> list[Options]:
        """All combinations of the grid; what it leaves out is as selected."""
        kind, base = type(self.selected), self.selected.model_dump()
        pairs = [[(name, v) for v in values] for name, values in self.grid.items()]
        return [kind.model_validate(base | dict(chosen)) for chosen in product(*pairs)]

    @model_validator(mode="after")
    def _grid_fits(self) -> Self:
        self.candidates()
        return self


class Methods(Section):
    """Every method's options."""

    erm: ERM = ERM()
    dro: Baseline[DRO] = Baseline(selected=DRO())
    eiil: Baseline[EIIL] = Baseline(selected=EIIL())
    hrm: Baseline[HRM] = Baseline(selected=HRM())
    irm: Baseline[IRM] = Baseline(selected=IRM())
    iga: Baseline[IGA] = Baseline(selected=IGA())
    kerhrm: KerHRM = KerHRM()
    released: Released = Released()
