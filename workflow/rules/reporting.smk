# scores -> tables -> notebooks -> README


rule summarise:
    input:
        scores=table_scores,
        paper=PAPER_VALUES,
    output:
        csv=f"{RESULTS}/tables/{{table}}.csv",
        md=f"{RESULTS}/tables/{{table}}.md",
        tex=f"{RESULTS}/tables/{{table}}.tex",
    log:
        f"{LOGS}/summarise/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/summarise/{{table}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        title=table_title,
        preset=CONFIG.preset,
        resamples=CONFIG.bootstrap,
        code=code("summarise"),
    script:
        "../scripts/summarise.py"


rule render_notebook:
    input:
        notebook=notebook_of,
        table=f"{RESULTS}/tables/{{table}}.csv",
        scores=table_scores,
        restarts=table_restarts,
    output:
        notebook=f"{RESULTS}/notebooks/{{table}}.ipynb",
    log:
        f"{LOGS}/render_notebook/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/render_notebook/{{table}}.tsv"
    wildcard_constraints:
        table="table[0-9]",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        title=table_title,
        preset=CONFIG.preset,
        notebook_code=notebook_code,
        code=code("render_notebook"),
    script:
        "../scripts/render_notebook.py"


rule render_figure:
    input:
        notebook=notebook_of,
        table=f"{RESULTS}/tables/{{table}}.csv",
        scores=table_scores,
        restarts=table_restarts,
    output:
        notebook=f"{RESULTS}/notebooks/{{table}}.ipynb",
        png=f"{RESULTS}/figures/{{table}}.png",
        pdf=f"{RESULTS}/figures/{{table}}.pdf",
    log:
        f"{LOGS}/render_figure/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/render_figure/{{table}}.tsv"
    wildcard_constraints:
        table="figure[0-9]",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        title=table_title,
        preset=CONFIG.preset,
        notebook_code=notebook_code,
        code=code("render_notebook"),
    script:
        "../scripts/render_notebook.py"


# One target per table and figure: `snakemake table1`.
for target in TABLES:

    rule:
        name:
            target
        input:
            expand(f"{RESULTS}/tables/{target}.{{format}}", format=["csv", "md", "tex"]),
            f"{RESULTS}/notebooks/{target}.ipynb",
            pictures_of(target),


rule write_readme:
    input:
        tables=expand(f"{RESULTS}/tables/{{table}}.md", table=TABLES),
        cells=expand(f"{RESULTS}/tables/{{table}}.csv", table=TABLES),
        restarts=expand(
            f"{RESULTS}/restarts/{{experiment}}.csv", experiment=EXPERIMENTS
        ),
    output:
        f"{RESULTS}/readme.md",
    log:
        f"{LOGS}/write_readme.log",
    benchmark:
        f"{BENCHMARKS}/write_readme.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        readme=str(ROOT / "README.md"),
        logs=LOGS,
        code=code("write_readme"),
    script:
        "../scripts/write_readme.py"
