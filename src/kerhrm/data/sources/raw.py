"""Raw data in memory: found or stood in for, saved for later steps, and read again."""

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from kerhrm.data.sources.fetch import RawDataUnavailable, RawSet, locate
from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import load_arrays, save_arrays

logger = logging.getLogger(__name__)


class RawData(ABC):
    """Base of frozen dataclasses whose fields are arrays and ``source``.

    Attributes
    ----------
    source : str
        Where the data come from; names of stand-ins begin with ``"stand-in:"``.
    """

    source: str
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
        """Find or fetch the published files and read them.

        Parameters
        ----------
        raw_dir : path, optional
            Folder looked into first; see :func:`kerhrm.data.sources.fetch.locate`.
        on_missing : {"stand-in", "fail"}
            When a file is in no source: warn and use :meth:`stand_in`, or raise.

        Raises
        ------
        RawDataUnavailable
            If a file is in no source and ``on_missing="fail"``.
        KerhrmError
            If a file is truncated or altered: a stand-in never takes its place.
        """
        if on_missing not in ("stand-in", "fail"):
            raise KerhrmError(f"on_missing={on_missing!r} is unknown", "choose stand-in or fail")
        try:
            return cls.read(locate(cls.published, raw_dir))
        except RawDataUnavailable as error:
            if on_missing == "fail":
                raise
            substitute = cls.stand_in()
            name = cls.published.name
            logger.warning("using %s instead of %s: %s", substitute.source, name, error)
            return substitute

    @property
    def is_stand_in(self) -> bool:
        """Whether these are not the data of the paper."""
        return self.source.startswith("stand-in:")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that :meth:`load` reads."""
        arrays = {name: getattr(self, name) for name in self._arrays()}
        save_arrays(path, arrays, {"source": self.source})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote."""
        arrays, facts = load_arrays(path)
        contents: dict[str, Any] = {name: arrays[name] for name in cls._arrays()}
        return cls(**contents | {"source": facts["source"]})

    @classmethod
    def _arrays(cls) -> list[str]:
        return [f.name for f in fields(cls) if f.name != "source"]  # type: ignore[arg-type]
