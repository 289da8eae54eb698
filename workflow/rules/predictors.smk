# theta, environments, data -> predictions.  One file per method, all of the same form;
# candidates/ holds what was tried on the way, for the selection rules' comparison.


def iterations_of(wildcards, name):
    """A file of every iteration t = 1, ..., T."""
    return [
        f"{SETTING}/iterations/{t}/{name}.npz".format(**wildcards)
        for t in range(1, kerhrm_of(wildcards).iterations + 1)
    ]


def all_environments(wildcards):
    return iterations_of(wildcards, "environments")


def all_thetas(wildcards):
    return iterations_of(wildcards, "theta")


def network_of(wildcards):
    return kerhrm_of(wildcards).network.model_dump(mode="json")


def erm_of(wildcards):
    return setting_of(wildcards).methods.erm.model_dump(mode="json")


rule predict_ntf:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        environments=all_environments,
        theta=all_thetas,
    output:
        direction=SETTING + "/direction.npz",
        static=SETTING + "/predictions/kerhrm-s.npz",
        final=SETTING + "/predictions/kerhrm-ntf.npz",
        candidates=SETTING + "/candidates/kerhrm-ntf.npz",
    params:
        device=CONFIG.device,
        threads=THREADS,
        code=code("predict_ntf"),
    log:
        LOGS + "predict_ntf/{experiment}/{setting}.log",
    benchmark:
        BENCHMARKS + "predict_ntf/{experiment}/{setting}.tsv"
    threads: THREADS
    resources:
        mem_mb=4000,
        runtime=10,
        gpu=GPU,
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
        predictions=SETTING + "/predictions/kerhrm-network.npz",
        candidates=SETTING + "/candidates/kerhrm-network.npz",
        network=SETTING + "/networks/kerhrm.npz",
    params:
        hidden=hidden_of,
        network=network_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("train_network"),
    log:
        LOGS + "train_network/{experiment}/{setting}.log",
    benchmark:
        BENCHMARKS + "train_network/{experiment}/{setting}.tsv"
    threads: THREADS
    resources:
        mem_mb=6000,
        runtime=120,
        gpu=GPU,
    script:
        "../scripts/train_network.py"


rule train_erm:
    input:
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test_inputs=rules.generate_data.output.test_inputs,
    output:
        predictions=SETTING + "/predictions/erm.npz",
        network=SETTING + "/networks/erm.npz",
    params:
        hidden=hidden_of,
        erm=erm_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("train_erm"),
    log:
        LOGS + "train_erm/{experiment}/{setting}.log",
    benchmark:
        BENCHMARKS + "train_erm/{experiment}/{setting}.tsv"
    threads: THREADS
    resources:
        mem_mb=6000,
        runtime=120,
        gpu=GPU,
    script:
        "../scripts/train_erm.py"
