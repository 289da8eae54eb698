# predictions -> scores: the only rule that reads test labels

import dataclasses


def predictions_of(wildcards):
    return [
        f"<run>/{'/'.join(cell)}/predictions.npz"
        for cell in TABLES[wildcards.table].cells
    ]


def labels_of(name):
    """Input function: a file of data of each setting of a table."""
    return lambda wildcards: [
        f"<run>/{data}/{setting}/data/{name}.npz"
        for data, setting in TABLES[wildcards.table].settings
    ]


def scored(wildcards):
    """What scoring has to know of each cell of a table."""
    keys = "titles candidates shown replicates generator options".split()
    return {
        "/".join(cell): {key: parameters(*cell)[key] for key in keys}
        for cell in TABLES[wildcards.table].cells
    }


rule score:
    input:
        predictions=predictions_of,
        train=labels_of("train"),
        test_labels=labels_of("test_labels"),
    output:
        "<run>/scores/{table}.csv.gz",
    log:
        "<run>/logs/score/{table}.log",
    benchmark:
        "<run>/benchmarks/score/{table}.tsv"
    localrule: True
    params:
        cells=scored,
        table=lambda w: dataclasses.asdict(TABLES[w.table]),
        code=code("score"),
    message:
        "Score: {wildcards.table}"
    script:
        "../scripts/score.py"
