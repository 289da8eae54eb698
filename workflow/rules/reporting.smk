# scores -> tables -> notebooks


rule summarise:
    input:
        scores=table_scores,
        paper=PAPER_VALUES,
    output:
        csv=report(
            f"{RUN}/tables/{{table}}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "of": "cells"},
        ),
        md=f"{RUN}/tables/{{table}}.md",
        tex=f"{RUN}/tables/{{table}}.tex",
        comparisons=report(
            f"{RUN}/tables/{{table}}-comparisons.csv",
            caption="../report/comparisons.rst",
            category="Tables",
            labels={"table": "{table}", "of": "methods against each other"},
        ),
    log:
        f"{LOGS}/summarise/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/summarise/{{table}}.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        title=table_title,
        preset=CONFIG.preset,
        code=code("summarise"),
    message:
        "Tabulate {wildcards.table}"
    script:
        "../scripts/summarise.py"


rule render_notebook:
    input:
        notebook=notebook_of,
        table=f"{RUN}/tables/{{table}}.csv",
        scores=table_scores,
        restarts=table_restarts,
        choices=table_choices,
        described=table_described,
    output:
        notebook=report(
            f"{RUN}/notebooks/{{table}}.ipynb",
            caption="../report/notebook.rst",
            category="Notebooks",
            labels={"table": "{table}"},
        ),
    log:
        f"{LOGS}/render_notebook/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/render_notebook/{{table}}.tsv"
    wildcard_constraints:
        table=any_of(set(TABLES) - set(FIGURES)),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        title=table_title,
        about=table_about,
        preset=CONFIG.preset,
        notebook_code=notebook_code,
        code=code("render_notebook"),
    message:
        "Execute the notebook of {wildcards.table}"
    script:
        "../scripts/render_notebook.py"


# The notebook of a figure writes its picture, too.
use rule render_notebook as render_figure with:
    output:
        notebook=report(
            f"{RUN}/notebooks/{{table}}.ipynb",
            caption="../report/notebook.rst",
            category="Notebooks",
            labels={"table": "{table}"},
        ),
        png=report(
            f"{RUN}/figures/{{table}}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{table}"},
        ),
        pdf=f"{RUN}/figures/{{table}}.pdf",
    log:
        f"{LOGS}/render_figure/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/render_figure/{{table}}.tsv"
    wildcard_constraints:
        table=any_of(set(FIGURES) - set(VARIED)),
    localrule: True


# Another picture shows the variants of its settings.
use rule render_notebook as render_variants with:
    output:
        notebook=report(
            f"{RUN}/notebooks/{{table}}.ipynb",
            caption="../report/notebook.rst",
            category="Notebooks",
            labels={"table": "{table}"},
        ),
        png=report(
            f"{RUN}/figures/{{table}}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{table}"},
        ),
        pdf=f"{RUN}/figures/{{table}}.pdf",
        variants=report(
            f"{RUN}/figures/{{table}}-variants.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{table}, variants"},
        ),
        variants_pdf=f"{RUN}/figures/{{table}}-variants.pdf",
    log:
        f"{LOGS}/render_variants/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/render_variants/{{table}}.tsv"
    wildcard_constraints:
        table=any_of(VARIED),
    localrule: True


# One target per table and figure: `snakemake table1`.
for target in TABLES:

    rule:
        name:
            target
        input:
            products_of(target),
            lost_of(of_table(target)),
        localrule: True


IN_ALL_TABLES = sorted({EXPERIMENTS[name].table for name in IN_ALL})
EVERYTHING = [f"{RUN}/config.yaml", *(f for t in IN_ALL_TABLES for f in products_of(t))]


# The last rule of `all`: fails, when everything else stands, if a method has failed.
rule check_failures:
    input:
        EVERYTHING,
        tables=expand(f"{RUN}/tables/{{table}}.csv", table=IN_ALL_TABLES),
    output:
        CHECKED,
    log:
        f"{LOGS}/check_failures.log",
    benchmark:
        f"{BENCHMARKS}/check_failures.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code("check_failures"),
    message:
        "Look for cells without a result"
    script:
        "../scripts/check_failures.py"
