"""Sections of the README that the build measures and writes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kerhrm.arrays import write_text
from kerhrm.errors import KerhrmError
from kerhrm.reporting.layout import MISSING, SYMBOLS
from kerhrm.reporting.methods import ORACLE, is_headline
from kerhrm.reporting.tables import (
    METRIC_NAMES,
    headline,
    is_marked,
    is_stand_in,
    read_table,
)

COMPUTED = re.compile(r" (?P<rule>\w+): computed in (?P<seconds>[0-9.]+) s")
#: the metric of each task that rules are compared by
COMPARED = {
    "test_acc": "test accuracy",
    "mean_error": "mean error",
    "mse": "mean squared error",
}
#: what the README shows; figures stand in the notebooks
TABLE = re.compile(r"table\d+")
#: the rules between raw data and the scores of KerHRM (NTF)
NTF_CHAIN = (
    "generate_data", "extract_ntf", "reduce_ntf", "cluster", "learn_invariant", "predict_ntf",
    "score",
)  # fmt: skip


def sections(
    tables: Sequence[str | Path],
    cells: Sequence[str | Path],
    restarts: Sequence[str | Path],
    logs: str | Path,
) -> dict[str, str]:
    """Markdown by the name of the section.

    Parameters
    ----------
    tables, cells : paths of the tables as Markdown and as CSV; figures are passed over
    restarts : paths of the restart reports, one per experiment
    logs : folder with the rules' logs, from which the times are read
    """
    shown = [Path(path) for path in tables if TABLE.fullmatch(Path(path).stem)]
    all_cells = read_table(*(path for path in cells if TABLE.fullmatch(Path(path).stem)))
    return {
        "tables": "\n\n".join(first_metric(path) for path in shown) + "\n",
        "selection": selection_cost(all_cells, ["table", "method"]),
        "restarts": restart_counts(
            {Path(p).stem: pd.read_csv(p) for p in restarts}, ["experiment", "iteration"]
        ),
        "times": compute_times(Path(logs)),
    }


def first_metric(path: Path) -> str:
    """A table's page cut down to its first metric, with its legend and a link to the rest."""
    own, _, _ = path.read_text(encoding="utf-8").partition("<details>")
    heading, *blocks = re.split(r"\n\n(?=\*\*)", own.strip())
    legend = [part for part in blocks[-1].split("\n\n") if not part.startswith(("|", "**"))]
    table = [part for part in blocks[0].split("\n\n") if part.startswith(("|", "**"))]
    link = f"All metrics and selection rules: [{path.name}](results/reference/tables/{path.name})."
    return "\n\n".join([heading, *table, *legend, link])


def verdict_counts(cells: pd.DataFrame) -> str:
    """How many headline cells of each metric got which verdict."""
    judged = headline(cells)
    judged = judged[judged["verdict"] != ""]
    if judged.empty:
        return "The paper prints no number for these cells.\n"
    names = [METRIC_NAMES[m] for m in METRIC_NAMES if m in set(judged["metric"])]
    counts = pd.crosstab(judged["metric"].map(METRIC_NAMES), judged["verdict"])
    wide = counts.reindex(index=names, columns=[v for v in SYMBOLS if v in counts], fill_value=0)
    wide.columns = [f"{SYMBOLS[v]} {v}" for v in wide.columns]
    return wide.rename_axis("metric").reset_index().to_markdown(index=False) + "\n"


