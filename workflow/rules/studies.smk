# Studies beside the tables, each by its own target.
#     snakemake --cores 2 study_ambiguities     every open choice flipped alone: docs/ambiguities.md
#     snakemake publish_ambiguities             makes its results the committed ones
#     snakemake --cores 2 study                 all of them, and the paper's statements

from kerhrm.config.ambiguities import study
from kerhrm.config.names import STUDIES

AMBIGUITIES = str(ROOT / "config/ambiguities.yaml")
FLIPPED = study(EXPERIMENTS)
STUDIED = [table for tables in STUDIES.values() for table in tables if table in TABLES]


rule measure_ambiguities:
    input:
        scores=expand(f"{RUN}/scores/{{flipped}}.csv", flipped=FLIPPED),
        catalogue=AMBIGUITIES,
    output:
        csv=report(
            f"{RUN}/ambiguities.csv",
            caption="../report/ambiguities.rst",
            category="Studies",
            labels={"study": "open choices", "as": "table"},
        ),
        png=report(
            f"{RUN}/figures/ambiguities.png",
            caption="../report/ambiguities.rst",
            category="Studies",
            labels={"study": "open choices", "as": "figure"},
        ),
        pdf=f"{RUN}/figures/ambiguities.pdf",
    log:
        f"{LOGS}/measure_ambiguities.log",
    benchmark:
        f"{BENCHMARKS}/measure_ambiguities.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        preset=CONFIG.preset,
        code=code("measure_ambiguities"),
    message:
        "Measure what each open choice changes"
    script:
        "../scripts/measure_ambiguities.py"


rule study_ambiguities:
    """What each choice that the paper leaves open changes."""
    input:
        rules.measure_ambiguities.output,
        lost_of(FLIPPED),
    localrule: True


rule publish_ambiguities:
    """Make the effects of this run the committed ones, and write their page."""
    input:
        rules.measure_ambiguities.output,
        config=f"{RUN}/config.yaml",
    log:
        f"{LOGS}/publish_ambiguities.log",
    benchmark:
        f"{BENCHMARKS}/publish_ambiguities.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        checkout=str(ROOT),
        experiments=PLAIN["experiments"],
    message:
        "Copy the effects of open choices to results/reference and docs"
    script:
        "../scripts/publish_ambiguities.py"


rule study:
    """All studies: each is a target of its own, too, and is published by itself."""
    input:
        [products_of(table) for table in STUDIED],
        lost_of([name for table in STUDIED for name in of_table(table)]),
        rules.study_ambiguities.input,
        rules.claims.input,
    localrule: True
