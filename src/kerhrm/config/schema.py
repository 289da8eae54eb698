"""What a configuration may say.

One model per file of ``config/``; unknown keys are refused.  Every field carries its
meaning, so this module is also the reference of the configuration.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    model_validator,
)

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]
NonEmpty = Field(min_length=1)


class Section(BaseModel):
    """A block of the configuration; refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ClassificationData(Section):
    """Classification with spurious correlation (paper, section 5.1)."""

    generator: Literal["classification"]
    r1: Probability = 0.9  #: bias rate of the first training environment
    r2: Probability = 0.7  #: bias rate of the second one
    r_test: Probability = 0.1
    d: PositiveInt = 5  #: dimension of S and of V
    sigma_s: PositiveFloat = 3.0
    sigma_v: PositiveFloat = 0.3
    noise_unit: Literal["std", "variance"] = "std"  #: released constants: std; paper: variance
    scramble: Literal["fixed", "per_seed", "identity"] = "fixed"  #: the orthogonal matrix H
    n_train_per_environment: PositiveInt = 1000
    n_validation_per_environment: PositiveInt = 500
    n_test: PositiveInt = 1000

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_train_per_environment


class ColoredMnistData(Section):
    """Colored MNIST (paper, section 5.1)."""

    generator: Literal["colored_mnist"]
    label_noise: Probability = 0.2
    train_flip: tuple[Probability, Probability] = (0.1, 0.2)  #: P(colour != noisy label)
    test_flip: Probability = 0.9
    side: Literal[14, 28] = 14  #: pixels a side; two colour channels
    n_per_environment: PositiveInt = 2500
    n_validation_per_environment: PositiveInt = 1000
    n_test: PositiveInt = 2500

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_per_environment


def _beyond_one(r: float) -> float:
    if not abs(r) > 1:
        raise ValueError("a selection bias needs |r| > 1")
    return r


Bias = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_beyond_one)]


class RegressionData(Section):
    """Regression with selection bias (paper, section 5.1 and appendix)."""

    generator: Literal["regression"]
    r: Bias = 1.5  #: selection bias of the first training environment
    r_second: Bias = -1.1  #: of the second one
    test_r: Annotated[list[Bias], NonEmpty] = [-2.9, -2.7, -2.5, -2.3, -2.1, -1.9]
    scenario: Literal[1, 2] = 2  #: 1: H = I; 2: H orthogonal
    scramble: Literal["fixed", "per_seed"] = "fixed"
    constants: Literal["released", "paper"] = "released"
    n_train: tuple[PositiveInt, PositiveInt] = (1000, 100)  #: points of the two environments
    n_validation: Annotated[int, Field(ge=2)] = 550
    n_test: PositiveInt = 1000  #: per test environment
    beta: float = 5.0
    n_s: Annotated[int, Field(ge=3)] = 5
    n_v: PositiveInt = 5

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return sum(self.n_train)


Data = Annotated[
    ClassificationData | ColoredMnistData | RegressionData, Field(discriminator="generator")
]


class Clustering(Section):
    """M_c: the mixture of kernel ridge regressions."""

    clusters: PositiveInt = 2  #: K
    restarts: PositiveInt = 10  #: random starts per seed and per (k, ridge)
    ridge: Annotated[list[PositiveFloat], NonEmpty] = [1e-3, 1e-2]  #: chosen by held-out likelihood
    sigma: PositiveFloat | None = None  #: fixed, or null: re-estimated in each M step
    max_iterations: PositiveInt = 300
    tolerance: PositiveFloat = 1e-5  #: nats per point
    max_label_information: Probability = 0.5  #: above: the split only repeats the label
    min_share: Probability = 0.02  #: below: an environment counts as empty


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


class ERM(Section):
    """Empirical risk minimisation."""

    steps: PositiveInt = 200
    learning_rate: PositiveFloat = 1e-3
    evaluate_every: PositiveInt = 10  #: steps between looks at the pooled validation sample


class Methods(Section):
    erm: ERM = ERM()
    kerhrm: KerHRM = KerHRM()


class Setting(Section):
    """One column of a table: data, and what it changes in the methods."""

    data: Data
    methods: Methods
    run: Annotated[list[Literal["erm", "kerhrm", "igd"]], NonEmpty]
    #: methods of this setting; igd, KerHRM's network, needs kerhrm

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Setting":
        n = self.data.n_points
        if "igd" in self.run and "kerhrm" not in self.run:
            raise ValueError("igd trains along the direction that kerhrm finds; add kerhrm to run")
        if "kerhrm" in self.run:
            if max(self.methods.kerhrm.k) > n:
                raise ValueError(
                    f"k={max(self.methods.kerhrm.k)} exceeds the n={n} training points; "
                    "lower methods.kerhrm.k or raise the sample size"
                )
            if self.methods.kerhrm.clustering.clusters > n:
                raise ValueError(
                    f"K={self.methods.kerhrm.clustering.clusters} clusters exceed the n={n} "
                    "training points; lower methods.kerhrm.clustering.clusters"
                )
        return self


def _folder_name(name: str) -> str:
    if not re.fullmatch(r"[\w.,=+-]+", name):
        raise ValueError("a setting's name is also a folder's: letters, digits and . , = + - _")
    return name


SettingName = Annotated[str, AfterValidator(_folder_name)]


class Experiment(Section):
    """One experiment of the paper."""

    title: str
    table: Literal["table1", "table3", "table4"]
    seeds: PositiveInt  #: number of replicates; they are numbered 0, 1, ...
    hidden: list[PositiveInt] = [1024]  #: widths of the hidden layers
    settings: Annotated[dict[SettingName, Setting], NonEmpty]


def _device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError("choose auto, cpu, cuda or cuda:0, cuda:1, ...")
    return name


class Config(Section):
    """The resolved configuration."""

    preset: str
    results: Annotated[str, NonEmpty] = "results"  #: folder for everything that is generated
    raw_dir: str | None = None  #: folder with raw data files, looked at before anything else
    on_missing: Literal["stand-in", "fail"] = "stand-in"  #: when no source has a raw file
    device: Annotated[str, AfterValidator(_device)] = "auto"
    threads: PositiveInt = 1  #: of a heavy job; fixed, as the last bits depend on it
    bootstrap: PositiveInt = 10_000  #: resamples of the confidence intervals
    experiments: Annotated[dict[str, Experiment], NonEmpty]

    def plain(self) -> dict[str, Any]:
        """JSON-able content."""
        return self.model_dump(mode="json")
