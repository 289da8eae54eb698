# All other learners.  One by all criteria of a table, and the candidates of a search, are one job,
# since most of a job is its start; any other name is a job of its own.


def features_of(wildcards, name="training"):
    """Features, for methods that work on them."""
    if not learner_of(wildcards).needs_features:
        return []
    return f"<run>/{wildcards.data}/features/{name}.npz"


def environments_of(wildcards):
    """True environments, for methods that are given them."""
    if not learner_of(wildcards).needs_environments:
        return []
    return f"<run>/{wildcards.data}/data/environments.npz"


rule train:
    input:
        train="<run>/{data}/data/train.npz",
        validation="<run>/{data}/data/validation.npz",
        test_inputs="<run>/{data}/data/test_inputs.npz",
        features=features_of,
        test_features=lambda w: features_of(w, "test"),
        true_environments=environments_of,
    output:
        "<run>/{data}/{learner}/predictions.npz",
    log:
        "<run>/logs/train/{data}/{learner}.log",
    benchmark:
        "<run>/benchmarks/train/{data}/{learner}.tsv"
    wildcard_constraints:
        learner=f"(?!{WITH_ITERATIONS}/)[^/]+",
    group:
        "methods"
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        data=replication,
        learners=lambda w: [learner_params(w)],
        device=CONFIG.device,
        threads=THREADS,
        code=code_of_learners("train", lambda w: [learner_of(w)]),
    message:
        "Train: {wildcards.data}/{wildcards.learner}"
    script:
        "../scripts/train.py"


for rule_name, group in TOGETHER.items():
    together = [checked(CONFIG.learner, group.data, name) for name in group.learners]
    first_cell = together[0]  # of the same base, so that all need the same files
    data_cell = checked(CONFIG.data, group.data)
    entries = [entry for cell in together for entry in cell.entries.values()]
    first_name = f"{group.data}/{group.learners[0]}"

    rule:
        name:
            rule_name
        input:
            train=f"<run>/{group.data}/data/train.npz",
            validation=f"<run>/{group.data}/data/validation.npz",
            test_inputs=f"<run>/{group.data}/data/test_inputs.npz",
            features=(
                f"<run>/{group.data}/features/training.npz"
                if first_cell.needs_features
                else []
            ),
            test_features=(
                f"<run>/{group.data}/features/test.npz"
                if first_cell.needs_features
                else []
            ),
            true_environments=(
                f"<run>/{group.data}/data/environments.npz"
                if first_cell.needs_environments
                else []
            ),
        output:
            [
                f"<run>/{group.data}/{learner}/predictions.npz"
                for learner in group.learners
            ],
        log:
            f"<run>/logs/train/{first_name}.log",
        benchmark:
            f"<run>/benchmarks/train/{first_name}.tsv"
        group:
            "methods"
        threads: THREADS
        resources:
            mem_mb=memory(6000),
            runtime=minutes(60),
            gpu=GPU,
        params:
            data=data_cell.replication.params(),
            learners=[cell.params() for cell in together],
            device=CONFIG.device,
            threads=THREADS,
            code=code("train", *dict.fromkeys(entries), *module_of(data_cell)),
        message:
            f"Train: {group.data}: {', '.join(group.learners)}"
        script:
            "../scripts/train.py"
