"""What do tables show of which cells, and which cells does one job train?"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any, Self

from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.runs import TOGETHER

Cell = tuple[str, str]  #: names of data, and of a learner on them


@dataclass(frozen=True)
class Row:
    """What a table shows of one cell: some outputs, by one criterion.

    Attributes
    ----------
    data, learner : str
        Names of the cell.
    trained : str
        The learner's name that the predictions stand under: the shortest one with the
        same options.
    setting : str
        What the table calls the data, and the learner's options.
    titles : mapping
        Methods that the table names, by output.
    selection : str
        Criterion that has selected options, in words.
    """

    data: str
    learner: str
    trained: str
    setting: str
    titles: Mapping[str, str]
    selection: str

    @property
    def predictions(self) -> str:
        """Its file, in the run's folder."""
        return f"{self.data}/{self.trained}/predictions.npz"


@dataclass(frozen=True)
class TableView:
    """A table of the run.

    Attributes
    ----------
    name, title, kind : str
        Kind of its scores: accuracy, mean_error, period, shift or iterations.
    in_all : bool
        Whether ``snakemake all`` makes it.
    n_seeds : int, optional
        Replicates that it shows; all, if it is None.
    labels : mapping
        What it calls data, by name.
    rows : tuple of Row
    """

    name: str
    title: str
    kind: str
    in_all: bool
    n_seeds: int | None
    labels: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def data(self) -> list[str]:
        """Names of its data, in order."""
        names = [row.data for row in self.rows]
        return list(dict.fromkeys(names))

    @property
    def cells(self) -> list[Cell]:
        """Data and learner of everything that is trained for it, in order."""
        cells = [(row.data, row.trained) for row in self.rows]
        return list(dict.fromkeys(cells))

    def params(self) -> dict[str, Any]:
        """All of it as plain values, for a job."""
        return asdict(self)

    @classmethod
    def load(cls, params: Mapping[str, Any]) -> Self:
        """The table of :meth:`params`."""
        rows = [Row(**row) for row in params["rows"]]
        table = {**params, "rows": tuple(rows)}
        return cls(**table)


@dataclass(frozen=True)
class Group:
    """Learners on some data that one job trains: one by several criteria, or the
    candidates of a search.

    Attributes
    ----------
    data : str
    learners : tuple of str
        Names of the same base.
    """

    data: str
    learners: tuple[str, ...]

    @property
    def rule(self) -> str:
        """Name of the rule: of the data, the learner's base, and a digest of all names.

        It depends on nothing else, so that a job keeps its rule when another table
        comes to show its cells.  The digest tells ``r=2.0`` and ``r=-2.0`` apart.
        """
        base = base_of(self.learners[0])
        words = re.sub(r"\W+", "_", f"{self.data} {base}")
        members = [self.data, *sorted(self.learners)]
        text = " ".join(members)
        content = text.encode()
        digest = blake2b(content, digest_size=3)
        return f"{TOGETHER}{words}_{digest.hexdigest()}"
