"""Print the folder of the run that a configuration stands for.

    python -m kerhrm_paper.config.folder preset=smoke results=/data/kerhrm

The words are those behind ``--config``; ``config/config.yaml`` counts as for Snakemake.
"""

import sys
from collections.abc import Sequence

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.strict_yaml import read_overrides


def folder(words: Sequence[str]) -> str:
    """Folder of the run, as ``results/smoke``, of ``KEY=VALUE`` words."""
    overrides = read_overrides(words)
    return str(load_config(overrides).run)


if __name__ == "__main__":
    try:
        print(folder(sys.argv[1:]))
    except KerhrmError as error:
        sys.exit(f"error: {error}")
