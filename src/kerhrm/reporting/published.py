"""What the committed tables say, for pages that are written from them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import stats

from kerhrm.claims.claim import COLUMNS
from kerhrm.claims.page import read_claims
from kerhrm.config.files import read
from kerhrm.costs.benchmarks import Cost, Key, published
from kerhrm.costs.reference import FILE, VERSIONS
from kerhrm.methods.registry import is_headline, position, row_titled
from kerhrm.reporting.readme import COMPARISONS
from kerhrm.reporting.tables import MARKS, base_setting, has_key, read_table, results_of
from kerhrm.scoring.statistics import LEVEL, holm
from kerhrm.scoring.verdicts import CRITERIA, JUDGED

ABSENT = "not in this run"
#: folders of the reference that hold no table of their own
OTHERS = (
    "figures", "claims", "development", "notebooks", "scores", "choices", "restarts", "ambiguities",
)  # fmt: skip


class Cell(float):
    """Mean over seeds, NaN of a cell that there is none of; its text has deviation and seeds."""

    row: Mapping[str, Any]

    def __new__(cls, row: Mapping[str, Any] | None) -> Self:
        """A row of a table, or None."""
        cell = super().__new__(cls, row["mean"] if row else np.nan)
        cell.row = row or dict.fromkeys(("std", "n_seeds", "ci_low", "ci_high", "paper"), np.nan)
        return cell

    def __str__(self) -> str:
        if not np.isfinite(self):
            return "failed" if self.row.get("verdict") == "failed" else ABSENT
        if not self.row["std"] > 0:
            return f"{float(self):.3f}"
        return f"{float(self):.3f} ± {self.row['std']:.3f} (n = {self.row['n_seeds']})"


@dataclass(frozen=True)
class Published:
    """Tables, comparisons and claims of ``results/reference``."""

    #: of all tables, those of studies too; column ``own``: chosen by the method's own rule
    cells: pd.DataFrame
    pairs: pd.DataFrame  #: of methods, by table
    claims: pd.DataFrame
    config: Mapping[str, Any]
    versions: Mapping[str, Any]
    jobs: Mapping[Key, Cost]  #: of the run

    def metric(self, table: str) -> str:
        """The first metric of a table that is a result."""
        return results_of(self.cells[self.cells["table"] == table])[0]

    def own(self, table: str, method: str | None = None, rule: str | None = None) -> pd.DataFrame:
        """Cells of a table in its result, of one method or all, chosen by a rule or each's own."""
        cells = self.cells[self.cells["table"] == table]
        if cells.empty:
            return cells
        cells = cells[cells["metric"] == self.metric(table)]
        cells = cells[cells["own"]] if rule is None else cells[cells["selection"] == rule]
        return cells if method is None else cells[cells["method"] == method]

    def has(self, table: str, *methods: str) -> bool:
        """Whether there is the table, with all these methods."""
        return len(self.own(table)) > 0 and all(len(self.own(table, m)) for m in methods)

    def cell(
        self, table: str, setting: str, method: str, metric: str = "", rule: str | None = None
    ) -> Cell:
        """One cell; by default of the table's result, and of the method's own rule."""
        cells = self.cells[
            (self.cells["table"] == table)
            & (self.cells["setting"] == setting)
            & (self.cells["method"] == method)
            & (self.cells["metric"] == (metric or (self.metric(table) if self.has(table) else "")))
        ]
        cells = cells[cells["own"]] if rule is None else cells[cells["selection"] == rule]
        return Cell(cells.to_dict("records")[0] if len(cells) else None)

    def settings(self, table: str) -> list[str]:
        """Those that the paper has; if it prints nothing, those that lack a mark."""
        own = self.own(table)
        judged = own[own["verdict"].isin(JUDGED)]
        if len(judged):
            marked = [has_key(s, MARKS) for s in judged["setting"]]
            return list(dict.fromkeys(judged.loc[np.logical_not(marked), "setting"]))
        return [s for s in dict.fromkeys(own["setting"]) if "," not in s]

    def course(self, table: str, method: str, metric: str) -> list[Cell]:
        """A method's cells of one metric, chosen by its own rule, in the table's order."""
        cells = self.cells[self.cells["own"] & (self.cells["metric"] == metric)]
        chosen = (cells["table"] == table) & (cells["method"] == method)
        return [Cell(c) for c in cells[chosen].to_dict("records")]

    def variants(self, table: str) -> dict[str, list[str]]:
        """Settings by what stands behind their first key, "" first."""
        found: dict[str, list[str]] = {}
        for setting in dict.fromkeys(self.own(table)["setting"]):
            found.setdefault(setting.partition(",")[2], []).append(setting)
        return found

    def row(
        self,
        table: str,
        method: str,
        settings: Sequence[str] | None = None,
        rule: str | None = None,
    ) -> list[Cell]:
        """A method's cells in these settings, by default those of :meth:`settings`."""
        chosen = self.settings(table) if settings is None else settings
        cells = self.own(table, method, rule)
        return [Cell(c) for c in cells[cells["setting"].isin(chosen)].to_dict("records")]

    def rows(self, table: str) -> list[str]:
        """Methods with a cell in :meth:`settings`, in the order of the tables."""
        own = self.own(table)
        found = set(own.loc[own["setting"].isin(self.settings(table)), "method"])
        return sorted(found, key=position)

    def best(self, table: str) -> dict[str, str]:
        """By setting the method with the best mean that is neither KerHRM nor a yardstick."""
        merit = CRITERIA[self.metric(table)].merit if self.has(table) else None
        found = {}
        for setting in self.settings(table) if merit else ():
            own = self.own(table)
            own = own[(own["setting"] == setting) & own["mean"].notna()]
            others = [
                row_titled(m).track == "described" and not m.startswith("KerHRM")
                for m in own["method"]
            ]
            merits = own.loc[others].set_index("method")["mean"].map(merit)
            if len(merits):
                found[setting] = str(merits.idxmax())
        return found

    def outcomes(
        self, table: str, method: str, baseline: str, settings: Sequence[str] | None = None
    ) -> Counter[str]:
        """Outcomes of the comparisons over the same seeds, as the tables have them."""
        chosen = self.settings(table) if settings is None else settings
        pairs = self.pairs[
            (self.pairs["table"] == table)
            & (self.pairs["method"] == method)
            & (self.pairs["baseline"] == baseline)
            & self.pairs["setting"].isin(chosen)
        ]
        return Counter(pairs["outcome"])

    def welch(self, table: str, method: str, other: str) -> Counter[str]:
        """The same for rows that the tables do not compare, whose seeds are not paired.

        By Welch's t test at 5 % after Holm's correction over the settings; conservative, as seeds
        share data.
        """
        own = {str(c.row["setting"]): c.row for c in self.row(table, method)}
        others = {str(c.row["setting"]): c.row for c in self.row(table, other)}
        both = [(own[s], others[s]) for s in own if s in others]
        p = holm([
            stats.ttest_ind_from_stats(
                a["mean"], a["std"], a["n_seeds"], b["mean"], b["std"], b["n_seeds"],
                equal_var=False,
            ).pvalue
            for a, b in both
        ])  # fmt: skip
        words = {"good": "better", "bad": "worse", "": "undecided"}
        criterion = CRITERIA[self.metric(table)]
        return Counter(
            words[criterion.direction(a["mean"], b["mean"])] if sure <= LEVEL else "undecided"
            for (a, b), sure in zip(both, p, strict=True)
        )

    def printed(self, table: str) -> pd.Series:
        """The paper's numbers of a table's result, each once; index: setting and method."""
        own = self.own(table).dropna(subset="paper")
        own = own[own["track"] != "reference"]
        own = own.assign(
            setting=own["setting"].map(base_setting),
            method=own["method"].str.replace(r" \(.*", "", regex=True),
        )
        return own.drop_duplicates(["setting", "method"]).set_index(["setting", "method"])["paper"]

    def claim(self, number: int) -> Mapping[str, Any]:
        """A checked statement; all of its texts say so if it was not."""
        found = self.claims[self.claims["claim"] == number].to_dict("records")
        return found[0] if found else dict.fromkeys(self.claims.columns, ABSENT)


