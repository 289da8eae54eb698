"""Sections of the README that the build measures and writes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kerhrm.arrays import write_text
from kerhrm.errors import KerhrmError
from kerhrm.reporting.tables import is_stand_in

COMPUTED = re.compile(r" (?P<rule>\w+): computed in (?P<seconds>[0-9.]+) s")
#: the metric of each task that rules are compared by
COMPARED = {"test_acc": "test accuracy", "mean_error": "mean error"}
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
    tables, cells : paths of the tables as Markdown and as CSV
    restarts : paths of the restart reports, one per experiment
    logs : folder with the rules' logs, from which the times are read
    """
    headings = "\n".join(Path(path).read_text(encoding="utf-8") for path in tables)
    all_cells = pd.concat([pd.read_csv(path) for path in cells])
    return {
        "tables": headings,
        "selection": selection_cost(all_cells),
        "restarts": restart_counts({Path(p).stem: pd.read_csv(p) for p in restarts}),
        "times": compute_times(Path(logs)),
    }


def selection_cost(cells: pd.DataFrame) -> str:
    """Test result of the rule, the paper's rule and the oracle, side by side."""
    compared = cells["metric"].isin(COMPARED)
    test = cells[compared & cells["method"].str.startswith("KerHRM (")]
    test = test.assign(setting=test["setting"] + ", " + test["metric"].map(COMPARED))
    wide = test.pivot(index=["setting", "method"], columns="selection", values="mean")
    first_seen = list(dict.fromkeys(zip(test["setting"], test["method"], strict=True)))
    rules = ["worst learned environment", "pooled validation", "oracle"]
    wide = wide.loc[first_seen, rules].reset_index()
    return wide.to_markdown(index=False, floatfmt=".3f") + "\n"


def restart_counts(reports: Mapping[str, pd.DataFrame]) -> str:
    """How many starts of each kind, by experiment and setting."""
    frames = [r.assign(experiment=name) for name, r in reports.items()]
    everything = pd.concat(frames)
    counts = everything.groupby(["experiment", "setting", "iteration"], sort=False).agg(
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
    order = [*NTF_CHAIN[:-1], "train_network", "train_erm", "score"]
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