def selection_cost(cells: pd.DataFrame, by: Sequence[str] = ("setting", "method")) -> str:
    """Test result of each selection rule that chose among a method's candidates.

    Parameters
    ----------
    cells : DataFrame
        Cells of one or several tables.
    by : sequence of str
        Columns that name a row; settings that are not among them are averaged over.

    Returns
    -------
    str
        A Markdown table of the methods that more than one rule chose for, the method's own
        rule in bold and the oracle last.
    """
    test = cells[cells["metric"].isin(COMPARED)]
    if "setting" not in by:
        test = test[[not is_marked(setting) for setting in test["setting"]]]
    several = test.groupby(["table", "setting", "method", "metric"])["selection"].transform("size")
    test = test.assign(result=test["metric"].map(COMPARED))[several > 1]
    if test.empty:
        return "Every method was chosen by one rule alone.\n"
    keys = [*by, "result"]
    texts = []
    for (*key, rule), group in test.groupby([*keys, "selection"], sort=False):
        # a failed cell leaves no mean: that of the others would not be the method's
        mean = group["mean"].mean(skipna=False)
        text = "failed" if pd.isna(mean) else f"{mean:.3f}"
        own = is_headline(group["method"].iloc[0], rule)
        texts.append((*key, rule, f"**{text}**" if own else text))
    frame = pd.DataFrame(texts, columns=[*keys, "rule", "text"])
    wide = frame.pivot(index=keys, columns="rule", values="text").fillna(MISSING)
    wide = wide.reindex(pd.MultiIndex.from_frame(frame[keys].drop_duplicates()))
    wide = wide[sorted(wide.columns, key=lambda rule: (rule == ORACLE, rule))]
    return wide.reset_index().to_markdown(index=False, disable_numparse=True) + "\n"


def restart_counts(
    reports: Mapping[str, pd.DataFrame],
    by: Sequence[str] = ("experiment", "setting", "iteration"),
) -> str:
    """How many starts of each kind, by experiment, setting and iteration, or fewer of these."""
    frames = [r.assign(experiment=name) for name, r in reports.items()]
    everything = pd.concat(frames)
    counts = everything.groupby(list(by), sort=False).agg(
        starts=("n_starts", "sum"),
        label_splits=("n_label_split", "sum"),
        empty=("n_empty", "sum"),
        not_converged=("n_unconverged", "sum"),
        searches_without_a_usable_start=("usable", lambda usable: int((~usable).sum())),
    )
    counts.columns = [c.replace("_", " ") for c in counts.columns]
    return counts.reset_index().to_markdown(index=False) + "\n"


def compute_times(logs: Path) -> str:
    """Seconds inside the rules' code (imports and Snakemake not counted), from the logs."""
    rows = []
    for path in sorted(logs.glob("*/*/**/*.log")):
        experiment = path.relative_to(logs).parts[1]
        for match in COMPUTED.finditer(path.read_text(encoding="utf-8")):
            rows.append((experiment, match["rule"], float(match["seconds"])))
    times = pd.DataFrame(rows, columns=["experiment", "rule", "seconds"])
    wide = times.pivot_table(index="rule", columns="experiment", values="seconds", aggfunc="sum")
    others = sorted(set(wide.index) - set(NTF_CHAIN))
    order = [*NTF_CHAIN[:-1], *others, NTF_CHAIN[-1]]
    wide = wide.reindex([rule for rule in order if rule in wide.index]).fillna(0.0)
    chain = wide.loc[[rule for rule in NTF_CHAIN if rule in wide.index]].sum()
    wide.loc["all rules"] = wide.sum()
    wide.loc["from data to the scores of KerHRM (NTF)"] = chain
    return wide.to_markdown(floatfmt=".1f") + "\n"


def update(parts: Mapping[str, str], output: str | Path, readme: str | Path) -> None:
    """Write the sections to ``output`` and, unless data stand in, between the README's marks.

    The README marks a section by ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.

    Raises
    ------
    KerhrmError
        If a mark is missing.
    """
    text = Path(readme).read_text(encoding="utf-8")
    for name, content in parts.items():
        text = replace_section(text, name, content)
    write_text(output, "\n".join(parts.values()))
    if not is_stand_in_text(parts["tables"]):
        write_text(readme, text)


def is_stand_in_text(tables: str) -> bool:
    """Whether a table's title names a stand-in."""
    return any(is_stand_in(part) for part in re.findall(r"\[([^\]]+), not the real data\]", tables))


def replace_section(text: str, name: str, content: str) -> str:
    """``text`` with the section between the marks of ``name`` replaced."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise KerhrmError(f"the README has no section '{name}'", f"put {begin} and {end} into it")
    return f"{before}{begin}\n{content.rstrip()}\n{end}{after}"
