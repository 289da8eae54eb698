# scores -> tables -> notebooks

from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.config.fields import nearest

# Figures need no window, whatever backend the user has chosen.
os.environ["MPLBACKEND"] = "agg"
DECLARED = checked(load_endpoints, ROOT / "config/endpoints.yaml")
OF_BAND = [*DECLARED.band.tables.values()]
KNOWN = {*CONFIG.table_names}
# Tables that the user leaves out have no endpoints.
for place, tables in {"tables": DECLARED.tables, "band.tables": OF_BAND}.items():
    for name in tables:
        if name not in KNOWN:
            raise WorkflowError(
                f"config/endpoints.yaml: {place}: no table is called '{name}'; "
                f"{nearest(name, KNOWN)}"
            )
ENDPOINTS = [name for name in DECLARED.tables if name in TABLES]
BAND = [name for name in OF_BAND if name in TABLES]
# The run's own band where it has one, or makes one now; else the published one.  Without any the
# endpoints are of the values that validation picks.
BAND_FILE = "as_printed_band.csv"
HAS_BAND = BAND and (
    (CONFIG.run / BAND_FILE).exists()
    or {"as_printed_band", f"{RUN}/{BAND_FILE}"} & {*sys.argv}
)
PUBLISHED_BAND = f"results/reference/{BAND_FILE}"
if HAS_BAND:
    BAND_OF_ENDPOINTS = [f"<run>/{BAND_FILE}"]
else:
    BAND_OF_ENDPOINTS = (
        [own(PUBLISHED_BAND)] if (ROOT / PUBLISHED_BAND).exists() else []
    )


# Those that are not ours; the report has them if they are there or asked for.
OWN_TABLES = [
    name
    for name in TABLES
    if not (ROOT / f"results/reference/tables/{name}.csv").exists()
    and (
        name in IN_ALL
        or name in sys.argv
        or (CONFIG.run / f"tables/{name}.csv").exists()
    )
]


def products(table):
    """Files that the target of a table stands for."""
    files = [f"tables/{table}.{ending}" for ending in ("csv", "md", "tex", "html")]
    files += [f"tables/{table}-comparisons.csv", f"notebooks/{table}.ipynb"]
    files += [f"figures/{table}.{ending}" for ending in ("png", "pdf")]
    return [f"<run>/{file}" for file in files]


def missing(tables):
    """Removed files that what stands of some tables was made of, and that a rule still makes."""
    files = [file.replace("<run>", RUN) for table in tables for file in products(table)]
    cells = {
        f"{data}/{learner}" for name in tables for data, learner in TABLES[name].cells
    }
    parts = {
        f"{cell.partition('/')[0]}/{part}"
        for cell in cells
        for part in ("data", "features")
    }
    folders = {
        f"{RUN}/{folder}/" for folder in (*cells, *parts, "raw", "scores", "tables")
    }
    return [
        file
        for file in provenance.missing(CONFIG.run, files)
        if any(file.startswith(folder) for folder in folders)
    ]


rule make_table:
    input:
        scores="<run>/scores/{table}.csv.gz",
        paper_values=own("config/paper_values.yaml"),
    output:
        csv="<run>/tables/{table}.csv",
        md="<run>/tables/{table}.md",
        tex="<run>/tables/{table}.tex",
        html=shown("<run>/tables/{table}.html", "table", "Tables", table="{table}"),
        comparisons=shown(
            "<run>/tables/{table}-comparisons.csv",
            "comparisons",
            "Comparisons",
            table="{table}",
        ),
    log:
        "<run>/logs/make_table/{table}.log",
    benchmark:
        "<run>/benchmarks/make_table/{table}.tsv"
    localrule: True
    params:
        mark=CONFIG.mark,
        title=lambda w: TABLES[w.table].title,
        code=code("make_table"),
    message:
        "Make table: {wildcards.table}"
    script:
        "../scripts/make_table.py"


