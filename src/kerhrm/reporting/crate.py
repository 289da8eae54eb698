"""RO-Crate metadata: of every published file its hash, and what made it.

``ro-crate-metadata.json`` (https://w3id.org/ro/crate) stands in the folder that it describes and is
made from what lies there; of a run from the checkout, too.  Nothing is fetched.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from kerhrm.costs.reference import VERSIONS
from kerhrm.errors import KerhrmError
from kerhrm.reporting.explain.cells import read_config
from kerhrm.reporting.explain.lineage import JOBS, Job, Records
from kerhrm.reporting.provenance import (
    DISTRIBUTION,
    MADE_WITH,
    command,
    made_with,
    provenance,
    sha256,
)
from kerhrm.storage.arrays import write_text

FILE = "ro-crate-metadata.json"
#: what is described of a run: all that is shown, and no data, features or predictions
SHOWN = (
    "*.csv", "config.yaml", "checked.txt", "tables/*", "figures/*", "notebooks/*", "pages/*",
    "scores/*", "choices/*", "restarts/*", "described/*", "tuned/*",
)  # fmt: skip
#: rules that copy what a run has made, by folder of the published files; else the first
PUBLISHERS = {"": "publish_reference", "claims": "publish_claims"}
PUBLISHERS |= {"ambiguities": "publish_ambiguities", "development": "publish_reference"}
FORMATS = {
    ".csv": "text/csv", ".html": "text/html", ".ipynb": "application/x-ipynb+json",
    ".json": "application/json", ".md": "text/markdown", ".pdf": "application/pdf",
    ".png": "image/png", ".tex": "application/x-tex", ".tsv": "text/tab-separated-values",
    ".txt": "text/plain", ".yaml": "application/yaml",
}  # fmt: skip
TERMS = {name: f"https://schema.org/{name}" for name in ("sha256", "softwareRequirements")}
NAME = "Kernelized Heterogeneous Risk Minimization, from raw data to tables"


@dataclass(frozen=True)
class Part:
    """A folder of files that one configuration made."""

    name: str  #: below the crate's folder, "" of itself
    config: dict[str, Any]
    configuration: str  #: SHA-256 of its ``config.yaml``
    facts: dict[str, Any]  #: of :func:`kerhrm.reporting.provenance.made_with`; may be empty
    packages: dict[str, str]
    makers: dict[str, Job]  #: by file of the run


def write_crate(folder: Path, checkout: Path) -> int:
    """Describe a run, ``results/<preset>``, or ``results/reference``: number of its files.

    Raises
    ------
    KerhrmError
        If there is no ``config.yaml``.
    """
    found = crate(folder, checkout)
    write_text(folder / FILE, json.dumps(found.metadata.generate(), indent=1) + "\n")
    return len(found.root_dataset["hasPart"])


def crate(folder: Path, checkout: Path) -> ROCrate:
    """The metadata as the library's object; equal folders give equal ones.

    Files are entities with ``sha256``, ``contentSize`` and ``encodingFormat``; an action
    (``CreateAction``) of every rule names the files that it made, the command, and by its
    instrument commit, hash of the code, configuration and packages.
    """
    parts = list(_parts(folder, checkout))
    files = sorted(_files(folder, is_run=not (folder / VERSIONS).exists()))
    found = ROCrate()
    found.metadata.extra_terms.update(TERMS)
    root = found.root_dataset
    root["name"], root["description"] = NAME, metadata(DISTRIBUTION)["Summary"]
    root["license"] = _license(found)
    root["author"] = _author(found, checkout)
    root["datePublished"] = _date(parts)
    actions: dict[str, Any] = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        facts = {"sha256": sha256(path), "contentSize": str(path.stat().st_size), "name": name}
        facts["encodingFormat"] = FORMATS.get(path.suffix, "application/octet-stream")
        entity = found.add_file(path, dest_path=name, properties=facts)
        part = next(p for p in parts if name.startswith(p.name and f"{p.name}/"))
        action = _action(found, actions, part, *_maker(part, name))
        action.append_to("result", entity)
    root["mentions"] = list(actions.values())
    return found


def _parts(folder: Path, checkout: Path) -> Iterator[Part]:
    """Folders with a configuration of their own, the crate's own last."""
    if not (folder / "config.yaml").exists():
        raise KerhrmError(f"{folder} has no config.yaml", "run the workflow first")
    for path in (*sorted(folder.glob("*/config.yaml")), folder / "config.yaml"):
        own = path.parent
        if (own / VERSIONS).exists():
            told = json.loads((own / VERSIONS).read_text(encoding="utf-8"))
            records = Records.read(own / JOBS) if (own / JOBS).exists() else Records([])
        else:
            told = provenance() | {MADE_WITH: made_with(checkout)}
            records = Records.of_run(own, checkout)
        yield Part(
            name="" if own == folder else own.name,
            config=read_config(path),
            configuration=sha256(path),
            facts=told.get(MADE_WITH, {}),
            packages=told["packages"],
            makers={file: job for job in records.jobs for file in job.outputs},
        )


