"""What every source of raw data has: the published files, and what stands in for them."""

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

from kerhrm.data.sources.fetch import RawDataUnavailable, RawSet, locate
from kerhrm.storage.arrays import load_arrays, save_arrays

log = logging.getLogger(__name__)


class RawData(ABC):
    """Base of frozen dataclasses whose fields are arrays and ``source``."""

    source: str  #: where they come from; names of stand-ins begin with ``"stand-in:"``
    published: ClassVar[RawSet]

    @classmethod
    @abstractmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the published files, in their order."""

    @classmethod
    @abstractmethod
    def stand_in(cls) -> Self:
        """What lets everything run without the files; its results say nothing about the paper."""

    @classmethod
    def fetch(
        cls,
        raw_dir: str | os.PathLike[str] | None = None,
        on_missing: Literal["stand-in", "fail"] = "stand-in",
    ) -> Self:
        """Read what :func:`locate` finds; without it raise, or warn and use :meth:`stand_in`.

        A stand-in never takes the place of a file that is truncated or altered.
        """
        try:
            return cls.read(locate(cls.published, raw_dir))
        except RawDataUnavailable as error:
            if on_missing == "fail":
                raise
            substitute = cls.stand_in()
            name = cls.published.name
            log.warning("using %s instead of %s: %s", substitute.source, name, error)
            return substitute

    @property
    def is_stand_in(self) -> bool:
        """Whether these are not the data of the paper."""
        return self.source.startswith("stand-in:")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that :meth:`load` reads."""
        arrays = {name: array for name, array in vars(self).items() if name != "source"}
        save_arrays(path, arrays, {"source": self.source})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote."""
        arrays, facts = load_arrays(path)
        return cls(**arrays, **facts)
