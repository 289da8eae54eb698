"""One test for each method and table against the paper, and its figure."""

from pathlib import Path

import pandas as pd

from kerhrm.files import write_text
from kerhrm_paper.config.files import read_yaml
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values
from kerhrm_paper.reporting import forest
from kerhrm_paper.reporting.figures import save
from kerhrm_paper.runs.job import job

with job(snakemake):
    scores = {
        Path(path).name.partition(".")[0]: pd.read_csv(path)
        for path in snakemake.input.scores
    }
    spec = read_yaml(Path(snakemake.input.endpoints))
    paper = load_paper_values(snakemake.input.paper_values)
    found = endpoints(scores, spec, paper, snakemake.params.mark)
    write_text(snakemake.output.csv, found.to_csv(index=False))
    save(forest.endpoints(found), Path(snakemake.output.png).with_suffix(""))
    save(forest.panel(scores), Path(snakemake.output.panel).with_suffix(""))
