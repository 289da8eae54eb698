"""From the files of ``config/`` and the command line to one validated configuration."""

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from kerhrm.config.methods import Methods
from kerhrm.config.schema import Config
from kerhrm.errors import KerhrmError

Tree = dict[str, Any]
MACHINE_KEYS = tuple(name for name in Config.model_fields if name not in ("preset", "experiments"))


def resolve(top: Mapping[str, Any], folder: str | Path = "config") -> Config:
    """Merge and validate the configuration.

    Later sources win.  Methods: ``methods/*.yaml``, ``tuned/<experiment>.yaml`` and
    ``tuned/<experiment>-oracle.yaml``, the preset's ``methods``, the experiment's own, a
    setting's own.  Experiments: ``experiments/*.yaml``, the preset's ``experiments``.  ``top``
    (``config/config.yaml`` and ``--config``) chooses the preset and the machine's settings.

    Parameters
    ----------
    top : mapping
        Keys of :class:`~kerhrm.config.schema.Config` other than ``experiments``.
    folder : path
        The ``config`` folder.

    Returns
    -------
    Config

    Raises
    ------
    KerhrmError
        With key, value and cure, at the first thing that is wrong.
    """
    folder = Path(folder)
    for key in top:
        if key != "preset" and key not in MACHINE_KEYS:
            raise KerhrmError(
                f"unknown configuration key '{key}' (value {top[key]!r})",
                _suggest(key, ("preset", *MACHINE_KEYS)),
            )
    presets = sorted(p.stem for p in (folder / "presets").glob("*.yaml"))
    preset = str(top.get("preset", "paper"))
    if preset not in presets:
        raise KerhrmError(f"unknown preset '{preset}'", _suggest(preset, presets))

    methods = {p.stem: read_yaml(p) for p in sorted((folder / "methods").glob("*.yaml"))}
    tuned = {p.stem: read_yaml(p) for p in sorted((folder / "tuned").glob("*.yaml"))}
    changed: Tree = {}
    experiments = {p.stem: read_yaml(p) for p in sorted((folder / "experiments").glob("*.yaml"))}
    overrides = read_yaml(folder / "presets" / f"{preset}.yaml")
    for key, known in (("methods", methods), ("experiments", experiments)):
        for name, changes in _section(overrides.pop(key, None), key).items():
            if name not in known:
                raise KerhrmError(
                    f"unknown entry '{key}.{name}' in presets/{preset}.yaml", _suggest(name, known)
                )
            at = f"{key}.{name}"
            changes = _section(changes, at)
            if key == "experiments":
                own = _section(known[name].get("settings"), f"{at}.settings")
                for label in _section(changes.get("settings"), f"{at}.settings"):
                    if label not in own:
                        raise KerhrmError(
                            f"unknown setting '{label}' of {name} in presets/{preset}.yaml",
                            _suggest(label, own),
                        )
            if key == "methods":
                changed[name] = changes
            else:
                known[name] = merge(known[name], changes)
    machine = {k: v for k, v in top.items() if k != "preset"}
    tree = merge(overrides, machine) | {
        "preset": preset,
        "experiments": {
            n: _expand(n, e, [methods, tuned.get(n, {}), tuned.get(f"{n}-oracle", {}), changed])
            for n, e in experiments.items()
        },
    }
    return _validate(tree)


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """``base`` with ``changes`` laid over it: mappings merge, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merge(result[key], value)
        else:
            result[key] = value
    return result


def read_yaml(path: Path) -> Tree:
    """A YAML mapping (an empty file is an empty mapping)."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KerhrmError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        line = " ".join(str(error).split())
        raise KerhrmError(f"{path} is not valid YAML: {line}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise KerhrmError(f"{path} holds {type(content).__name__}", "write 'key: value' lines")
    return content


def _section(value: Any, key: str) -> Tree:
    """A mapping inside a file; where nothing is said, an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise KerhrmError(
            f"configuration key '{key}' = {value!r} is no mapping", "write 'key: value' lines"
        )
    return dict(value)


def _expand(name: str, experiment: Tree, methods: Sequence[Tree]) -> Tree:
    """Give every setting of an experiment its whole data and method sections.

    ``methods`` are layers, of which later ones win; the experiment's own come last.
    """
    experiment, at = dict(experiment), f"experiments.{name}"
    shared_data = _section(experiment.pop("data", None), f"{at}.data")
    shared_run = experiment.pop("run", None) or []
    own = _section(experiment.pop("methods", None), f"{at}.methods")
    own_methods: Tree = functools.reduce(merge, [*methods, own])
    settings = {}
    for label, content in _section(experiment.get("settings"), f"{at}.settings").items():
        if content is None:  # a preset's way to leave a setting out
            continue
        here = f"{at}.settings.{label}"
        setting = _section(content, here)
        settings[str(label)] = setting | {
            "data": merge(shared_data, _section(setting.get("data"), f"{here}.data")),
            "methods": merge(own_methods, _section(setting.get("methods"), f"{here}.methods")),
            "run": setting.get("run", shared_run),
        }
    return experiment | {"settings": settings}


def _validate(tree: Tree) -> Config:
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise KerhrmError(*_explain(error.errors()[0])) from error


def _explain(error: Any) -> tuple[str, str | None]:
    """One line from pydantic's first finding: key, value, cure."""
    generators = ("classification", "colored_mnist", "houses", "regression")
    path = [str(p) for p in error["loc"]]
    # pydantic puts the chosen member of the data union into the path
    path = [p for i, p in enumerate(path) if not (p in generators and i and path[i - 1] == "data")]
    key, value = ".".join(path), error.get("input")
    if error["type"] == "extra_forbidden":
        known = set(_field_names(Config))
        return f"unknown configuration key '{key}' (value {value!r})", _suggest(path[-1], known)
    if error["type"] == "missing":
        return f"configuration key '{key}' is missing", "add it"
    message = error["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(value, Mapping) else f" = {value!r}"
    return f"configuration key '{key}'{shown}: {message}", None


def _field_names(model: type[BaseModel]) -> Iterator[str]:
    """Names of all fields below ``model``."""
    seen: set[type[BaseModel]] = set()
    queue: list[type[BaseModel]] = [model, Methods]
    while queue:
        current = queue.pop()
        if current in seen:
            continue
        seen.add(current)
        for name, field in current.model_fields.items():
            yield name
            queue += _models(field.annotation)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in getattr(annotation, "__args__", ()) for m in _models(part)]


def _suggest(word: Any, known: Any) -> str:
    close = difflib.get_close_matches(str(word), list(known), n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known are: {', '.join(sorted(known))}"
