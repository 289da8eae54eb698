# A run against the committed one, and into its place.  Only the targets publish and
# publish_tuned write outside the results folder.


include: "committed.smk"


rule verify:
    """Compare every cell of this run with the committed one on the same seeds."""
    input:
        tables=tables_to_verify,
        reference=committed_tables,
    log:
        f"{LOGS}/verify.log",
    benchmark:
        f"{BENCHMARKS}/verify.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    message:
        "Compare every cell with results/reference"
    script:
        "../scripts/verify.py"


rule publish_reference:
    """Make this run the committed one of its seeds; the published one's numbers are the README's."""
    input:
        EVERYTHING,
        lost_of(IN_ALL),
        kept_of(IN_ALL),
        checked=CHECKED,
    log:
        f"{LOGS}/publish_reference.log",
    benchmark:
        f"{BENCHMARKS}/publish_reference.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        reference=REFERENCE,
        checkout=str(ROOT),
    message:
        "Copy tables to results/reference; of the published run numbers into the README"
    script:
        "../scripts/publish_reference.py"


# Tables that are not in `all` are published one by one: `snakemake publish_full_mnist`.
for apart in sorted(set(TABLES) - set(IN_ALL_TABLES)):

    rule:
        name:
            f"publish_{apart}"
        input:
            products_of(apart),
            lost_of(of_table(apart)),
            kept_of(of_table(apart)),
            config=f"{RUN}/config.yaml",
        log:
            f"{LOGS}/publish_{apart}.log",
        benchmark:
            f"{BENCHMARKS}/publish_{apart}.tsv"
        localrule: True
        conda:
            ENVIRONMENT
        params:
            folder=f"{REFERENCE}/{apart}",
            checkout=str(ROOT),
            table=apart,
            experiments=PLAIN["experiments"],
        message:
            "Copy {params.table} to results/reference"
        script:
            "../scripts/publish_apart.py"


rule publish_tuned:
    """Make the options chosen by tune those that all uses."""
    input:
        rules.tune.input,
        config=f"{RUN}/config.yaml",
    log:
        f"{LOGS}/publish_tuned.log",
    benchmark:
        f"{BENCHMARKS}/publish_tuned.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        tuned=str(ROOT / "config/tuned"),
    message:
        "Copy the chosen options to config/tuned"
    script:
        "../scripts/publish_tuned.py"
