# data set -> neural tangent features on disk -> reduced features Psi


def k_max_of(wildcards):
    return max(kerhrm_of(wildcards).k)


rule extract_ntf:
    input:
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test=rules.generate_data.output.test_inputs,
    output:
        train=SETTING + "/ntf/train.npz",
        validation=SETTING + "/ntf/validation.npz",
        test=SETTING + "/ntf/test.npz",
    params:
        hidden=hidden_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("extract_ntf"),
    log:
        LOGS + "extract_ntf/{experiment}/{setting}.log",
    benchmark:
        BENCHMARKS + "extract_ntf/{experiment}/{setting}.tsv"
    threads: THREADS
    resources:
        mem_mb=4000,
        runtime=20,
        gpu=GPU,
    script:
        "../scripts/extract_ntf.py"


rule reduce_ntf:
    input:
        train=rules.extract_ntf.output.train,
        validation=rules.extract_ntf.output.validation,
        test=rules.extract_ntf.output.test,
    output:
        SETTING + "/psi.npz",
    params:
        k=k_max_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("reduce_ntf"),
    log:
        LOGS + "reduce_ntf/{experiment}/{setting}.log",
    benchmark:
        BENCHMARKS + "reduce_ntf/{experiment}/{setting}.tsv"
    threads: THREADS
    resources:
        mem_mb=6000,
        runtime=30,
        gpu=GPU,
    script:
        "../scripts/reduce_ntf.py"
