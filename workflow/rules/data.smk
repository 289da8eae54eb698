# raw -> data set


def data_of(wildcards):
    return setting_of(wildcards).data.model_dump(mode="json")


def raw_of(wildcards):
    """Raw files that a setting is made from."""
    needs = {"colored_mnist": f"{RESULTS}/raw/mnist.npz"}
    return needs.get(setting_of(wildcards).data.generator, [])


rule write_configuration:
    output:
        f"{RESULTS}/config.yaml",
    params:
        config=CONFIG.plain(),
        code=code("write_configuration"),
    log:
        LOGS + "write_configuration.log",
    script:
        "../scripts/write_configuration.py"


rule fetch_mnist:
    output:
        f"{RESULTS}/raw/mnist.npz",
    params:
        raw_dir=CONFIG.raw_dir,
        on_missing=CONFIG.on_missing,
        code=code("fetch_mnist"),
    log:
        LOGS + "fetch_mnist.log",
    benchmark:
        BENCHMARKS + "fetch_mnist.tsv"
    resources:
        mem_mb=1000,
        runtime=30,
    script:
        "../scripts/fetch_mnist.py"


rule generate_data:
    input:
        raw=raw_of,
    output:
        train=SETTING + "/data/train.npz",
        validation=SETTING + "/data/validation.npz",
        test_inputs=SETTING + "/data/test_inputs.npz",
        environments=SETTING + "/data/environments.npz",
        test_labels=SETTING + "/data/test_labels.npz",
    params:
        data=data_of,
        seeds=seeds_of,
        code=code("generate_data"),
    log:
        LOGS + "generate_data/{experiment}/{setting}.log",
    benchmark:
        BENCHMARKS + "generate_data/{experiment}/{setting}.tsv"
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/generate_data.py"
