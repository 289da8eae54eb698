"""Cells without a result."""

from collections.abc import Iterable
from pathlib import Path

from kerhrm.reporting.tables import read_table


def failures(tables: Iterable[str | Path]) -> list[str]:
    """One line for every failed cell.

    Parameters
    ----------
    tables : paths
        CSV files of :func:`kerhrm.reporting.tables.build_table`.

    Returns
    -------
    list of str
        Table, setting, method with its selection rule, metric, and the reason.
    """
    cells = read_table(*tables)
    return [
        f"{c.table} | {c.setting} | {c.method}, {c.selection} | {c.metric}: {c.reason}"
        for c in cells[cells["verdict"] == "failed"].itertuples(index=False)
    ]
