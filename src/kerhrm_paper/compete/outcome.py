"""What a contest has found, as its page shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.compete.configuration import Shipped
from kerhrm_paper.compete.method_file import MethodFile
from kerhrm_paper.compete.published import published_fits
from kerhrm_paper.compete.ranks import (
    Fits,
    failures,
    ranks,
    seconds_a_fit,
    shared,
    unranked,
)
from kerhrm_paper.compete.results import Results
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.mark import FULL
from kerhrm_paper.config.views import Cell
from kerhrm_paper.evaluation.comparisons import PROPOSED
from kerhrm_paper.reporting.figures import save
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.seed_figure import every_seed
from kerhrm_paper.runs import costs, provenance

REFERENCE = Path("results/reference")
MANY = 10  #: settings, too many for a figure with a panel each


@dataclass(frozen=True)
class Outcome:
    """The tables of a contest.

    Attributes
    ----------
    method : MethodFile
        The user's.
    shipped : Shipped
        Configuration of the preset, without it.
    preset : str
        smoke, paper or fresh.
    minutes : float
        Of a fit, at most.
    names : list of str
        Tables that the method has entered.
    run : Run
        Their folder.
    """

    method: MethodFile
    shipped: Shipped
    preset: str
    minutes: float
    names: list[str]
    run: Run

    def results(
        self,
        candidates: pd.DataFrame,
        published: Mapping[str, Path],
        of_search: Sequence[str],
    ) -> Results:
        """What the page shows.

        Parameters
        ----------
        candidates : DataFrame
            Scores of the method's candidates.
        published : mapping of str to Path
            Scores of the other methods, by table.
        of_search : sequence of str
            What a reader has to know of the search.
        """
        titles = list(self.method.titles.values())
        seconds = self._costs(published)
        kinds = self._kinds()
        found = ranks(self.run, kinds, titles, seconds, 60 * self.minutes)
        comparisons = []
        for name in self.names:
            frame = self.run.comparisons(name)
            is_own = frame["baseline"].isin(titles)
            methods = frame["method"]
            is_with_proposed = methods.isin(PROPOSED[:1])
            of_table = frame[is_own & is_with_proposed]
            of_table = of_table.assign(table=name)
            comparisons.append(of_table)
        compared = pd.concat(comparisons, ignore_index=True)
        columns = ["table", "metric", "baseline", "n_seeds", "difference", "ci_low"]
        compared = compared[[*columns, "ci_high", "p_holm", "outcome"]]
        notices = [*of_search]
        cells = self.run.cells(*self.names)
        if mark := self.run.mark(cells):
            notices.append(f"These are no findings: {mark}.")
        if published:
            tables = ", ".join(published)
            text = f"Scores of the other methods in {tables} are the "
            text += "published ones, and their seconds of that machine."
            notices.append(text)
        notices += self._notices(bool(len(candidates)))
        in_words = {name: self.run.title(name) for name in self.names}
        ranked = found["table"].unique()
        reasons = unranked(kinds, ranked)
        failed = {}
        for name in reasons:
            for title, reason in failures(self.run, name, titles).items():
                failed[name, title] = reason
        return Results(
            titles=titles,
            minutes=self.minutes,
            ranks=found,
            tables=in_words,
            comparisons=compared,
            candidates=candidates,
            notices=notices,
            figures=self.figures(ranked),
            unranked=reasons,
            failures=failed,
            missing=self._missing(),
            caution=self._caution(),
        )

    def _caution(self) -> str:
        """What has to be read before the ranks of a preset that is not of the published
        sizes."""
        if self.preset in FULL:
            return ""
        title = self.method.title
        return (
            f"Ranks at {self.preset} sizes say nothing, not even the order: the other "
            f"methods train a few steps there, and {title} as many as it asks for. "
            "--preset fresh ranks."
        )

    def _notices(self, is_searched: bool) -> Iterator[str]:
        """What a reader has to know of the preset, and of the page."""
        if is_searched and self.preset == "smoke":
            yield (
                f"Only candidates of {self.method.title} were tried at smoke sizes. "
                "The others keep what the search at full size selected for them, with "
                "the few steps of the preset."
            )
        others = [name for name in self.run.tables if name not in self.names]
        if others:
            names = ", ".join(others)
            yield f"The tables {names} of earlier commands are in the folder tables."

    def _missing(self) -> dict[str, list[str]]:
        """Methods of the preset fresh that this one leaves out, by table."""
        fresh = Shipped("fresh")
        missing = {}
        for name in self.names:
            here = self.shipped.methods(name)
            there = fresh.methods(name)
            missing[name] = [title for title in there if title not in here]
        return missing

    def figures(self, names: Iterable[str]) -> dict[str, Path]:
        """Every seed behind the ranks of some tables; a table's own figure may show
        other methods, and other settings."""
        paths = {}
        titles = list(self.method.titles.values())
        for name in names:
            scores = shared(self.run.scores(name), titles)
            settings = set(scores["setting"])
            if len(settings) >= MANY:
                continue
            cells = self.run.cells(name)
            is_ranked = cells["setting"].isin(settings)
            cells = cells[is_ranked]
            title = self.run.title(name)
            figure = every_seed(scores, cells, title, marked=titles)
            stem = self.run.folder / "figures" / f"{name}-methods"
            save(figure, stem)
            paths[name] = stem.with_suffix(".png")
        return paths

    def _kinds(self) -> dict[str, str]:
        """Kinds of the tables, by name."""
        tables = self.shipped.whole.tables
        return {name: tables[name].kind or "" for name in self.names}

    def _costs(self, published: Mapping[str, Path]) -> dict[Cell, float]:
        """Seconds of a fit by data and learner, of this run and of what is
        published."""
        found: dict[Cell, float] = {}
        if published:
            found |= self._published_costs()
        fits = []
        # of earlier contests, too: the tables may share jobs
        files = self.run.folder.glob("scores/*.csv.gz")
        for path in sorted(files):
            record = provenance.read(self.run.folder, f"scores/{path.name}")
            if not record:
                continue
            params = record["params"]
            for row in params["table"]["rows"]:
                data = row["data"]
                learner = row["learner"]
                number = params["n_seeds"][f"{data}/{learner}"]
                fits_of_row = Fits(data, learner, row["trained"], number)
                fits.append(fits_of_row)
        measured = costs.measured(self.run.folder)
        return found | seconds_a_fit(measured, fits)

    def _published_costs(self) -> dict[Cell, float]:
        """Seconds of a fit of the other learners; none if the configuration is
        refused."""
        try:
            config = load_config({"preset": self.preset})
        except KerhrmError:
            return {}
        fits = published_fits(config, Run(REFERENCE), self.preset)
        measured = costs.stored(REFERENCE / costs.FILE)
        return seconds_a_fit(measured, fits)
