"""Data sets of one's own: a few lines become an experiment.

``config/datasets/NAME.yaml``, or NAME below ``datasets:`` in any other file, is the experiment
``dataset_NAME`` with one setting, NAME, and a table and target of the experiment's name.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerhrm.config.files import Key, Source
from kerhrm.data.tabular.options import RAW, TabularData
from kerhrm.errors import KerhrmError
from kerhrm.sections import suggest

FOLDER = "datasets"
PREFIX = "dataset_"  #: of experiments, tables and targets
NOTEBOOK = "dataset"
#: what a block says of its data; everything else is the experiment's
DATA = tuple(name for name in TabularData.model_fields if name != "generator")
#: of the experiment
OTHERS = ("title", "about", "methods", "options", "seeds", "network", "features")
#: what a block says otherwise than an experiment, and back
MEANT = {"methods": "run", "options": "methods"}
WRITTEN = {meant: said for said, meant in MEANT.items()}
METHODS = ["erm", "dro", "eiil", "hrm", "kerhrm", "igd", "per_seed"]
MOST_ROWS = 5000  #: that train and validate, unless a block says otherwise


@dataclass(frozen=True)
class Block(Source):
    """A block as the experiment that it stands for; errors name the keys that were written."""

    written: Source
    at: Key  #: of the block in the file

    def error(self, key: Key, told: str) -> KerhrmError:
        """As :meth:`Source.error`, of the block's own key."""
        if key[:1] == ("data",):
            key = key[1:]
        elif key:
            key = (WRITTEN.get(key[0], key[0]), *key[1:])
        return self.written.error((*self.at, *key), told)


def experiment(written: Source, at: Key, name: str) -> Block:
    """The experiment of the block at a key of a file.

    Raises
    ------
    KerhrmError
        If it has a key that is not known, or its file is not there.
    """
    said = written.section(at)
    for key in said:
        if key not in (*DATA, *OTHERS):
            raise written.error((*at, key), f"no such key; {suggest(key, (*DATA, *OTHERS))}")
    data = {key: said.pop(key) for key in DATA if key in said}
    _locate(written, at, data)
    content = {
        "title": name,
        "table": f"{PREFIX}{name}",
        "seeds": 10,
        "run": METHODS,
        **{MEANT.get(key, key): value for key, value in said.items()},
        "notebook": NOTEBOOK,
        "protocol": "groups",
        "in_all": False,
        "data": {"generator": "tabular", "max_rows": MOST_ROWS, **data},
        "settings": {name: {}},
    }
    return Block(written.name, content, written, at)


def _locate(written: Source, at: Key, data: dict[str, Any]) -> None:
    """Make a path relative to the file that says it one that the workflow can open."""
    path = data.get("path")
    if not isinstance(path, str) or path.startswith(RAW):
        return
    found = (Path(written.name).parent / Path(path).expanduser()).resolve()
    if not found.is_file():
        raise written.error((*at, "path"), f"there is no file {found}; correct the path")
    here = Path.cwd()
    data["path"] = str(found.relative_to(here) if found.is_relative_to(here) else found)
