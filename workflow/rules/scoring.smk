# predictions + test labels -> scores: the only rules that read test labels.


rule score:
    input:
        predictions=predictions_of,
        train=owned("data", "data/train.npz"),
        test_labels=owned("data", "data/test_labels.npz"),
        features=iterations_if_scored("training"),
        test_features=iterations_if_scored("test"),
        environments=iterations_if_scored("environments"),
        theta=iterations_if_scored("theta"),
        pooled=beside_iterations("pooled"),
        released=beside_iterations("released"),
    output:
        f"{SETTING}/scores.csv",
    log:
        f"{LOGS}/score/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/score/{ONE_SETTING}.tsv"
    wildcard_constraints:
        experiment=any_of(EXPERIMENTS),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        setting=setting_name,
        replicates=of_experiment("seeds.names"),
        protocol=of_experiment("protocol"),
        data=option("data"),
        shown=shown_in,
        bounds=bounded_in,
        code=score_code,
    message:
        "Score {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/score.py"


rule collect_scores:
    input:
        scores=scores_of,
        environments=environments_of,
        directions=chosen_in("kerhrm", "direction.npz"),
        networks=chosen_in("igd", "predictions/kerhrm-network.npz"),
        tests=tests_of,
    output:
        scores=f"{RUN}/scores/{{experiment}}.csv",
        restarts=f"{RUN}/restarts/{{experiment}}.csv",
        choices=f"{RUN}/choices/{{experiment}}.csv",
    log:
        f"{LOGS}/collect_scores/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/collect_scores/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=any_of(EXPERIMENTS),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        searches=searches_shown,
        directed=running("kerhrm"),
        trained=running("igd"),
        tested=tested_settings,
        replicates=of_experiment("seeds.names"),
        code=code("collect_scores"),
    message:
        "Collect the scores of {wildcards.experiment}"
    script:
        "../scripts/collect_scores.py"
