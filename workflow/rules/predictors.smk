# KerHRM's predictors: theta, environments, data -> predictions.  One file per method, all
# of the same form; candidates/ holds what was tried on the way, for the selection rules'
# comparison.


rule predict_ntf:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        environments=all_environments,
        theta=all_thetas,
    output:
        direction=f"{SETTING}/direction.npz",
        static=f"{SETTING}/predictions/kerhrm-s.npz",
        final=f"{SETTING}/predictions/kerhrm-ntf.npz",
        candidates=f"{SETTING}/candidates/kerhrm-ntf.npz",
    log:
        f"{LOGS}/predict_ntf/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/predict_ntf/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(5),
        gpu=GPU,
    params:
        device=CONFIG.device,
        threads=THREADS,
        code=code("predict_ntf"),
    script:
        "../scripts/predict_ntf.py"


rule train_network:
    input:
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test_inputs=rules.generate_data.output.test_inputs,
        psi=rules.reduce_ntf.output[0],
        environments=all_environments,
        direction=rules.predict_ntf.output.direction,
    output:
        predictions=f"{SETTING}/predictions/kerhrm-network.npz",
        candidates=f"{SETTING}/candidates/kerhrm-network.npz",
        network=f"{SETTING}/networks/kerhrm.npz",
    log:
        f"{LOGS}/train_network/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/train_network/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        hidden=hidden_of,
        network=network_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("train_network"),
    script:
        "../scripts/train_network.py"


rule predict_with_true_environments:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        environments=rules.generate_data.output.environments,
    output:
        f"{SETTING}/predictions/kerhrm-true.npz",
    log:
        f"{LOGS}/predict_with_true_environments/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/predict_with_true_environments/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(10),
        gpu=GPU,
    params:
        k=candidate_k_of,
        invariance=invariance_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("predict_with_true_environments"),
    script:
        "../scripts/predict_with_true_environments.py"


rule train_released:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
    output:
        f"{SETTING}/predictions/released.npz",
    log:
        f"{LOGS}/train_released/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/train_released/{ONE_SETTING}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
        gpu=GPU,
    params:
        released=released_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("train_released"),
    script:
        "../scripts/train_released.py"
