# scores -> tables -> notebooks -> README

PAPER_VALUES = str(ROOT / "config" / "paper_values.yaml")
TABLES = sorted({e.table for e in EXPERIMENTS.values()})
# Only a run at the paper's sizes writes its numbers into the README.
README_STAMP = [f"{RESULTS}/readme.md"] if CONFIG.preset == "paper" else []


def table_scores(wildcards):
    return [f"{RESULTS}/scores/{name}.csv" for name in of_table(wildcards.table)]


def table_restarts(wildcards):
    return [f"{RESULTS}/restarts/{name}.csv" for name in of_table(wildcards.table)]


def table_title(wildcards):
    names = [EXPERIMENTS[name].title for name in of_table(wildcards.table)]
    return f"Table {wildcards.table.removeprefix('table')}: {'; '.join(names)}"


def notebook_of(wildcards):
    return str(ROOT / "notebooks" / f"{wildcards.table}.ipynb")


def notebook_code(wildcards):
    return fingerprint(notebook_of(wildcards))


rule summarise:
    input:
        scores=table_scores,
        paper=PAPER_VALUES,
    output:
        csv=RESULTS + "/tables/{table}.csv",
        md=RESULTS + "/tables/{table}.md",
        tex=RESULTS + "/tables/{table}.tex",
    wildcard_constraints:
        table="table[0-9]",
    params:
        title=table_title,
        preset=CONFIG.preset,
        resamples=CONFIG.bootstrap,
        code=code("summarise"),
    log:
        LOGS + "summarise/{table}.log",
    script:
        "../scripts/summarise.py"


rule render_notebook:
    input:
        notebook=notebook_of,
        table=RESULTS + "/tables/{table}.csv",
        scores=table_scores,
        restarts=table_restarts,
    output:
        RESULTS + "/notebooks/{table}.ipynb",
    wildcard_constraints:
        table="table[0-9]",
    params:
        title=table_title,
        preset=CONFIG.preset,
        notebook_code=notebook_code,
        code=code("render_notebook"),
    log:
        LOGS + "render_notebook/{table}.log",
    benchmark:
        BENCHMARKS + "render_notebook/{table}.tsv"
    script:
        "../scripts/render_notebook.py"


rule table1:
    input:
        expand(f"{RESULTS}/tables/table1.{{format}}", format=["csv", "md", "tex"]),
        f"{RESULTS}/notebooks/table1.ipynb",


rule table4:
    input:
        expand(f"{RESULTS}/tables/table4.{{format}}", format=["csv", "md", "tex"]),
        f"{RESULTS}/notebooks/table4.ipynb",


rule write_readme:
    input:
        tables=expand(f"{RESULTS}/tables/{{table}}.md", table=TABLES),
        cells=expand(f"{RESULTS}/tables/{{table}}.csv", table=TABLES),
        restarts=expand(f"{RESULTS}/restarts/{{experiment}}.csv", experiment=EXPERIMENTS),
    output:
        f"{RESULTS}/readme.md",
    params:
        readme=str(ROOT / "README.md"),
        logs=LOGS,
        code=code("write_readme"),
    log:
        LOGS + "write_readme.log",
    script:
        "../scripts/write_readme.py"
