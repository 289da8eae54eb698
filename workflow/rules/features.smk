# data -> reduced neural tangent features Psi: those of training, and those of the test points,
# which only predictions read.


rule extract_features:
    input:
        train="<run>/{data}/data/train.npz",
        validation="<run>/{data}/data/validation.npz",
        test_inputs="<run>/{data}/data/test_inputs.npz",
    output:
        training="<run>/{data}/features/training.npz",
        test="<run>/{data}/features/test.npz",
    log:
        "<run>/logs/extract_features/{data}.log",
    benchmark:
        "<run>/benchmarks/extract_features/{data}.tsv"
    priority: 1
    group:
        "features"
    threads: THREADS
    resources:
        mem_mb=memory(12000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        data=replication,
        device=CONFIG.device,
        threads=THREADS,
        code=lambda w: code("extract_features", *module_of(data_of(w))),
    message:
        "Extract features: {wildcards.data}"
    script:
        "../scripts/extract_features.py"
