# Hyper-parameters of the baselines, searched on seeds that no table uses:
#     snakemake --cores 2 tune
#     snakemake publish_tuned      writes the choices to config/tuned, which `all` reads


rule tune:
    """Search the hyper-parameters of the baselines again."""
    input:
        expand(f"{TUNED}/{{tuned}}{{rule}}.yaml", tuned=TUNINGS, rule=["", "-oracle"]),
        lost_of(f"tune-{name}" for name in TUNINGS),
    localrule: True


rule select_hyperparameters:
    input:
        predictions=tuning_predictions,
        train=tuning_files("data", "data/train.npz"),
        validation=tuning_files("data", "data/validation.npz"),
        environments=tuning_files("data", "data/environments.npz"),
    output:
        choice=f"{TUNED}/{{tuned}}.yaml",
        grid=f"{TUNED}/{{tuned}}.csv",
    log:
        f"{LOGS}/select_hyperparameters/{{tuned}}.log",
    benchmark:
        f"{BENCHMARKS}/select_hyperparameters/{{tuned}}.tsv"
    wildcard_constraints:
        tuned=any_of(TUNINGS),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        searched=searched_methods,
        rules={name: METHODS[name].rule for name in tunable()},
        key="selected",
        code=code("select_hyperparameters"),
    message:
        "Choose the baselines' options for {wildcards.tuned}"
    script:
        "../scripts/select_hyperparameters.py"


# The bound: what the test points of the tuning seeds would choose.
use rule select_hyperparameters as select_by_oracle with:
    input:
        predictions=tuning_predictions,
        train=tuning_files("data", "data/train.npz"),
        test_labels=tuning_files("data", "data/test_labels.npz"),
    output:
        choice=f"{TUNED}/{{tuned}}-oracle.yaml",
        grid=f"{TUNED}/{{tuned}}-oracle.csv",
    log:
        f"{LOGS}/select_by_oracle/{{tuned}}.log",
    benchmark:
        f"{BENCHMARKS}/select_by_oracle/{{tuned}}.tsv"
    localrule: True
    params:
        rules=dict.fromkeys(tunable(), "oracle"),
        key="oracle",
    message:
        "Choose the baselines' options for {wildcards.tuned} by the oracle"
