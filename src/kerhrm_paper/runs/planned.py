"""Does a job run the code that its plan was made for?

Snakemake notes a job's parameters, the hash of its code among them, when it makes the
plan; the job imports whatever is there when it starts, maybe hours later.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.runs.code_hash import code_hash
from kerhrm_paper.runs.origin import CHECKOUT

CODE = "code"  #: the parameter that :func:`planned_code` is


def planned_code(script: str, *modules: str, root: Path) -> dict[str, str | list[str]]:
    """The hash of the code that a rule runs, and what it is a hash of.

    Parameters
    ----------
    script : str
        Its name in ``workflow/scripts``, without the ending.
    *modules : str
        What the script loads by name, as ``kerhrm.methods.erm:train_erm``.
    root : path
        The checkout.

    Returns
    -------
    dict
        ``hash``, ``script`` and ``modules``.
    """
    path = root / "workflow" / "scripts" / f"{script}.py"
    return {
        "hash": code_hash(path, *modules),
        "script": script,
        "modules": [*modules],
    }


def check_code(params: Mapping[str, Any], root: Path = CHECKOUT) -> None:
    """Refuse to run a job if its code has changed since the plan was made.

    Parameters
    ----------
    params : mapping
        The rule's.  Without :func:`planned_code` among them nothing is compared.
    root : path
        The checkout.

    Raises
    ------
    KerhrmError
        If the hash is another one now.
    """
    planned = params.get(CODE)
    if planned is None:
        return
    now = planned_code(planned["script"], *planned["modules"], root=root)
    if now["hash"] != planned["hash"]:
        problem = f"code of {planned['script']} has changed since the plan was made"
        raise KerhrmError(problem, "run the same command again")
