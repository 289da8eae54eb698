"""M_p of one iteration: invariant directions of all candidates, and the one chosen."""

from kerhrm.networks.base import resolve_device
from kerhrm_paper.runs.iterations import write_directions
from kerhrm_paper.runs.job import job

with job(snakemake):
    device = resolve_device(snakemake.params.device)
    write_directions(
        files=snakemake.input,
        params=snakemake.params,
        device=device,
        output=snakemake.output[0],
    )
