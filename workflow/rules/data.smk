# raw data -> data

#: where raw data come from, by their name
RAW = {
    data.raw: data.entries["raw"]
    for data in (checked(CONFIG.data, name) for name in CONFIG.data_sets)
    if data.raw
}


def attempt_to_fetch(wildcards):
    """A number that grows when the file is a synthetic fallback that is not to stay."""
    path = CONFIG.run / f"raw/{wildcards.raw}.npz"
    record = provenance.read(CONFIG.run, f"raw/{wildcards.raw}.npz")
    params = record.get("params", {}) if record else {}
    attempt = params.get("attempt", 0)
    if not path.exists():
        return attempt
    from kerhrm.entries import load_entry

    replaceable = load_entry(RAW[wildcards.raw]).replaceable
    return attempt + checked(replaceable, path, CONFIG.raw_dir, CONFIG.on_missing)


def only_where(value):
    """A parameter that says where raw files are looked for: another one reruns nothing.

    Snakemake does not compare parameters of functions that name the output.
    """
    return lambda wildcards, output: value


rule write_configuration:
    output:
        "<run>/config.yaml",
    log:
        "<run>/logs/write_configuration.log",
    benchmark:
        "<run>/benchmarks/write_configuration.tsv"
    localrule: True
    params:
        config=CONFIG.written,
        code=code("write_configuration"),
    message:
        "Write the resolved configuration"
    script:
        "../scripts/write_configuration.py"


rule fetch_raw:
    output:
        "<run>/raw/{raw}.npz",
    log:
        "<run>/logs/fetch_raw/{raw}.log",
    benchmark:
        "<run>/benchmarks/fetch_raw/{raw}.tsv"
    wildcard_constraints:
        raw=any_of(RAW),
    localrule: True
    params:
        raw=lambda w: RAW[w.raw],
        raw_dir=only_where(CONFIG.raw_dir),
        on_missing=only_where(CONFIG.on_missing),
        attempt=attempt_to_fetch,
        code=lambda w: code("fetch_raw", RAW[w.raw]),
    message:
        "Fetch raw data: {wildcards.raw}"
    script:
        "../scripts/fetch_raw.py"


rule generate_data:
    input:
        raw=raw_of,
    output:
        train="<run>/{data}/data/train.npz",
        validation="<run>/{data}/data/validation.npz",
        environments="<run>/{data}/data/environments.npz",
        test_inputs="<run>/{data}/data/test_inputs.npz",
        test_labels="<run>/{data}/data/test_labels.npz",
    log:
        "<run>/logs/generate_data/{data}.log",
    benchmark:
        "<run>/benchmarks/generate_data/{data}.tsv"
    localrule: True
    params:
        generator=lambda w: data_of(w).generator,
        task=lambda w: data_of(w).task,
        entries=lambda w: dict(data_of(w).entries),
        options=lambda w: data_of(w).options.model_dump(mode="json"),
        seeds=lambda w: list(data_of(w).seeds.data),
        code=code_of_data("generate_data"),
    message:
        "Generate data: {wildcards.data}"
    script:
        "../scripts/generate_data.py"
