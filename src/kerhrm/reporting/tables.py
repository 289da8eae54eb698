"""The paper's tables, as CSV, Markdown and LaTeX."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.statistics import summarise

COLUMNS = [
    "table", "setting", "method", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high",
    "paper", "data_source", "selection",
]  # fmt: skip
METRIC_NAMES = {
    "train_acc": "train",
    "test_acc": "test",
    "mean_error": "mean error",
    "std_error": "std error",
}
MISSING = "\u2013"  # en dash
#: each method's own rule: KerHRM's, and the paper's for methods without environments
HEADLINE = ("worst learned environment", "pooled validation")
#: a rule that picks on test data: shown last, and never a result
BOUND = "oracle"
#: what LaTeX would misread in running text; asterisks are Markdown's
LATEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "*": ""}
)
NOTE = (
    "Cells: mean ± standard deviation over {seeds} seeds (ddof = 1); in brackets the paper's "
    "value. "
    "Rows marked *oracle* pick hyper-parameters on the test set: a bound, not a result."
)


def build_table(
    scores: pd.DataFrame, table: str, preset: str, paper: PaperValues, resamples: int
) -> pd.DataFrame:
    """Summarise per-seed scores.

    Parameters
    ----------
    scores : DataFrame
        Rows of :mod:`kerhrm.reporting.scores`.
    table : str
        ``table1``, ...
    preset : str
    paper : PaperValues
        Compared with at preset ``paper`` alone, and never with a stand-in's numbers.
    resamples : int
        Of the bootstrap interval.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; rows in the order in which settings, methods and metrics
        first appear.
    """
    keys = ["setting", "method", "metric", "data_source", "selection"]
    rows = []
    for values, group in scores.groupby(keys, sort=False):
        setting, method, metric, source, selection = values
        comparable = preset == "paper" and not is_stand_in(source)
        rows.append(
            {"table": table, "setting": setting, "method": method, "metric": metric}
            | summarise(group["value"].to_numpy(), resamples)
            | {
                "n_seeds": len(group),
                "paper": paper.lookup(table, base_setting(setting), method, metric)
                if comparable
                else None,
                "data_source": source,
                "selection": selection,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def is_stand_in(source: str) -> bool:
    """Whether a data source is a replacement for one that could not be reached."""
    return source.startswith("stand-in:")


def base_setting(setting: str) -> str:
    """The paper's setting behind a marked one: ``cmnist,k=extended`` is ``cmnist``."""
    return setting.removesuffix(",k=extended")


def title(name: str, preset: str, sources: Iterable[str]) -> str:
    """A title that says which preset made the numbers, and names stand-ins."""
    suffix = "" if preset == "paper" else f" [preset {preset}: not for comparison]"
    stand_ins = sorted({s for s in sources if is_stand_in(s)})
    return name + suffix + "".join(f" [{s}, not the real data]" for s in stand_ins)


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """Methods as rows, settings and metrics as columns, cells as text."""
    frame = table.assign(
        row=[_row_name(m, s) for m, s in zip(table["method"], table["selection"], strict=True)],
        column=[
            (s, METRIC_NAMES.get(m, m))
            for s, m in zip(table["setting"], table["metric"], strict=True)
        ],
        cell=[_cell(r) for r in table.to_dict("records")],
    )
    rows = list(dict.fromkeys(frame["row"]))
    rows.sort(key=lambda name: BOUND in name)  # bounds last; the sort is stable
    columns = list(dict.fromkeys(frame["column"]))
    wide = frame.pivot(index="row", columns="column", values="cell").reindex(rows).fillna(MISSING)
    wide = wide[columns]
    wide.columns = pd.MultiIndex.from_tuples(columns)
    wide.index.name = None
    return wide


def to_markdown(table: pd.DataFrame, heading: str) -> str:
    """A Markdown section: title, table, note."""
    wide = layout(table)
    wide.columns = [f"{setting} {metric}" for setting, metric in wide.columns]
    note = NOTE.format(seeds=_seed_counts(table))
    return f"### {heading}\n\n{wide.to_markdown()}\n\n{note}\n"


def to_latex(table: pd.DataFrame, heading: str) -> str:
    """A booktabs table environment."""
    wide = layout(table).replace({"±": r"$\\pm$", "\u2013": "--"}, regex=True)
    body = wide.style.format(escape=None)
    body = body.format_index(escape="latex", axis=0).format_index(escape="latex", axis=1)
    caption = _escape(heading) + ". " + _escape(NOTE.format(seeds=_seed_counts(table)))
    return body.to_latex(
        hrules=True,
        caption=caption,
        label=f"tab:{table['table'].iloc[0]}",
        column_format="l" + "r" * wide.shape[1],
        multicol_align="c",
        position="t",
    )


def is_headline(method: str, selection: str) -> bool:
    """Whether a row was chosen by the method's own rule."""
    own = HEADLINE[0] if method.startswith("KerHRM") else HEADLINE[1]
    return selection == own


def _row_name(method: str, selection: str) -> str:
    return method if is_headline(method, selection) else f"{method}, {selection}"


def _cell(row: Mapping[Any, Any]) -> str:
    text = f"{row['mean']:.3f} ± {row['std']:.3f}"
    return text if pd.isna(row["paper"]) else f"{text} ({row['paper']:.3f})"


def _seed_counts(table: pd.DataFrame) -> str:
    return " or ".join(str(n) for n in sorted(set(table["n_seeds"])))


def _escape(text: str) -> str:
    return text.translate(LATEX)
