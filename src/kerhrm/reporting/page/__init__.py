"""The report: one page of HTML with every number of a run, which needs nothing else.

``python -m kerhrm.reporting.page [FOLDER]`` writes ``report.html`` into a run's folder or, without
one, into ``results/reference``; ``snakemake report`` does so for a run.
"""
