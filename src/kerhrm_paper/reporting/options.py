"""The options of a run's cells: every value in force, and where it stands."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm_paper.config.config import Config
from kerhrm_paper.config.files import Sources, read_sources
from kerhrm_paper.config.options import Place
from kerhrm_paper.config.resolve import resolve_sources
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.config.written import sources_of_run
from kerhrm_paper.data.registry import DATA_SETS
from kerhrm_paper.reporting.changes import get
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.arrays import load_records, reading
from kerhrm_paper.runs.predictions import Predictions

#: keys of the configuration that are no data set's and no learner's
GENERAL = ("device", "threads", "on_missing", "seed_offset")
#: in the folder of a contest: path of the file with its method
NOTED_FILE = "file.txt"


class RunOptions:
    """The configuration that a run has written, resolved again.

    Parameters
    ----------
    run : Run
        Whose ``config.yaml`` is read.
    root : path
        The checkout, in whose files values are looked up.

    Raises
    ------
    KerhrmError
        If this version cannot read the configuration.
    """

    def __init__(self, run: Run, root: Path = Path()) -> None:
        self.run = run
        self.root = root
        config = dict(run.config)
        text = json.dumps(config, default=str)
        noted = json.loads(text)
        noted.pop("raw_dir", None)  # the folder need not be here
        file = str(run.folder / "config.yaml")
        with reading(file):
            self._resolve(file, noted)
        self.resolver = self.config.resolved.resolver
        preset = run.preset()
        self.files = _files(preset, root)

    def _resolve(self, file: str, noted: Tree) -> None:
        """Resolve what a file notes; KerhrmError if this version cannot."""
        self.sources = sources_of_run(file, noted)
        self._check_installed(noted)
        merged, *changes = (content for _, _, content in self.sources.layers)
        self.tree: Tree = _known(merged, changes)
        self.sources.layers.append((file, (), _retitled(self.tree)))
        try:
            cells = resolve_sources(self.sources, self.root / "config")
            self.config = Config(cells)
        except KerhrmError as error:
            problem = f"{file} is of another version"
            hint = f"git checkout the commit that made it ({error.problem})"
            raise KerhrmError(problem, hint) from error

    def _check_installed(self, noted: Tree) -> None:
        """Refuse methods and generators of packages that are not installed."""
        for kind, key, registry in (
            ("learners", "method", METHODS),
            ("data", "generator", DATA_SETS),
        ):
            entries = noted.get(kind) or {}
            for entry in entries.values():
                name = (entry or {}).get(key)
                if not isinstance(name, str) or name in registry:
                    continue
                problem = f"the {key} '{name}' is of no package that is installed"
                hint = "install the package that has it"
                site = self.run.folder.parent / "site"
                if site.is_dir() and self.run.competing:
                    hint = f"set PYTHONPATH={site.resolve()}"
                raise KerhrmError(problem, hint)

    def of_data(self, data: str) -> dict[str, Tree]:
        """Options of the run, the seeds, the generator, the network and the features of
        data."""
        cell = self.config.data(data)
        whole = self.config.resolved.whole
        general = {}
        keys: dict[str, Place] = {}
        for name in GENERAL:
            general[name] = getattr(whole, name)
            if name in self.tree:
                keys[name] = (name,)
        seeds = {"seeds": cell.seeds.names}
        place_of_seeds = ("data", cell.base, "seeds")
        keys_of_seeds: dict[str, Place] = {"seeds": place_of_seeds}
        described = {
            "run": self._described(general, keys, "default"),
            "seeds": self._described(seeds, keys_of_seeds, "default"),
        }
        values = {
            "options": cell.options.model_dump(mode="json"),
            "network": cell.network.model_dump(mode="json"),
            "features": cell.features.model_dump(mode="json"),
        }
        origins = self.resolver.data_origins(data)
        for part, places in origins.items():
            default = f"default of the {part}"
            title = part
            if part == "options":
                default = f"default of the data set {cell.generator}"
                title = "data"
            of_part = values[part]
            described[title] = self._described(of_part, places, default)
        return described

    def of_learner(self, data: str, learner: str) -> Tree:
        """Options of a learner on data.

        What the job that trained it has noted counts, where a note is there.
        """
        cell = self.config.learner(data, learner)
        default = f"default of the method {cell.method}"
        values = cell.options.model_dump(mode="json")
        places = self.resolver.learner_origins(data, learner)
        described = self._described(values, places, default)
        trained = self.trained(data, learner)
        in_run = self._noted(data, trained)
        in_force = {}
        for name, value in (in_run or values).items():
            option = described.get(name)
            if option is None or option["value"] != value:
                origin = "noted by the run; this version has another value"
                option = {"value": value, "from": origin}
            in_force[name] = option
        return in_force

    def trained(self, data: str, learner: str) -> str:
        """The learner's name that its predictions stand under."""
        return self.resolver.trained_as(data, learner)

    def chosen(self, data: str, learner: str) -> list[dict[str, float]]:
        """What a learner's own rule has chosen on each seed, where it has trained."""
        trained = self.trained(data, learner)
        name = f"{data}/{trained}/predictions.npz"
        if not self.run.has(name):
            return []
        choices = []
        replicates = load_records(Predictions, self.run.folder / name)
        for prediction in replicates:
            names = prediction.chosen.tolist()
            numbers = prediction.choices.tolist()
            by_name = dict(zip(names, numbers, strict=True))
            choices.append(by_name)
        return choices

    def _noted(self, data: str, learner: str) -> Tree:
        """Options of a learner that the job which trained it has noted."""
        file = f"{data}/{learner}/predictions.npz"
        record = provenance.read(self.run.folder, file)
        record = record or {}
        with reading(self.run.folder / provenance.PROVENANCE / f"{file}.json"):
            params = record.get("params", {})
            learners = params.get("learners", [])
            for params in learners:
                if params["name"] == learner:
                    return dict(params["options"])
        return {}

    def _described(
        self, values: Tree, places: Mapping[str, Place], default: str
    ) -> Tree:
        """Values, each with where it stands."""
        described = {}
        for name, value in values.items():
            origin = default
            if name in places:
                origin = self._origin(places[name])
            option = {"value": value, "from": origin}
            described[name] = option
        return described

    def _origin(self, place: Place) -> str:
        """File and key of a value, or the name that gives it; the command line, if no
        file has it."""
        if isinstance(place, str):
            return f"name: {place}"
        key = place
        file = "config.yaml of the run"
        if self.files is not None:
            file = "--config or --configfile"
            in_files = get(self.files.tree(), key)
            in_run = get(self.tree, key)
            if in_files == in_run:
                file, above, _ = self.files.find(key)
                key = key[len(above) :]
        kind = "selected: " if place[0] == "selected" else ""
        dotted = ".".join(map(str, key))
        return f"{kind}{file}: {dotted}"


