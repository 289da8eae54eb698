# raw -> data set


rule write_configuration:
    output:
        f"{RUN}/config.yaml",
    log:
        f"{LOGS}/write_configuration.log",
    benchmark:
        f"{BENCHMARKS}/write_configuration.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        config=PLAIN,
        code=code("write_configuration"),
    message:
        "Write down the resolved configuration"
    script:
        "../scripts/write_configuration.py"


rule fetch_raw:
    output:
        f"{RUN}/raw/{{raw}}.npz",
    log:
        f"{LOGS}/fetch_raw/{{raw}}.log",
    benchmark:
        f"{BENCHMARKS}/fetch_raw/{{raw}}.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        raw_dir=CONFIG.raw_dir,
        on_missing=CONFIG.on_missing,
        code=raw_code,
    message:
        "Find or fetch raw data: {wildcards.raw}"
    script:
        "../scripts/fetch_raw.py"


rule generate_data:
    input:
        raw=raw_of,
    output:
        train=f"{SETTING}/data/train.npz",
        validation=f"{SETTING}/data/validation.npz",
        test_inputs=f"{SETTING}/data/test_inputs.npz",
        environments=f"{SETTING}/data/environments.npz",
        test_labels=f"{SETTING}/data/test_labels.npz",
    log:
        f"{LOGS}/generate_data/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/generate_data/{ONE_SETTING}.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        data=option("data"),
        file=digest_of,
        seeds=of_experiment("seeds.data"),
        code=data_code,
    message:
        "Data of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/generate_data.py"
