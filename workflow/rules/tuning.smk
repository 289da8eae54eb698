# The option set of every method, searched on seeds that no table uses:
#     snakemake --cores 2 tune
#     snakemake publish_tuned      writes the choices to config/tuned, which `all` reads


rule tune:
    """Choose every method's option set again."""
    input:
        expand(f"{TUNED}/{{tuned}}.yaml", tuned=TUNINGS),
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
        searched=searched_rows,
        options=sets_on_trial,
        code=code("select_hyperparameters"),
    message:
        "Choose option sets for {wildcards.tuned}"
    script:
        "../scripts/select_hyperparameters.py"
