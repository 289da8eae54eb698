# raw -> data set


rule write_configuration:
    output:
        f"{RESULTS}/config.yaml",
    log:
        f"{LOGS}/write_configuration.log",
    benchmark:
        f"{BENCHMARKS}/write_configuration.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        config=CONFIG.plain(),
        code=code("write_configuration"),
    script:
        "../scripts/write_configuration.py"


rule fetch_mnist:
    output:
        f"{RESULTS}/raw/mnist.npz",
    log:
        f"{LOGS}/fetch_mnist.log",
    benchmark:
        f"{BENCHMARKS}/fetch_mnist.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=minutes(30),
    params:
        raw_dir=CONFIG.raw_dir,
        on_missing=CONFIG.on_missing,
        code=code("fetch_mnist"),
    script:
        "../scripts/fetch_mnist.py"


rule fetch_houses:
    output:
        f"{RESULTS}/raw/houses.npz",
    log:
        f"{LOGS}/fetch_houses.log",
    benchmark:
        f"{BENCHMARKS}/fetch_houses.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=minutes(30),
    params:
        raw_dir=CONFIG.raw_dir,
        on_missing=CONFIG.on_missing,
        code=code("fetch_houses"),
    script:
        "../scripts/fetch_houses.py"


rule generate_data:
    input:
        raw=raw_of,
        lost=lost_files,
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
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        data=data_of,
        seeds=seeds_of,
        code=code("generate_data"),
    script:
        "../scripts/generate_data.py"