def _files(folder: Path, *, is_run: bool) -> Iterator[Path]:
    patterns = SHOWN if is_run else ("**/*",)
    for pattern in patterns:
        for path in folder.glob(pattern):
            if path.is_file() and path.name != FILE and not path.name.startswith("."):
                yield path


def _maker(part: Part, name: str) -> tuple[str, Job | None]:
    """Rule that made a file, and its job if that was noted."""
    own = name.removeprefix(f"{part.name}/") if part.name else name
    flat = own.rpartition("/")[2]  # tables that are published apart lie beside each other
    for file in (own, f"tables/{flat}", f"figures/{flat}", f"notebooks/{flat}"):
        if job := part.makers.get(file):
            return job.rule, job
    return PUBLISHERS.get(part.name, f"publish_{part.name}"), None


def _action(crate: ROCrate, actions: dict[str, Any], part: Part, rule: str, job: Job | None) -> Any:
    """What one rule did for a part of the files."""
    name = f"#{part.name or 'run'}-{rule}"
    if name not in actions:
        target = part.name if part.name in _tables(part) else "all"
        told = command(part.config, rule if rule.startswith("publish_") else target)
        facts = {"@type": "CreateAction", "name": f"Snakemake rule {rule}", "description": told}
        if job and job.began:
            facts["startTime"] = job.began.replace(" ", "T")
        action = crate.add(ContextEntity(crate, name, properties=facts))
        action["instrument"] = _workflow(crate, part)
        actions[name] = action
    return actions[name]


def _tables(part: Part) -> set[str]:
    return {e.get("table", "") for e in part.config.get("experiments", {}).values()}


def _workflow(crate: ROCrate, part: Part) -> Any:
    """The workflow with the code, the configuration and the packages that made a part."""
    name = f"#workflow-{part.name or 'run'}"
    if known := crate.dereference(name):
        return known
    add = partial(_add, crate)
    facts = {"@type": "SoftwareSourceCode", "name": "Snakefile", "programmingLanguage": "Snakemake"}
    own = add(name, facts)
    if part.facts.get("commit"):
        own["version"] = part.facts["commit"]
    told = {"code": part.facts.get("code"), "configuration": part.configuration}
    told |= part.facts.get("locks", {})
    own["identifier"] = [
        add(
            f"{name}-{key}", {"@type": "PropertyValue", "name": f"SHA-256 of {key}", "value": value}
        )
        for key, value in told.items()
        if value
    ]
    own["softwareRequirements"] = [
        add(f"#{package}-{version}", {
            "@type": "SoftwareApplication", "name": package, "softwareVersion": version,
        })
        for package, version in part.packages.items()
    ]  # fmt: skip
    return own


def _add(crate: ROCrate, name: str, facts: Mapping[str, Any]) -> Any:
    """An entity, once."""
    return crate.dereference(name) or crate.add(ContextEntity(crate, name, properties=dict(facts)))


def _license(crate: ROCrate) -> Any:
    spdx = metadata(DISTRIBUTION)["License-Expression"] or "MIT"
    facts = {"@type": "CreativeWork", "name": spdx}
    return _add(crate, f"https://spdx.org/licenses/{spdx}", facts)


def _author(crate: ROCrate, checkout: Path) -> Any:
    """Whom the licence names."""
    path = checkout / "LICENSE"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(r"Copyright \(c\) [\d-]+ (.+)", text)
    name = found[1].strip() if found else f"The {DISTRIBUTION} developers"
    return _add(crate, "#authors", {"@type": "Organization", "name": name})


def _date(parts: list[Part]) -> str:
    """Day of the last job that is noted; of none the first of time."""
    days = [job.began for part in parts for job in part.makers.values() if job.began]
    return max(days, default="1970-01-01")[:10]
