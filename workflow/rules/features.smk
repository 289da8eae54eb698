# data set -> neural tangent features on disk -> reduced features Psi
#
# The features themselves are large and go as soon as they have been reduced; a rule that
# needs them again has them made again.  What comes of them is cut in two: what training may
# know, and the test points, which only prediction opens.


# Of many points features are never all at hand, but in blocks, and reduced by landmarks.
rule reduce_by_landmarks:
    input:
        train=owned("data", "data/train.npz"),
        validation=owned("data", "data/validation.npz"),
        test_inputs=owned("data", "data/test_inputs.npz"),
    output:
        landmarks=f"{SETTING}/features/landmarks.npz",
        features=f"{SETTING}/features/training.npz",
        test_features=f"{SETTING}/features/test.npz",
    log:
        f"{LOGS}/reduce_by_landmarks/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/reduce_by_landmarks/{ONE_SETTING}.tsv"
    wildcard_constraints:
        experiment=any_of(BY_LANDMARKS),
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(12000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        network=of_experiment("network"),
        landmarks=of_experiment("features"),
        k=k_max_of,
        seeds=of_experiment("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=landmarks_code,
    message:
        "Features by landmarks of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/reduce_by_landmarks.py"


rule extract_ntf:
    input:
        train=owned("data", "data/train.npz"),
        validation=owned("data", "data/validation.npz"),
        test=owned("data", "data/test_inputs.npz"),
    output:
        train=temp(f"{SETTING}/ntf/train.npz"),
        validation=temp(f"{SETTING}/ntf/validation.npz"),
        test=temp(f"{SETTING}/ntf/test.npz"),
    log:
        f"{LOGS}/extract_ntf/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/extract_ntf/{ONE_SETTING}.tsv"
    group:
        "features"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(10),
        gpu=GPU,
    params:
        network=of_experiment("network"),
        seeds=of_experiment("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=ntf_code,
    message:
        "Neural tangent features of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/extract_ntf.py"


rule reduce_ntf:
    input:
        ntf=rules.extract_ntf.output,
        train=owned("data", "data/train.npz"),
        validation=owned("data", "data/validation.npz"),
    output:
        features=f"{SETTING}/features/training.npz",
        test_features=f"{SETTING}/features/test.npz",
    log:
        f"{LOGS}/reduce_ntf/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/reduce_ntf/{ONE_SETTING}.tsv"
    wildcard_constraints:
        experiment=any_of(set(SETUPS) - set(BY_LANDMARKS)),
    group:
        "features"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(20),
        gpu=GPU,
    params:
        k=k_max_of,
        seeds=of_experiment("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=reduce_code,
    message:
        "Singular value decomposition for {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/reduce_ntf.py"
