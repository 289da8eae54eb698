# The report; a comparison with the published run; selected hyperparameters; your own table

from kerhrm_paper.config.config import page_name

# The report says how many cells agree with those that are published.
REFERENCE = ROOT / "results/reference"
PUBLISHED = [
    checked(provenance.digest, file)
    for file in sorted(REFERENCE.rglob("provenance.json"))
]

# The page shows every table that is there, and needs only those of `all` and the user's.
SHOWN_TOO = {
    file.stem: checked(provenance.digest, file)
    for file in visible_files(CONFIG.run / "tables", "*.csv")
    if file.stem.removesuffix("-comparisons") not in {*IN_ALL, *OWN_TABLES}
}
# What it shows beside tables, where other commands have made it.
OTHERS = {
    name: checked(provenance.digest, CONFIG.run / name)
    for name in ("claims.csv", "endpoints.csv", "choices.csv", "as_printed_band.csv")
    if (CONFIG.run / name).is_file() and not (name == "endpoints.csv" and ENDPOINTS)
}


rule render_report:
    input:
        [
            products(name)
            for name in {**dict.fromkeys(IN_ALL), **dict.fromkeys(OWN_TABLES)}
        ],
        ["<run>/endpoints.csv"] if ENDPOINTS else [],
        notebook=own("notebooks/report.ipynb"),
        config="<run>/config.yaml",
    output:
        notebook="<run>/notebooks/report.ipynb",
        page=shown("<run>/report.html", "page", "Whole run", shown="all on one page"),
    log:
        "<run>/logs/render_report.log",
    benchmark:
        "<run>/benchmarks/render_report.tsv"
    localrule: True
    params:
        notebook=checked(code_hash, ROOT / "notebooks/report.ipynb"),
        published=PUBLISHED,
        shown_too=SHOWN_TOO,
        others=OTHERS,
        own_tables=OWN_TABLES,
        selected=lambda w: checked(CONFIG.selected, *IN_ALL, *OWN_TABLES),
        code=code("render_report", KERNEL),
    message:
        "Render the report"
    script:
        "../scripts/render_report.py"


rule report:
    """Every table and figure on one page."""
    input:
        "<run>/report.html",
        missing(IN_ALL),
    localrule: True


rule verify:
    """Compare every cell with the one that is published, on the same seeds."""
    input:
        [products(name) for name in IN_ALL],
        "<run>/config.yaml",
    log:
        "<run>/logs/verify.log",
    localrule: True
    params:
        reference=str(REFERENCE),
    message:
        "Compare every cell with results/reference"
    script:
        "../scripts/verify.py"


# The preset tuning trains all candidates: a choice by each criterion, and the scores of all.
SEARCHES = CONFIG.searches


rule select_hyperparameters:
    input:
        predictions=predictions_of_cells(search_of),
        train=files_of_data(search_of, "train"),
        validation=files_of_data(search_of, "validation"),
        environments=files_of_data(search_of, "environments"),
        test_labels=files_of_data(search_of, "test_labels"),
    output:
        selected="<run>/selected/{data}.yaml",
        scores="<run>/selected/{data}.csv",
    log:
        "<run>/logs/select_hyperparameters/{data}.log",
    benchmark:
        "<run>/benchmarks/select_hyperparameters/{data}.tsv"
    wildcard_constraints:
        data=any_of(SEARCHES),
    localrule: True
    params:
        cells=lambda w: checked(CONFIG.search_params, w.data),
        code=code("select_hyperparameters"),
    message:
        "Select hyperparameters: {wildcards.data}"
    script:
        "../scripts/select_hyperparameters.py"


rule select:
    """What each criterion selects of every learner's candidates, for config/selected."""
    input:
        [f"<run>/selected/{data}.{end}" for data in SEARCHES for end in ("yaml", "csv")],
    localrule: True


def own_table():
    """Parameters of notebooks/own_table.ipynb, if any is given: the target's keys."""
    given = CONFIG.own_table
    asked = COMMAND and COMMAND.asks_for("own_table", f"{RUN}/own_table")
    example = "own_table --config csv=FILE target=COLUMN"
    if asked and not given:
        raise WorkflowError(f"own_table needs a table; write {example}")
    if COMMAND and given and not asked:
        names = ", ".join(given)
        raise WorkflowError(f"only own_table has the keys {names}; write {example}")
    if not given:
        return {}
    from kerhrm_paper.config.own_table import OwnTable, check_changes

    if COMMAND and COMMAND.targets == ["own_table"]:
        checked(check_changes, CONFIG.changes)
    keys = checked(OwnTable.read, given, CONFIG.run)
    if asked:  # not in each job again
        from kerhrm_paper.config.own_table_rows import check_file

        checked(check_file, keys)
    return keys.model_dump(exclude_unset=True)


OWN_TABLE = own_table()
OWN_NAME = page_name(OWN_TABLE.get("csv", "table"))


rule own_table:
    """KerHRM and baselines on a table of one's own: --config csv=FILE target=COLUMN."""
    input:
        csv=OWN_TABLE.get("csv", []),
        notebook=own("notebooks/own_table.ipynb"),
    output:
        notebook=f"<run>/own_table/{OWN_NAME}.ipynb",
        page=shown(
            f"<run>/own_table/{OWN_NAME}.html",
            "own_table",
            "Your tables",
            table=OWN_NAME,
        ),
    log:
        f"<run>/logs/own_table/{OWN_NAME}.log",
    benchmark:
        f"<run>/benchmarks/own_table/{OWN_NAME}.tsv"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        options={key: value for key, value in OWN_TABLE.items() if key != "csv"},
        device=CONFIG.device,
        threads=THREADS,
        notebook=checked(
            code_hash,
            ROOT / "notebooks/own_table.ipynb",
            "kerhrm.plots.fits",
            "kerhrm.plots.rows",
            "kerhrm.methods.ridge",
        ),
        code=code("own_table", KERNEL),
    message:
        "Run own_table.ipynb"
    script:
        "../scripts/own_table.py"
