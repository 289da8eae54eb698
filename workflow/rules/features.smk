# data -> reduced neural tangent features Psi: those of training, and those of the test points,
# which only predictions read.


rule extract_features:
    input:
        train="<run>/{data}/{setting}/data/train.npz",
        validation="<run>/{data}/{setting}/data/validation.npz",
        test_inputs="<run>/{data}/{setting}/data/test_inputs.npz",
    output:
        training="<run>/{data}/{setting}/features/training.npz",
        test="<run>/{data}/{setting}/features/test.npz",
    log:
        "<run>/logs/extract_features/{data}/{setting}.log",
    benchmark:
        "<run>/benchmarks/extract_features/{data}/{setting}.tsv"
    priority: 1
    group:
        "features"
    threads: THREADS
    resources:
        mem_mb=memory(12000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        network=of("network"),
        features=of("features"),
        k=of("k_max"),
        task=of("task"),
        seeds=of("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=code_of("extract_features"),
    message:
        "Extract features: {wildcards.data}/{wildcards.setting}"
    script:
        "../scripts/extract_features.py"
