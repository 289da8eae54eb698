"""How much of a run's compute an edit of each file of the package makes again.

``python -m kerhrm.reporting.reruns results/paper`` writes the page.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import kerhrm
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.config.files import read
from kerhrm.config.names import setting_in
from kerhrm.data.registry import DATA_SETS, RAW
from kerhrm.errors import KerhrmError
from kerhrm.jobs.fingerprint import sources
from kerhrm.methods.registry import METHODS
from kerhrm.reporting.times import of_run, read_benchmarks
from kerhrm.storage.arrays import write_text

HEAD = """# What an edit runs again

To each file of `src/kerhrm` the jobs of a complete run whose script runs its code, and their share
of the run's job-seconds, from its benchmarks. An edit of docstrings, comments, texts of errors or
log messages runs nothing again, nor does one of options (`*/options.py`, `sections.py`), whose
values are parameters of the rules. Jobs behind those counted follow where inputs are made again.
"""
PACKAGE = Path(kerhrm.__file__).parent
SCRIPTS, NOTEBOOKS = PACKAGE.parents[1] / "workflow/scripts", PACKAGE.parents[1] / "notebooks"
#: of rules that use another's
SCRIPT_OF = {
    **dict.fromkeys(("train_on_features", "train_whole"), "train_method"),
    "render_figure": "render_notebook",
    "render_variants": "render_notebook",
}
#: scripts whose code depends on the setting
BY_NAME = (
    "generate_data", "extract_ntf", "reduce_ntf", "reduce_by_landmarks", "learn_direction",
    "train_network", "train_method", "score",
)  # fmt: skip
PAGE = Path("docs/reruns.md")
#: files with a smaller share are only counted
SMALL = 0.0005


def files_of(rule: str, place: tuple[str, ...], experiments: Mapping[str, Any]) -> set[Path]:
    """Files whose code a job runs: its script's, and what the workflow's `code` adds to it."""
    script = SCRIPTS / f"{SCRIPT_OF.get(rule, rule)}.py"
    if script.stem != "render_notebook":
        return set(sources(script, *_entries(script.stem, place, experiments)))
    (notebook,) = {e["notebook"] for e in experiments.values() if e["table"] == place[-1]}
    return {*sources(script), *sources(NOTEBOOKS / f"{notebook}.ipynb")}


def _entries(script: str, place: tuple[str, ...], experiments: Mapping[str, Any]) -> list[str]:
    """Entry points that a job loads by name."""
    if script == "fetch_raw":
        return [RAW[place[-1]]]
    if script not in BY_NAME:
        return []
    experiment = experiments[place[0]]
    setting = experiment["settings"][setting_in(place[1])]
    if script == "generate_data":
        data_set = DATA_SETS[setting["data"]["generator"]]
        return [data_set.entry, *([RAW[data_set.raw]] if data_set.raw else [])]
    if script == "score":
        truths = DATA_SETS[setting["data"]["generator"]].truths
        return [truths] if truths else []
    method, methods = METHODS.get(place[-1]), setting["methods"]
    network = [m] if (m := experiment["network"]["module"]) else []
    told = methods["kerhrm"]
    if method and not method.choice and method.reads == "whole":
        told = methods[method.section]
    penalty = [PENALTIES[told["invariance"]["penalty"]]]
    if method and script == "train_method":
        learns = [] if method.reads == "points" else penalty
        return [*method.entries, *learns, *(network if method.reads != "features" else [])]
    return penalty if script == "learn_direction" else network


def shares(jobs: Iterable[tuple[set[Path], float]], package: Path = PACKAGE) -> str:
    """Files of a package by the share of the jobs' (files, seconds) that run them, as Markdown."""
    jobs = list(jobs)
    total = sum(seconds for _, seconds in jobs)
    found = []
    for path in package.rglob("*.py"):
        own = [seconds for files, seconds in jobs if path in files]
        found.append((sum(own) / total, path.relative_to(package).as_posix(), len(own)))
    large = sorted((row for row in found if row[0] >= SMALL), reverse=True)
    table = [(file, str(n), f"{100 * share:.1f} %") for share, file, n in large]
    small = len(found) - len(large)
    table.append((f"{small} others", "", f"< {100 * SMALL:g} % each"))
    frame = pd.DataFrame(table, columns=["file", "jobs", "share"])
    return frame.to_markdown(index=False, disable_numparse=True)


def main() -> None:
    run = Path(sys.argv[1])
    try:
        experiments = read(run / "config.yaml").content["experiments"]
        jobs = of_run(read_benchmarks(run / "benchmarks"), experiments)
        places = zip(jobs["rule"], jobs["place"], strict=True)
        files = [files_of(rule, place, experiments) for rule, place in places]
    except KerhrmError as error:
        sys.exit(f"error: {error}")
    write_text(PAGE, f"{HEAD}\n{shares(zip(files, jobs['seconds'], strict=True))}\n")


if __name__ == "__main__":
    main()
