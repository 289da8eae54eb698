# The paper's statements, each checked by a test or by algebra.
#     snakemake --cores 2 claims           results/<preset>/claims.csv
#     snakemake publish_claims             makes them the committed ones: docs/claims.md

# Tables that statements are about, with their further seeds; one that this preset lacks leaves
# them undecided.
CLAIMED = [
    name
    for table in (
        "classification",
        "clusters",
        "colored_mnist",
        "houses",
        "iterations",
        "regression",
    )
    for name in (table, f"{table}{MORE}")
    if name in EXPERIMENTS
]


rule check_claims:
    input:
        scores=expand(f"{RUN}/scores/{{claimed}}.csv", claimed=CLAIMED),
    output:
        report(
            f"{RUN}/claims.csv",
            caption="../report/claims.rst",
            category="Studies",
            labels={"study": "statements of the paper", "as": "table"},
        ),
    log:
        f"{LOGS}/check_claims.log",
    benchmark:
        f"{BENCHMARKS}/check_claims.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(20),
    params:
        preset=CONFIG.preset,
        threads=THREADS,
        code=code("check_claims"),
    message:
        "Check what the paper says"
    script:
        "../scripts/check_claims.py"


rule claims:
    """What the paper says, and whether it holds."""
    input:
        rules.check_claims.output,
        lost_of(CLAIMED),
    localrule: True


rule publish_claims:
    """Make the checked claims of this run the committed ones, and write their page."""
    input:
        rules.check_claims.output,
        config=f"{RUN}/config.yaml",
    log:
        f"{LOGS}/publish_claims.log",
    benchmark:
        f"{BENCHMARKS}/publish_claims.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        checkout=str(ROOT),
    message:
        "Copy the checked claims to results/reference and docs"
    script:
        "../scripts/publish_claims.py"
