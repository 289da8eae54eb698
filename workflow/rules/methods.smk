# Every method that is trained on the data themselves: one rule, one script per method.
# Outputs are (seeds, option sets, points): the selected option set, then the oracle's.


rule train_method:
    input:
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test_inputs=rules.generate_data.output.test_inputs,
        environments=labels_of,
    output:
        f"{SETTING}/predictions/{{method}}.npz",
    log:
        f"{LOGS}/train_method/{ONE_SETTING}/{{method}}.log",
    benchmark:
        f"{BENCHMARKS}/train_method/{ONE_SETTING}/{{method}}.tsv"
    wildcard_constraints:
        method="erm|dro|eiil|hrm|irm|iga|grayscale|least_squares",
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        options=options_of,
        hidden=hidden_of,
        device=CONFIG.device,
        threads=THREADS,
        code=method_code,
    script:
        "../scripts/train_{wildcards.method}.py"
