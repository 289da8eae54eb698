"""What a notebook reads: the files that a run names, or, by hand, those beside a table.

A run of the workflow gives a notebook its title and all its files.  One that is opened by hand has
the path of a table alone; what belongs to it follows from the configuration that lies beside it, in
``results/reference`` as in ``results/paper``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.files import read
from kerhrm.config.presets import DEVELOPMENT
from kerhrm.errors import KerhrmError
from kerhrm.reporting.tables import full_title, read_scores, read_table
from kerhrm.reporting.titles import title_of

COMPARISONS = "-comparisons.csv"  #: after the table's name
#: folders of a run, and what a reader calls what is in them
KINDS = {
    "scores": "scores of single seeds",
    "restarts": "reports on the clusterings",
    "choices": "reports on the choices",
}


class NotThere(KerhrmError):
    """A file that a notebook needs; a notebook shows the line alone."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a stack of calls."""
        return [str(self)]


@dataclass(frozen=True)
class Files:
    """A table, and what there is beside it.

    Attributes
    ----------
    title, about, preset : str
    table : DataFrame
        As :func:`kerhrm.reporting.tables.read_table` reads it.
    compared : DataFrame or None
        Rows of :func:`kerhrm.scoring.comparisons.compare_methods`, if they were written beside it.
    scores, restarts, choices : mapping of str to path
        By experiment; empty where there are none.
    cure : str
        How to get what is not there; empty in a run, which has all that there can be.
    """

    title: str
    about: str
    preset: str
    table: pd.DataFrame
    compared: pd.DataFrame | None
    scores: Mapping[str, Path]
    restarts: Mapping[str, Path]
    choices: Mapping[str, Path]
    cure: str = ""

    @property
    def heading(self) -> str:
        """The title with the table's number, and what is special about its data."""
        return full_title(self.title, self.table, self.preset)

    def seeds(self) -> pd.DataFrame | None:
        """Scores of single seeds, if there are any."""
        return read_scores(self.scores.values()) if self.scores else None

    def missing(self, kind: str) -> str:
        """The line that stands for a kind of files that is not there."""
        return f"*No {KINDS[kind]} beside this table: {self.cure}*\n"

    def report(self, kind: str, tell: Callable[[dict[str, pd.DataFrame]], str]) -> str:
        """What ``tell`` makes of all files of a kind, or :meth:`missing`."""
        paths: Mapping[str, Path] = getattr(self, kind)
        if not paths and self.cure:
            return self.missing(kind)
        return tell({name: pd.read_csv(path) for name, path in paths.items()})


def gather(
    table_csv: str | Path,
    *,
    title: str = "",
    about: str = "",
    preset: str = "",
    scores_csv: Sequence[str | Path] = (),
    restarts_csv: Sequence[str | Path] = (),
    choices_csv: Sequence[str | Path] = (),
) -> Files:
    """The files of a notebook; without a title those that lie beside the table.

    Relative paths count from the folder at hand or, where Jupyter has opened the notebook in its
    own, from the one above.

    Raises
    ------
    NotThere
        One line: the table is not there, or nothing beside it tells what it is; and the cure.
    """
    path = Path(table_csv)
    if title:
        named = (scores_csv, restarts_csv, choices_csv)
        scores, restarts, choices = ({p.stem: p for p in map(Path, paths)} for paths in named)
        table, compared = read_table(path), _compared(path)
        return Files(title, about, preset, table, compared, scores, restarts, choices)
    path = _found(path)
    folder = next((p for p in path.resolve().parents[:2] if (p / "config.yaml").is_file()), None)
    if folder is None:
        raise NotThere(f"no config.yaml lies beside {table_csv}", "give a table of a whole run")
    config = read(folder / "config.yaml").content
    own = {name: e for name, e in config["experiments"].items() if e["table"] == path.stem}
    there: dict[str, Any] = {kind: _beside(folder / kind, own) for kind in KINDS}
    files = Files(
        title=title_of({n: e["title"] for n, e in own.items()}) or path.stem,
        about="\n\n".join(e["about"] for e in own.values()),
        preset=config["preset"],
        table=read_table(path),
        compared=_compared(path),
        **there,
    )
    return replace(files, cure=_cure(config, path.stem))


def _found(path: Path) -> Path:
    """A path that counts from this folder or from the one above."""
    for start in (Path(), Path("..")):
        if (start / path).is_file():
            return start / path
    raise NotThere(f"{path} is not there", _cure({}, path.stem))


def _beside(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """Those of the experiments that have a file in a folder, which may be compressed."""
    files = {name: sorted(folder.glob(f"{name}.csv*")) for name in names}
    return {name: found[0] for name, found in files.items() if found}


def _cure(config: Mapping[str, Any], table: str) -> str:
    """The command that makes a table with all its files, and where they then are."""
    preset = config.get("preset", DEVELOPMENT)
    option = "" if preset == DEVELOPMENT else f" --config preset={preset}"
    made = f"{config.get('results', 'results')}/{preset}/tables/{table}.csv"
    return f'run `snakemake --cores all {table}{option}`, then set `table_csv = "{made}"`'


def _compared(path: Path) -> pd.DataFrame | None:
    file = path.with_name(f"{path.stem}{COMPARISONS}")
    return pd.read_csv(file) if file.is_file() else None
