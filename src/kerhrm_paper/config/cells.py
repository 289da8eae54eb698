"""What does a name stand for: data, a learner on them, and all their options?

``config/README.md`` has the order in which places win (Precedence).  Nothing depends on
other cells or on tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options, Task
from kerhrm_paper.runs.replication import Replication, Seeds


@dataclass(frozen=True)
class DataCell:
    """Data of a name.

    Attributes
    ----------
    name, base : str
        ``classification+r2=0.7`` and ``classification``.
    generator : str
        Name of what draws them.
    task : "classification" or "regression"
        What is learned.
    raw : str, optional
        Raw data that they are made from.
    options : Options
        Of the generator.
    n_points : int
        Training points.
    network : NetworkOptions
        f_w.
    features : FeatureOptions
        How many are kept, and how they are found.
    seeds : Seeds
        As many as any learner on these data has.
    entries : mapping
        ``module:name`` of ``generate`` and ``options``, and of ``raw`` if there are raw
        data.
    """

    name: str
    base: str
    generator: str
    task: Task
    raw: str | None
    options: Options
    n_points: int
    network: NetworkOptions
    features: FeatureOptions
    seeds: Seeds
    entries: Mapping[str, str]

    @property
    def replication(self) -> Replication:
        """What training needs to know of them."""
        return Replication(
            self.name, self.task, self.network, self.features, self.seeds
        )


@dataclass(frozen=True)
class LearnerCell:
    """A learner of a name, on some data.

    Attributes
    ----------
    name, base : str
        ``kerhrm+k=10`` and ``kerhrm``.
    method : str
        What trains it.
    options : Options
        Of the method, all that are in force.
    n_seeds : int
        Its replicates: the first ones of the data's.
    titles : mapping
        Row of the tables, by output of the method.
    selection : str
        Criterion that has selected options, in words.
    selected : mapping
        Options that it has selected, of those in force.
    selected_on : str
        Data set that they were selected on.
    needs_features, needs_environments, infers, iterates : bool
        As the method declares.
    checkpointed : bool
        Whether each iteration is a job.
    entries : mapping
        ``module:name`` of ``train`` and ``options``, and of a ``penalty`` of a package.
    timeout : float, optional
        Minutes that each fit may take, if failures are to be results.
    missing : KerhrmError, optional
        Why there are no selected options, if they are needed.
    """

    name: str
    base: str
    method: str
    options: Options
    n_seeds: int
    titles: Mapping[str, str]
    selection: str
    selected: Mapping[str, Any]
    selected_on: str
    needs_features: bool
    needs_environments: bool
    infers: bool
    iterates: bool
    checkpointed: bool
    entries: Mapping[str, str]
    timeout: float | None = None
    missing: KerhrmError | None = None

    def params(self) -> dict[str, Any]:
        """What a job that trains it needs, as plain values."""
        limit = {} if self.timeout is None else {"timeout": self.timeout}
        return {
            "name": self.name,
            "options": self.options.model_dump(mode="json"),
            "n_seeds": self.n_seeds,
            "outputs": list(self.titles),
            "infers": self.infers,
            "iterates": self.iterates,
            "entries": dict(self.entries),
            **limit,
        }