def load(reference: Path) -> Published:
    """The committed results in a folder; what is missing is empty."""
    folders = sorted(p for p in reference.iterdir() if p.is_dir() and p.name not in OTHERS)
    files = sorted(p for folder in folders for p in folder.glob("*.csv"))
    return gathered(
        [p for p in files if p.parent.name in ("tables", p.stem.removesuffix(COMPARISONS))],
        reference / "claims" / "claims.csv",
        config=read(reference / "config.yaml").content,
        versions=json.loads((reference / VERSIONS).read_text(encoding="utf-8")),
        jobs=published(reference / FILE),
    )


def gathered(files: Sequence[Path], claims: Path, **others: Any) -> Published:
    """What files of tables and of comparisons say, and that of claims if there is one.

    ``others`` are the fields of :class:`Published` that are not read from them.
    """
    pairs = [p for p in files if p.stem.endswith(COMPARISONS)]
    named = [pd.read_csv(p).assign(table=p.stem.removesuffix(COMPARISONS)) for p in pairs]
    empty = pd.DataFrame(columns=["table", "method", "baseline", "setting", "outcome"])
    cells = read_table(*(p for p in files if p not in pairs))
    return Published(
        cells=cells.assign(own=list(map(is_headline, cells["method"], cells["selection"]))),
        pairs=pd.concat([empty, *named], ignore_index=True),
        claims=read_claims(claims) if claims.exists() else pd.DataFrame(columns=COLUMNS),
        **others,
    )