def _known(written: Tree, changes: Sequence[Tree]) -> Tree:
    """The configuration without the keys that only an earlier version knew.

    They are removed from its changes, too.
    """
    while True:
        try:
            Whole.model_validate(written)
        except ValidationError as error:
            first = error.errors()[0]
            *above, last = first["loc"]
            entry = get(written, above)
            is_unknown_key = "no such key" in first["msg"]
            if not is_unknown_key or not isinstance(entry, dict):
                return written  # which is refused when it is resolved
            for tree in (written, *changes):
                entry = get(tree, above)
                if isinstance(entry, dict):
                    entry.pop(last, None)
            continue
        return written


def _retitled(written: Tree) -> Tree:
    """The titles of all tables, as a change of theirs.

    A table that a user has changed may have outputs of learners that it had before; the
    note of a run does not say which tables the user has changed.
    """
    tables = written.get("tables") or {}
    titles = {}
    for name, table in tables.items():
        if isinstance(table, dict) and "title" in table:
            titles[name] = {"title": table["title"]}
    return {"tables": titles}


def _files(preset: str, root: Path) -> Sources | None:
    """The files of a checkout at a preset; None: it has none."""
    try:
        base = {"preset": preset}
        return read_sources(base, [], root / "config")
    except KerhrmError:
        return None
