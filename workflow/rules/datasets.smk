# Data sets of one's own, each by its own target.
#     snakemake --cores 4 dataset_mine     config/datasets/mine.yaml: table, figure and page


rule describe_dataset:
    input:
        train=of_dataset("data", "data/train.npz"),
        environments=dataset_iterations,
        directions=chosen_in("kerhrm", "direction.npz"),
        truth=dataset_truth,
    output:
        f"{RUN}/described/{{experiment}}.json",
    log:
        f"{LOGS}/describe_dataset/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/describe_dataset/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=any_of(DATASETS.values()),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        replicates=of_experiment("seeds.names"),
        code=code("describe_dataset"),
    message:
        "Describe what {wildcards.experiment} holds"
    script:
        "../scripts/describe_dataset.py"


rule write_page:
    input:
        f"{RUN}/notebooks/{{table}}.ipynb",
    output:
        report(
            f"{RUN}/pages/{{table}}.html",
            caption="../report/dataset.rst",
            category="Data sets",
            labels={"data set": "{table}"},
        ),
    log:
        f"{LOGS}/write_page/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/write_page/{{table}}.tsv"
    wildcard_constraints:
        table=any_of(DATASETS),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code("write_page"),
    message:
        "Write the page of {wildcards.table}"
    script:
        "../scripts/write_page.py"
