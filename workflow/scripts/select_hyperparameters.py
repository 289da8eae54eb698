"""Every method's option set by every selection rule it can have, and the scores of all sets."""

from kerhrm.jobs.job import job
from kerhrm.scoring.tuning import save_choice, search

with job(snakemake):
    files, params = dict(snakemake.input.items()), snakemake.params
    predictions = dict(zip(map(tuple, params.searched), files.pop("predictions"), strict=True))
    settings = dict.fromkeys(setting for setting, *_ in predictions)
    data = {s: {name: files[name][i] for name in files} for i, s in enumerate(settings)}
    scores = search(predictions, data, params.options)
    save_choice(scores, snakemake.output.choice, snakemake.output.grid)
