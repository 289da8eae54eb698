# Hyper-parameters of the baselines, searched on seeds that no table uses.  At preset paper
# the choices are written to config/tuned, which `all` reads:
#     snakemake --cores 2 tune


rule select_hyperparameters:
    input:
        predictions=tuning_predictions,
        train=tuning_train,
        validation=tuning_validation,
        environments=tuning_environments,
    output:
        choice=f"{TUNED}/{{tuned}}.yaml",
        grid=f"{TUNED}/{{tuned}}.csv",
    log:
        f"{LOGS}/select_hyperparameters/{{tuned}}.log",
    benchmark:
        f"{BENCHMARKS}/select_hyperparameters/{{tuned}}.tsv"
    wildcard_constraints:
        tuned="|".join(TUNINGS),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=minutes(10),
    params:
        rules=TUNABLE,
        key="selected",
        code=code("select_hyperparameters"),
    script:
        "../scripts/select_hyperparameters.py"


# The bound: what the test points of the tuning seeds would choose.
rule select_by_oracle:
    input:
        predictions=tuning_predictions,
        train=tuning_train,
        test_labels=tuning_test_labels,
    output:
        choice=f"{TUNED}/{{tuned}}-oracle.yaml",
        grid=f"{TUNED}/{{tuned}}-oracle.csv",
    log:
        f"{LOGS}/select_by_oracle/{{tuned}}.log",
    benchmark:
        f"{BENCHMARKS}/select_by_oracle/{{tuned}}.tsv"
    wildcard_constraints:
        tuned="|".join(TUNINGS),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=minutes(10),
    params:
        rules=dict.fromkeys(TUNABLE, "oracle"),
        key="oracle",
        code=code("select_hyperparameters"),
    script:
        "../scripts/select_hyperparameters.py"


rule tune:
    input:
        expand(f"{TUNED}/{{tuned}}{{rule}}.yaml", tuned=TUNINGS, rule=["", "-oracle"]),
