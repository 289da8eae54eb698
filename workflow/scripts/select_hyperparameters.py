"""Every learner's hyperparameters by every criterion it can have, and the scores of
all."""

import yaml

from kerhrm.files import write_text
from kerhrm_paper.evaluation.selection import best, search
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    table = search(snakemake.params.cells, run_folder(snakemake.log[0]))
    write_text(snakemake.output.scores, table.to_csv(index=False))
    chosen = yaml.safe_dump(
        best(table), sort_keys=False, default_flow_style=None, width=100
    )
    write_text(snakemake.output.selected, chosen)
