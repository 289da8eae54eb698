# Ablations and the choices that the paper leaves open, which are tables, too; the paper's claims

from kerhrm_paper.claims.statements import statements

OWN_DATA = {data.partition("+")[0] for name in IN_ALL for data in TABLES[name].data}
# Not those on other data sets, as full_mnist: hours.
ABLATIONS = [
    name
    for name, table in TABLES.items()
    if not table.in_all and {data.partition("+")[0] for data in table.data} <= OWN_DATA
]
CHOICES = CONFIG.choice_tables


rule measure_choices:
    input:
        scores=[f"<run>/scores/{name}.csv.gz" for name in CHOICES],
    output:
        shown("<run>/choices.csv", "choices", "Ablations", shown="open choices"),
    log:
        "<run>/logs/measure_choices.log",
    benchmark:
        "<run>/benchmarks/measure_choices.tsv"
    localrule: True
    params:
        tables=CHOICES,
        contrasts=[contrast.params() for contrast in CONFIG.choices],
        code=code("measure_choices"),
    message:
        "Measure what each open choice changes"
    script:
        "../scripts/measure_choices.py"


rule check_claims:
    input:
        scores=[f"<run>/scores/{name}.csv.gz" for name in IN_ALL],
    output:
        shown("<run>/claims.csv", "claims", "Compared with the paper", shown="claims"),
    log:
        "<run>/logs/check_claims.log",
    benchmark:
        "<run>/benchmarks/check_claims.tsv"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
    params:
        preset=CONFIG.preset,
        threads=THREADS,
        statements=lambda w: statements(),
        code=code("check_claims"),
    message:
        "Check the paper's claims"
    script:
        "../scripts/check_claims.py"


rule claims:
    """The paper's claims, and how they fared."""
    input:
        "<run>/claims.csv",
        missing(IN_ALL),
    localrule: True


rule ablations:
    """Ablation tables, the choices that the paper leaves open, and its claims."""
    input:
        [products(name) for name in ABLATIONS],
        missing(ABLATIONS),
        "<run>/choices.csv",
        "<run>/claims.csv",
    localrule: True
