"""Which tables of a run were made by other code than today's?"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.origin import CHECKOUT
from kerhrm_paper.runs.planned import CODE, planned_code


def of_older_code(run: Run, tables: Sequence[str], root: Path = CHECKOUT) -> list[str]:
    """Tables that other code has made, or something that they were made of.

    Snakemake makes those again that are asked for; others stay in the folder.

    Parameters
    ----------
    run : Run
        Whose tables they are.
    tables : sequence of str
        Their names.
    root : path
        The checkout.

    Returns
    -------
    list of str
        Names of some of the tables; none where no record is, as in a publication, or
        no script to compare with.
    """
    if not (root / "workflow" / "scripts").is_dir():
        return []
    older = []
    for table in tables:
        records = provenance.ancestors(run.folder, [f"tables/{table}.csv"])
        if any(_is_older(record, root) for _, record in records):
            older.append(table)
    return older


def _is_older(record: Mapping[str, Any], root: Path) -> bool:
    """Whether the code of a job is another one now."""
    params = record.get("params") or {}
    code = params.get(CODE)
    if code is None:
        return False
    if not isinstance(code, dict):
        return True  # an earlier version's, which does not say what it is of
    modules = tuple(code["modules"])
    return bool(code["hash"] != _hash_today(code["script"], modules, root))


@functools.cache
def _hash_today(script: str, modules: tuple[str, ...], root: Path) -> str:
    """Hash of a script's code; empty if it, or a module of it, is gone."""
    try:
        planned = planned_code(script, *modules, root=root)
    except KerhrmError:
        return ""
    return str(planned["hash"])
