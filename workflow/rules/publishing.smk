# A run against the committed one, and into its place.  Only the targets publish and
# publish_tuned write outside the results folder.


# Tables of experiments that have not been published are not compared.
PUBLISHED = [
    t for t in IN_ALL_TABLES if os.path.exists(f"{REFERENCE}/tables/{t}.csv")
] or IN_ALL_TABLES


rule verify:
    """Compare every cell of this run with results/reference."""
    input:
        tables=expand(f"{RUN}/tables/{{table}}.csv", table=PUBLISHED),
        reference=expand(f"{REFERENCE}/tables/{{table}}.csv", table=PUBLISHED),
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
    """Make this run the committed one, and its numbers those of the README."""
    input:
        EVERYTHING,
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
        readme=str(ROOT / "README.md"),
    message:
        "Copy tables and figures to results/reference, and numbers into the README"
    script:
        "../scripts/publish_reference.py"


# Tables that are not in `all` are published one by one: `snakemake publish_full_mnist`.
for apart in sorted(set(TABLES) - set(IN_ALL_TABLES)):

    rule:
        name:
            f"publish_{apart}"
        input:
            products_of(apart),
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
            table=apart,
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
