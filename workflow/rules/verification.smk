# The end of `all`, and the comparison with the committed run.

EVERYTHING = (
    [f"{RESULTS}/config.yaml"]
    + expand(
        f"{RESULTS}/tables/{{table}}.{{format}}",
        table=TABLES,
        format=["csv", "md", "tex"],
    )
    + expand(f"{RESULTS}/notebooks/{{table}}.ipynb", table=TABLES)
    + expand(
        f"{RESULTS}/figures/{{figure}}.{{format}}",
        figure=FIGURES,
        format=["png", "pdf"],
    )
    + README_STAMP
)


# The last rule of `all`: fails, when everything else stands, if a method has failed.
rule check_failures:
    input:
        EVERYTHING,
        tables=expand(f"{RESULTS}/tables/{{table}}.csv", table=TABLES),
    output:
        CHECKED,
    log:
        f"{LOGS}/check_failures.log",
    benchmark:
        f"{BENCHMARKS}/check_failures.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        code=code("check_failures"),
    script:
        "../scripts/check_failures.py"


# Every cell of this run's tables against results/reference.
rule verify:
    input:
        tables=expand(f"{RESULTS}/tables/{{table}}.csv", table=TABLES),
        reference=expand(f"{REFERENCE}/tables/{{table}}.csv", table=TABLES),
    log:
        f"{LOGS}/verify.log",
    benchmark:
        f"{BENCHMARKS}/verify.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    script:
        "../scripts/verify.py"


# This run becomes the committed one.
rule publish_reference:
    input:
        EVERYTHING,
        checked=CHECKED,
    log:
        f"{LOGS}/publish_reference.log",
    benchmark:
        f"{BENCHMARKS}/publish_reference.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        reference=REFERENCE,
    script:
        "../scripts/publish_reference.py"
