"""The resolved configuration.

What the workflow, the evaluation and the reports ask for.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.layout import CHECKOUT as CHECKOUT
from kerhrm.paper.config.layout import rule_files
from kerhrm.paper.config.run_folder import check_run_folder, run_folder
from kerhrm.paper.config.strict_yaml import OWN_KEYS
from kerhrm.paper.runs import cache
from kerhrm.plugins import installed


@dataclass(frozen=True)
class Table:
    """A view of settings x learners."""

    name: str
    title: str
    kind: str  #: accuracy, mean_error, period or iterations
    in_all: bool
    criteria: str  #: "all" or "own": selection criteria that it shows
    outputs: dict[str, list[str]]  #: outputs that it shows, by learner
    #: (data, setting, learner), in the order of its rows
    cells: list[tuple[str, str, str]]
    labels: dict[str, str] = field(default_factory=dict)  #: by "DATA/SETTING"
    marks: dict[str, str] = field(default_factory=dict)  #: by learner

    def label(self, data: str, setting: str, learner: str | None = None) -> str:
        """Text of the column ``setting``.

        ``r2=0.80``, or ``r2=0.80,K=3`` for a learner's mark.
        """
        mark = self.marks.get(learner, "") if learner else ""
        return ",".join(filter(None, (self.labels[f"{data}/{setting}"], mark)))

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Data sets and settings, in order."""
        return list(dict.fromkeys((data, setting) for data, setting, _ in self.cells))


class Config:
    """Resolved configuration, of the content that ``resolve`` returns.

    Besides the run's keys, as in :class:`kerhrm.paper.config.models.Whole`: ``run``,
    its folder; ``mark``, how it differs from the published options, empty if it does
    not; ``data_sets``, names of the settings by data set; ``tables``, none in a search;
    ``with_steps``, learners whose iterations are jobs; ``choices``, alternatives whose
    effects are measured, in the tables ``choice_tables``; ``merged``, the files without
    the choices: what differs from the defaults; ``own_table``, keys of the target of
    that name.
    """

    def __init__(
        self, content: dict[str, Any], own_table: Mapping[str, Any] | None = None
    ) -> None:
        self._content = content
        self.own_table: dict[str, Any] = content["own_table"] | dict(own_table or {})
        self.preset: str = content["preset"]
        self.mark: str = content["mark"]
        self.run = run_folder(content["results"], self.preset)
        self.device: str = content["device"]
        self.threads: int = content["threads"]
        self.raw_dir: str | None = content["raw_dir"]
        self.on_missing: str = content["on_missing"]
        self.choices: dict[str, Any] = content["choices"]
        self.choice_tables: list[str] = content["choice_tables"]
        self.merged: dict[str, Any] = content["merged"]
        cells = content["cells"].items()
        self.with_steps = sorted(
            {key.split("/")[2] for key, one in cells if one["steps"]}
        )
        self.data_sets = {
            name: list(one["settings"]) for name, one in content["data"].items()
        }
        self.tables = {
            name: Table(name, **one | {"cells": [tuple(cell) for cell in one["cells"]]})
            for name, one in content["tables"].items()
        }

    def params(
        self, data: str, setting: str, learner: str | None = None
    ) -> dict[str, Any]:
        """Parameters of a setting, or of a learner in it.

        Of a setting ``generator``, ``options``, ``seeds`` (lists ``data``, ``network``,
        ``clustering``), ``replicates`` (their names), ``network``, ``features``,
        ``k_max`` (None: no learner needs features), ``task``, ``raw``.  Of a learner
        besides ``method``, ``steps``, ``candidates`` (options), ``shown`` (index of the
        candidate by selection criterion, its own first), ``selected`` (options that
        each criterion has selected on the data ``selected_on``), ``titles`` (of the
        outputs to make).  Its replicates are the first ones of the setting, fewer only
        with ``more_seeds``.

        Raises KerhrmError if there is no such data set, setting or learner, or its
        options are not selected yet.
        """
        where = "/".join(filter(None, (data, setting, learner)))
        settings = self._content["data"].get(data, {}).get("settings", {})
        if setting not in settings:
            hint = f"add it to config/data/{data}.yaml"
            raise KerhrmError(f"{where}: the setting does not exist", hint)
        if learner is None:
            return dict(settings[setting])
        if where not in self._content["cells"]:
            problem = f"{where}: no table has this learner at this setting"
            raise KerhrmError(problem, "add it to a table in config/tables")
        own = self._content["cells"][where]
        if own["missing"]:
            raise KerhrmError(
                own["missing"], "run snakemake select --config preset=tuning"
            )
        return dict(settings[setting] | own)

    def selected(self, *tables: str) -> list[list[Any]]:
        """What criteria have selected for the learners of some tables.

        Rows of the data set that they were selected on, the title of the learner's
        first output, the criterion, and the options.
        """
        rows: dict[tuple[str, str, str], list[Any]] = {}
        for cell in (cell for name in tables for cell in self.tables[name].cells):
            params = self.params(*cell)
            title = next(iter(params["titles"].values()))
            for criterion, options in params["selected"].items():
                key = (params["selected_on"], title, criterion)
                if options:
                    rows.setdefault(key, [*key, options])
        return list(rows.values())

    def tuning(self, data: str) -> dict[str, Any] | None:
        """``settings``, ``learners`` and ``seeds`` of a search; None.

        Nothing is selected.
        """
        return self._content["data"][data]["tuning"]


def load_config(
    overrides: Mapping[str, Any] | None = None,
    files: Sequence[str | Path] = (),
    root: str | Path = CHECKOUT,
) -> Config:
    """Resolve the configuration, or read what an earlier call has resolved.

    ``overrides``, keys of the command line, go before ``files``, and these before the
    files of ``config/`` in ``root``.

    An error says in one line the file, the key and its value, the problem, and a hint.
    """
    given = {key: one for key, one in (overrides or {}).items() if key not in OWN_KEYS}
    own = {key: one for key, one in (overrides or {}).items() if key in OWN_KEYS}
    paths, folder = [Path(f) for f in files], Path(root) / "config"
    file = _cache_file(given, paths, folder)
    content = cache.load(file) if file else None
    if content is None:
        # imports all methods, and with them PyTorch
        from kerhrm.paper.config.resolve import resolve

        content = resolve(given, paths, folder)
        if file:
            cache.save(file, content)
        # the same lists whether it was read or resolved
        content = json.loads(json.dumps(content))
    config = Config(content, own)
    check_run_folder(config.run, Path(root))
    return config


def page_name(csv: str) -> str:
    """Name of the page of a table of your own, without its ending."""
    name = re.sub(r"[^\w.-]", "_", Path(csv).stem)
    return name.encode()[:200].decode(errors="ignore")


def _cache_file(
    overrides: Mapping[str, Any], files: list[Path], folder: Path
) -> Path | None:
    """File of the resolved configuration, named by all that it depends on; None: it is
    not kept."""
    kinds = ("methods", "penalties", "data_sets")
    if any(installed(f"kerhrm.{kind}") for kind in kinds):  # their code may change
        return None
    yaml = [*files, *sorted(folder.rglob("*.yaml")), *rule_files(folder.parent)]
    try:
        texts = [(str(path), path.read_text("utf-8")) for path in yaml]
        stats = {
            str(f): f.stat() for f in sorted(Path(__file__).parents[2].rglob("*.py"))
        }
        code = [(file, stat.st_mtime_ns, stat.st_size) for file, stat in stats.items()]
        return cache.cache_file("config", [overrides, str(Path.cwd()), texts, code])
    except (OSError, TypeError, ValueError):  # resolve says what is wrong
        return None