# The module of the process that a notebook runs in, which no script imports.
KERNEL = "kerhrm_paper.reporting.kernel"


rule render_notebook:
    input:
        notebook=own("notebooks/table.ipynb"),
        config="<run>/config.yaml",
        table="<run>/tables/{table}.csv",
        comparisons="<run>/tables/{table}-comparisons.csv",
        scores="<run>/scores/{table}.csv.gz",
    output:
        notebook="<run>/notebooks/{table}.ipynb",
        png=shown("<run>/figures/{table}.png", "figure", "Figures", table="{table}"),
        pdf="<run>/figures/{table}.pdf",
    log:
        "<run>/logs/render_notebook/{table}.log",
    benchmark:
        "<run>/benchmarks/render_notebook/{table}.tsv"
    localrule: True
    params:
        notebook=checked(code_hash, ROOT / "notebooks/table.ipynb"),
        code=code("render_notebook", KERNEL),
    message:
        "Execute the notebook: {wildcards.table}"
    script:
        "../scripts/render_notebook.py"


# Whether each method has the mean that the paper prints: one test per method and table.
rule test_endpoints:
    input:
        endpoints=own("config/endpoints.yaml"),
        paper_values=own("config/paper_values.yaml"),
        scores=[f"<run>/scores/{name}.csv.gz" for name in ENDPOINTS],
        band=BAND_OF_ENDPOINTS,
    output:
        csv=shown(
            "<run>/endpoints.csv",
            "endpoints_table",
            "Compared with the paper",
            shown="numbers",
        ),
        png=shown(
            "<run>/figures/endpoints.png",
            "endpoints",
            "Compared with the paper",
            shown="figure",
        ),
        pdf="<run>/figures/endpoints.pdf",
        panel=shown(
            "<run>/figures/selection.png",
            "selection",
            "Compared with the paper",
            shown="figure by selection criterion",
        ),
        panel_pdf="<run>/figures/selection.pdf",
    log:
        "<run>/logs/test_endpoints.log",
    benchmark:
        "<run>/benchmarks/test_endpoints.tsv"
    localrule: True
    params:
        mark=CONFIG.mark,
        code=code("test_endpoints"),
    message:
        "Test the endpoints"
    script:
        "../scripts/test_endpoints.py"


# The algorithm as printed, over a grid of the constants that the paper does not print.
rule measure_band:
    input:
        endpoints=own("config/endpoints.yaml"),
        paper_values=own("config/paper_values.yaml"),
        scores=[f"<run>/scores/{name}.csv.gz" for name in BAND],
    output:
        shown(
            "<run>/as_printed_band.csv",
            "band",
            "Compared with the paper",
            shown="band of the algorithm as printed",
        ),
    log:
        "<run>/logs/measure_band.log",
    benchmark:
        "<run>/benchmarks/measure_band.tsv"
    localrule: True
    params:
        tables=BAND,
        mark=CONFIG.mark,
        code=code("measure_band"),
    message:
        "Measure the band of the algorithm as printed"
    script:
        "../scripts/measure_band.py"


rule as_printed_band:
    """The algorithm as printed: lowest and highest mean over the unprinted constants."""
    input:
        "<run>/as_printed_band.csv",
        [products(name) for name in BAND],
        missing(BAND),
    localrule: True


# The last rule of `all`: fails, when everything else is there, if a method has failed.
rule check_results:
    input:
        [products(table) for table in IN_ALL],
        ["<run>/endpoints.csv"] if ENDPOINTS else [],
    output:
        "<run>/checked.txt",
    log:
        "<run>/logs/check_results.log",
    benchmark:
        "<run>/benchmarks/check_results.tsv"
    localrule: True
    params:
        tables=IN_ALL,
        code=code("check_results"),
    message:
        "Look for cells without a result"
    script:
        "../scripts/check_results.py"


# One target for each table and figure: `snakemake table1`.
for name in TABLES:

    rule:
        name:
            name
        input:
            products(name),
            missing([name]),
        localrule: True
