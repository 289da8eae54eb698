# The page of a run, and what Snakemake's own report says first.
#     snakemake --cores 2 report                     results/<preset>/report.html
#     snakemake --report snakemake_report.html       Snakemake's own, of what has been made


report: "../report/workflow.rst"


PAGE = f"{RUN}/report.html"
TEMPLATES = sorted(
    os.path.relpath(path)
    for folder in ("reporting", "reporting/page/templates")
    for path in (ROOT / "src/kerhrm" / folder).glob("*.*")
    if path.suffix in (".j2", ".css", ".js")
)


rule write_report:
    input:
        EVERYTHING,
        scores=expand(f"{RUN}/scores/{{shown}}.csv", shown=IN_ALL),
        choices=expand(f"{RUN}/choices/{{shown}}.csv", shown=IN_ALL),
        templates=TEMPLATES,
    output:
        report(PAGE, caption="../report/page.rst", category="Page"),
    log:
        f"{LOGS}/write_report.log",
    benchmark:
        f"{BENCHMARKS}/write_report.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        checkout=str(ROOT),
        beside=beside,
        code=code("write_report"),
    message:
        "Write the page of this run"
    script:
        "../scripts/write_report.py"


rule report:
    """Every number of this run on one page."""
    input:
        PAGE,
        lost_of(IN_ALL),
    localrule: True
