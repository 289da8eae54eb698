# All other learners, each in one job: outputs of all its candidates on all seeds.


def features_of(wildcards):
    """Features, for methods that work on them."""
    if not parameters(**at(wildcards))["needs_features"]:
        return []
    return "<run>/{data}/{setting}/features/training.npz".format(**at(wildcards))


def test_features_of(wildcards):
    if not parameters(**at(wildcards))["needs_features"]:
        return []
    return "<run>/{data}/{setting}/features/test.npz".format(**at(wildcards))


def environments_of(wildcards):
    """True environments, for methods that are given them."""
    if not parameters(**at(wildcards))["needs_environments"]:
        return []
    return "<run>/{data}/{setting}/data/environments.npz".format(**at(wildcards))


rule train:
    input:
        train="<run>/{data}/{setting}/data/train.npz",
        validation="<run>/{data}/{setting}/data/validation.npz",
        test_inputs="<run>/{data}/{setting}/data/test_inputs.npz",
        features=features_of,
        test_features=test_features_of,
        true_environments=environments_of,
    output:
        "<run>/{data}/{setting}/{learner}/predictions.npz",
    log:
        "<run>/logs/train/{data}/{setting}/{learner}.log",
    benchmark:
        "<run>/benchmarks/train/{data}/{setting}/{learner}.tsv"
    wildcard_constraints:
        learner=f"(?!({WITH_STEPS})/)[^/]+",
    group:
        "methods"
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        entries=of("entries"),
        candidates=of("candidates"),
        outputs=lambda w: list(parameters(**at(w))["titles"]),
        criteria=of("criteria"),
        task=of("task"),
        iterations=shows_iterations,
        network=of("network"),
        seeds=of("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=code_of("train", "entries", "penalties"),
    message:
        "Train: {wildcards.data}/{wildcards.setting}/{wildcards.learner}"
    script:
        "../scripts/train.py"
