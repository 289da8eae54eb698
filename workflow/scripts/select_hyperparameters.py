"""Every learner's hyperparameters by every criterion it can have, and the scores of all."""

import yaml

from kerhrm.paper.evaluation.selection import best, search
from kerhrm.paper.runs.arrays import write_text
from kerhrm.paper.runs.job import job, run_folder

with job(snakemake):
    scores = search(snakemake.params.cells, run_folder(snakemake.log[0]))
    write_text(snakemake.output.scores, scores.to_csv(index=False))
    write_text(snakemake.output.selected, yaml.safe_dump(best(scores), sort_keys=False))
