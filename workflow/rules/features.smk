# data set -> neural tangent features on disk -> reduced features Psi


rule extract_ntf:
    input:
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test=rules.generate_data.output.test_inputs,
    output:
        train=f"{SETTING}/ntf/train.npz",
        validation=f"{SETTING}/ntf/validation.npz",
        test=f"{SETTING}/ntf/test.npz",
    log:
        f"{LOGS}/extract_ntf/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/extract_ntf/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(10),
        gpu=GPU,
    params:
        hidden=hidden_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("extract_ntf"),
    script:
        "../scripts/extract_ntf.py"


rule reduce_ntf:
    input:
        train=rules.extract_ntf.output.train,
        validation=rules.extract_ntf.output.validation,
        test=rules.extract_ntf.output.test,
    output:
        f"{SETTING}/psi.npz",
    log:
        f"{LOGS}/reduce_ntf/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/reduce_ntf/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(20),
        gpu=GPU,
    params:
        k=k_max_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("reduce_ntf"),
    script:
        "../scripts/reduce_ntf.py"
