# predictions + test labels -> scores: the only rule that reads test labels.

# Which files a method leaves, in the order of the tables' rows.


rule score:
    input:
        predictions=predictions_of,
        candidates=candidates_of,
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test_labels=rules.generate_data.output.test_labels,
    output:
        f"{SETTING}/scores.csv",
    log:
        f"{LOGS}/score/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/score/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code("score"),
    script:
        "../scripts/score.py"


rule collect_scores:
    input:
        scores_of,
    output:
        f"{RESULTS}/scores/{{experiment}}.csv",
    log:
        f"{LOGS}/collect_scores/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/collect_scores/{{experiment}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code("collect_scores"),
    script:
        "../scripts/collect_scores.py"


rule report_restarts:
    input:
        restarts_of,
    output:
        f"{RESULTS}/restarts/{{experiment}}.csv",
    log:
        f"{LOGS}/report_restarts/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/report_restarts/{{experiment}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code("report_restarts"),
    script:
        "../scripts/report_restarts.py"
