"""``kerhrm compete``: from a file with a method to its ranks.

The method's file is copied to ``results/compete/NAME/site``, with an entry point, so
that Snakemake finds the method as that of an installed package.  Two files of
configuration make the search and the tables; what is new of a second start runs again.
"""

import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import write_text
from kerhrm.plugins import PLACES
from kerhrm_paper.compete import template
from kerhrm_paper.compete.candidates import candidates_table
from kerhrm_paper.compete.configuration import Shipped
from kerhrm_paper.compete.limits import TIMEOUT
from kerhrm_paper.compete.method_file import check_python, load_method
from kerhrm_paper.compete.outcome import REFERENCE, Outcome
from kerhrm_paper.compete.page import ranking_page
from kerhrm_paper.compete.published import published_scores
from kerhrm_paper.compete.results import Results, sentences
from kerhrm_paper.compete.searched import (
    all_failed,
    at_edges,
    counted,
    has_failed,
    reasons,
)
from kerhrm_paper.config.strict_yaml import dump, read_yaml
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import costs
from kerhrm_paper.runs.arrays import reading
from kerhrm_paper.runs.limited import TIMED_OUT
from kerhrm_paper.runs.locks import SNAKEMAKE, TEMPORARY, acquire, holder

FOLDER = Path("results/compete")
LOCK = "contest.lock"  #: of the contest that is at work, in a method's folder


def write_template(path: Path) -> None:
    """Write a method that runs as it is; refuse a file that is there."""
    if os.path.lexists(path):
        raise FileError(f"{path} exists already", "name another file")
    check_python(path)
    source = Path(template.__file__)
    write_text(path, source.read_text("utf-8"))


