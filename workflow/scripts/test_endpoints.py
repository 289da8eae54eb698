"""One test for each method and table against the paper, and its figure."""

from pathlib import Path

from kerhrm.files import write_text
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values
from kerhrm_paper.reporting import forest
from kerhrm_paper.reporting.figures import save
from kerhrm_paper.reporting.run import Run, read_scores
from kerhrm_paper.reporting.selection_figure import selection
from kerhrm_paper.runs.job import job

with job(snakemake):
    scores = {}
    for path in map(Path, snakemake.input.scores):
        table = path.name.partition(".")[0]
        scores[table] = read_scores(path)
    folders = [Path(path).parent for path in snakemake.input.band]
    tests = endpoints(
        scores=scores,
        spec=load_endpoints(snakemake.input.endpoints),
        paper=load_paper_values(snakemake.input.paper_values),
        mark=snakemake.params.mark,
        band=Run(folders[0]).band() if folders else None,
    )
    files = snakemake.output
    text = tests.to_csv(index=False)
    write_text(files.csv, text)
    figure = forest.endpoints(tests)
    save(figure, Path(files.png).with_suffix(""))
    panel = selection(scores)
    save(panel, Path(files.panel).with_suffix(""))
