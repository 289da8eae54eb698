# What is learned -> predictions.  One file per row of the tables, all of the same form;


rule predict_ntf:
    input:
        features=owned("features", "features/training.npz"),
        test_features=owned("features", "features/test.npz"),
        environments=of_iterations("environments"),
        theta=of_iterations("theta"),
        heterogeneity=guard_of,
    output:
        direction=f"{SETTING}/direction.npz",
        static=f"{SETTING}/predictions/kerhrm-s.npz",
        final=f"{SETTING}/predictions/kerhrm-ntf.npz",
    log:
        f"{LOGS}/predict_ntf/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/predict_ntf/{ONE_SETTING}.tsv"
    group:
        "kerhrm"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(5),
        gpu=GPU,
    params:
        rule=end_of,
        k=option("methods.kerhrm.k"),
        device=CONFIG.device,
        threads=THREADS,
        code=code("predict_ntf"),
    message:
        "NTF predictor of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/predict_ntf.py"


rule train_network:
    input:
        train=owned("data", "data/train.npz"),
        validation=owned("data", "data/validation.npz"),
        test_inputs=owned("data", "data/test_inputs.npz"),
        features=owned("features", "features/training.npz"),
        environments=of_iterations("environments"),
        direction=owned("direction", "direction.npz"),
    output:
        predictions=f"{SETTING}/predictions/kerhrm-network.npz",
        network=f"{SETTING}/networks/kerhrm.npz",
    log:
        f"{LOGS}/train_network/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/train_network/{ONE_SETTING}.tsv"
    group:
        "kerhrm"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        network=of_experiment("network"),
        seeds=of_experiment("seeds"),
        igd=option("methods.kerhrm.network"),
        selection=option("methods.kerhrm.selection"),
        device=CONFIG.device,
        threads=THREADS,
        code=igd_code,
    message:
        "KerHRM's network for {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/train_network.py"


# Outputs are (seeds, option sets, points): what rules have chosen and, in `tune` and in the
# settings that it looks at, all that is on trial.
rule train_method:
    input:
        train=owned("data", "data/train.npz"),
        validation=owned("data", "data/validation.npz"),
        test_inputs=owned("data", "data/test_inputs.npz"),
        environments=labels_of,
    output:
        f"{SETTING}/predictions/{{method}}.npz",
    log:
        f"{LOGS}/train_method/{ONE_SETTING}/{{method}}.log",
    benchmark:
        f"{BENCHMARKS}/train_method/{ONE_SETTING}/{{method}}.tsv"
    wildcard_constraints:
        method=any_of(reading("points")),
    group:
        "methods"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        method=method_of,
        options=options_of,
        network=of_experiment("network"),
        seeds=of_experiment("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=method_code,
    message:
        "Train {wildcards.method} on {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/train_method.py"


# Methods that learn a direction on KerHRM's features.
use rule train_method as train_on_features with:
    input:
        features=owned("features", "features/training.npz"),
        test_features=owned("features", "features/test.npz"),
        environments=labels_of,
    log:
        f"{LOGS}/train_on_features/{ONE_SETTING}/{{method}}.log",
    benchmark:
        f"{BENCHMARKS}/train_on_features/{ONE_SETTING}/{{method}}.tsv"
    wildcard_constraints:
        method=any_of(reading("features")),
    group:
        "kerhrm"


# Methods that go from features to a network, in one job.
rule train_whole:
    input:
        train=owned("data", "data/train.npz"),
        validation=owned("data", "data/validation.npz"),
        test_inputs=owned("data", "data/test_inputs.npz"),
        features=owned("features", "features/training.npz"),
        test_features=owned("features", "features/test.npz"),
        heterogeneity=guard_of_whole,
    output:
        network=f"{SETTING}/predictions/{{method}}.npz",
        ntf=f"{SETTING}/predictions/{{method}}-ntf.npz",
    log:
        f"{LOGS}/train_whole/{ONE_SETTING}/{{method}}.log",
    benchmark:
        f"{BENCHMARKS}/train_whole/{ONE_SETTING}/{{method}}.tsv"
    wildcard_constraints:
        method=any_of(reading("whole")),
    group:
        "kerhrm"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        method=method_of,
        options=options_of,
        network=of_experiment("network"),
        seeds=of_experiment("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=whole_code,
    message:
        "Train {wildcards.method} on {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/train_method.py"
