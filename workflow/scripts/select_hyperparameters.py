"""Every learner's hyperparameters by every criterion it can have, and the scores of
all."""

from kerhrm.files import write_text
from kerhrm_paper.config.strict_yaml import dump
from kerhrm_paper.evaluation.selection import best, search
from kerhrm_paper.runs.job import job, run_folder

#: of the file, once it is copied to config/selected
SCHEMA = "# yaml-language-server: $schema=../schemas/selected.json\n"

with job(snakemake):
    run = run_folder(snakemake.log[0])
    scores = search(snakemake.params.cells, run)
    text = scores.to_csv(index=False)
    write_text(snakemake.output.scores, text)
    selected = best(scores)
    content = dump(selected, default_flow_style=None, width=100)
    write_text(snakemake.output.selected, SCHEMA + content)
