# predictions + test labels -> scores: besides tune's oracle the only rules that read
# test labels.


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
    wildcard_constraints:
        experiment="|".join(set(EXPERIMENTS) - set(of_table("figure2"))),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        setting=setting_name,
        protocol=protocol_of,
        data=data_of,
        code=code("score"),
    script:
        "../scripts/score.py"


rule score_iterations:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        environments=all_environments,
        theta=all_thetas,
        test_labels=rules.generate_data.output.test_labels,
    output:
        f"{SETTING}/scores.csv",
    log:
        f"{LOGS}/score_iterations/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/score_iterations/{ONE_SETTING}.tsv"
    wildcard_constraints:
        experiment="|".join(of_table("figure2")),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        code=code("score_iterations"),
    script:
        "../scripts/score_iterations.py"


rule collect_scores:
    input:
        scores=scores_of,
        environments=restarts_of,
    output:
        scores=f"{RESULTS}/scores/{{experiment}}.csv",
        restarts=f"{RESULTS}/restarts/{{experiment}}.csv",
    log:
        f"{LOGS}/collect_scores/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/collect_scores/{{experiment}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        code=code("collect_scores"),
    script:
        "../scripts/collect_scores.py"
