"""What declares a data set; :mod:`kerhrm.data.registry` has all of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerhrm.data.dataset import Task


@dataclass(frozen=True)
class DataSet:
    """A data set's entry points, see :mod:`kerhrm.entries`; nothing of it is imported here."""

    name: str  #: ``generator`` in the configuration
    options: str  #: the :class:`kerhrm.sections.Section` of what it may be told
    entry: str  #: ``generate(options, seeds)``, with raw data ``generate(options, seeds, raw)``
    task: "Task | None"  #: None: that of its options, see ``task_of`` there
    raw: str | None = (
        None  #: name in :data:`kerhrm.data.registry.RAW` of the data that it is made from
    )
    truths: str | None = None  #: options to what is known without training, by row and metric