class Contest:
    """A method among the published ones.

    Parameters
    ----------
    file : Path
        With the method.
    tables : sequence of str
        That it enters; all that it can, if there are none.
    preset : str
        smoke, paper or fresh.
    minutes : float
        Of a fit, at most.
    cores : int
        That run at once.
    """

    def __init__(
        self,
        file: Path,
        tables: Sequence[str],
        *,
        preset: str,
        minutes: float,
        cores: int,
    ) -> None:
        is_checkout = any(Path(name).is_file() for name in costs.SNAKEFILES)
        if not is_checkout:
            problem = f"{Path.cwd()} is not a checkout of the workflow"
            raise KerhrmError(problem, "cd to the checkout, and run the command there")
        if not 0 < minutes < float("inf"):
            problem = f"--timeout must be a positive number of minutes; got {minutes}"
            raise KerhrmError(problem, f"the default is {TIMEOUT:g}")
        if cores < 1:
            raise KerhrmError(
                f"--cores must be at least 1; got {cores}", "use --cores 1"
            )
        shipped = Shipped(preset)
        learners = shipped.whole.learners
        self.method = load_method(file, learners, shipped.titles)
        self.shipped = shipped
        self.preset = preset
        self.minutes = minutes
        self.cores = cores
        self.names = shipped.tables_of(self.method, tables)
        if not self.names:
            problem = f"{self.method.name} can enter no table"
            raise KerhrmError(problem, "correct its tasks")
        every = shipped.tables_of(self.method, [])
        self.others = [name for name in every if name not in self.names]
        self.folder = FOLDER / self.method.name
        self.run = Run(self.folder / preset)
        #: what a reader has to know of the search
        self.notices: list[str] = []
        #: why some candidates have no score, by data set
        self.failed_candidates: list[str] = []

    def hold(self) -> Results:
        """Search, make the tables, and write ``ranks.csv`` and the page.

        Raises KerhrmError if Snakemake fails; the same command continues then.
        """
        path = self.folder / LOCK
        lock = acquire(path)
        if lock is None:
            raise _at_work(f"kerhrm compete is at work in {self.folder}", holder(path))
        try:
            return self._hold()
        finally:
            lock.release()

    def _hold(self) -> Results:
        self._check_alone()
        self.method.claim(self.folder)
        self.method.install(self.folder / "site")
        published: dict[str, Path] = {}
        unpublished: dict[str, str] = {}
        if self.preset != "smoke":
            every = [*self.names, *self.others]
            found = published_scores(self.preset, every, REFERENCE)
            published, unpublished = found
        selected, candidates = self._search()
        layer = self.shipped.tables(
            self.method,
            self.names,
            self.minutes,
            selected=selected,
            published=published,
            others=self.others,
        )
        print(f"tables: {', '.join(self.names)}", flush=True)
        for name in self.names:
            if reason := unpublished.get(name):
                print(f"{name}: {reason}; all methods are trained", flush=True)
        published = {name: published[name] for name in self.names if name in published}
        file = f"{self.preset}.yaml"
        self._snakemake(self.names, layer, file, self.preset, self.folder)
        outcome = Outcome(
            method=self.method,
            shipped=self.shipped,
            preset=self.preset,
            minutes=self.minutes,
            names=self.names,
            run=self.run,
        )
        results = outcome.results(candidates, published, self.notices)
        results = replace(results, failed_candidates=self.failed_candidates)
        table = results.ranks
        text = table.to_csv(index=False, float_format="%.6g")
        write_text(self.run.folder / "ranks.csv", text)
        write_text(self.page, ranking_page(results))
        return results

    @property
    def page(self) -> Path:
        """File of the page."""
        return self.run.folder / "ranks.html"

    def _check_alone(self) -> None:
        """Refuse to start while jobs of the method run, at any preset: they would go
        on with the file as it is now, and be recorded as those of the earlier one."""
        lock = f"{TEMPORARY}/{SNAKEMAKE}"
        for pattern in (f"*/{lock}", f"search/*/{lock}"):
            for path in self.folder.glob(pattern):
                if who := holder(path):
                    run = path.parents[1]
                    raise _at_work(f"Snakemake is at work in {run}", who)

    # --- steps -----------------------------------------------------------------------

    def _search(self) -> tuple[dict[str, Any], pd.DataFrame]:
        """What is selected by data set and criterion, and the candidates' scores.

        Raises KerhrmError if all candidates failed on all data.
        """
        if len(self.method.candidates) < 2:
            return {}, pd.DataFrame()
        preset = "smoke" if self.preset == "smoke" else "tuning"
        shipped = Shipped(preset)
        layer = shipped.search(self.method, self.names, self.minutes)
        n_tried = len(self.method.candidates)
        names = []
        for table in _made(layer["tables"]):
            name = table.removeprefix("search-")
            names.append(name)
        tables = ", ".join(names)
        print(f"search: {n_tried} candidates on {tables}", flush=True)
        folder = self.folder / "search"
        file = f"search-{preset}.yaml"
        self._snakemake(["select"], layer, file, preset, folder)
        selected = {}
        scores = {}
        for name in names:
            stem = folder / preset / "selected" / name
            path = stem.with_suffix(".yaml")
            with reading(path):
                by_method = read_yaml(path)
                selected[name] = by_method[self.method.name]
                of_candidates = stem.with_suffix(".csv")
                scores[name] = pd.read_csv(of_candidates)
        tried_on = {name: layer["tables"][f"search-{name}"]["data"] for name in names}
        self._judge(folder / preset, scores, tried_on)
        return selected, candidates_table(scores)

    def _judge(
        self,
        run: Path,
        scores: Mapping[str, pd.DataFrame],
        tried_on: Mapping[str, Collection[str]],
    ) -> None:
        """Note and print where candidates of a search failed, or where the best one is
        at an edge.

        Raises KerhrmError if all failed on all data.
        """
        data_of: dict[str, list[str]] = {}  # where all have failed, by the reasons
        in_part = []
        edges = []
        has_timed_out = False
        for name, of_data in scores.items():
            edges += [f"{text}." for text in at_edges(name, of_data)]
            failed = of_data.loc[has_failed(of_data), "learner"]
            why = reasons(run, tried_on[name], failed)
            if all_failed(of_data):
                data_of.setdefault(counted(why), []).append(name)
                late = [reason.startswith(TIMED_OUT) for reason in why.values()]
                has_timed_out |= any(late)
            elif why:
                number = f"{len(why)} of {len(of_data)} candidates failed"
                in_part.append(f"{name}: {number}: {counted(why)}.")
        n_tried = max(map(len, scores.values()))
        every = "both" if n_tried == 2 else f"all {n_tried}"
        texts = []
        for reason, names in data_of.items():
            texts.append(f"{every} candidates failed on {', '.join(names)}: {reason}")
        if sum(map(len, data_of.values())) == len(scores):
            hint = f"correct {self.method.path}"
            if has_timed_out:
                hint += ", or raise --timeout"
            raise KerhrmError("; ".join(texts), hint)
        untuned = [f"{text}; its tables have the first candidate." for text in texts]
        self.notices = untuned + edges
        self.failed_candidates = in_part
        for text in untuned + in_part + edges:
            print(f"search: {text}", flush=True)

    def _snakemake(
        self,
        targets: Sequence[str],
        layer: Mapping[str, Any],
        name: str,
        preset: str,
        results: Path,
    ) -> None:
        """Run Snakemake with a further file of configuration."""
        file = self.folder / name
        text = dump(layer, default_flow_style=None)
        write_text(file, text)
        # without -P a random.py in this folder would hide Python's
        command = [sys.executable, "-P", "-m", "snakemake", *targets]
        command += ["--cores", str(self.cores)]
        command += ["--config", f"preset={preset}", f"results={results}"]
        command += ["--configfile", str(file)]
        environment = self._environment()
        done = subprocess.run(command, env=environment)
        if done.returncode:
            problem = f"Snakemake ended with status {done.returncode}"
            hint = "see the lines above; the same command continues"
            raise KerhrmError(problem, hint)

    def _environment(self) -> dict[str, str]:
        """Variables with which Python finds the method, among what it found before."""
        site = self.folder / "site"
        site = site.resolve()
        environment = dict(os.environ)
        for name in ("PYTHONPATH", PLACES):
            places = environment.get(name)
            if name == "PYTHONPATH" or places is not None:
                both = [str(site), places]
                every_place = filter(None, both)
                environment[name] = os.pathsep.join(every_place)
        return environment


def _at_work(what: str, who: str | None) -> KerhrmError:
    """Error of a contest whose method another process works on."""
    problem = f"{what} ({who or 'another process'})"
    hint = "wait until it has ended, or stop it, or rename the method"
    return KerhrmError(problem, hint)


def _made(tables: Mapping[str, Any]) -> list[str]:
    """Tables that are not left out."""
    return [name for name, table in tables.items() if table is not None]


def compete(contest: Contest) -> str:
    """Hold a contest; return what a terminal shows of it."""
    results = contest.hold()
    lines = sentences(results)
    lines.append(f"open {contest.page}")
    return "\n".join(lines)
