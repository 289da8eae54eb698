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
    cells = [checked(CONFIG.learner, group.data, learner) for learner in group.learners]
    data, first = checked(CONFIG.data, group.data), f"{group.data}/{group.learners[0]}"
    needs = cells[0]
    entries = [entry for cell in cells for entry in cell.entries.values()]

    rule:
        name:
            rule_name
        input:
            train=f"<run>/{group.data}/data/train.npz",
            validation=f"<run>/{group.data}/data/validation.npz",
            test_inputs=f"<run>/{group.data}/data/test_inputs.npz",
            features=(
                f"<run>/{group.data}/features/training.npz"
                if needs.needs_features
                else []
            ),
            test_features=(
                f"<run>/{group.data}/features/test.npz" if needs.needs_features else []
            ),
            true_environments=(
                f"<run>/{group.data}/data/environments.npz"
                if needs.needs_environments
                else []
            ),
        output:
            [
                f"<run>/{group.data}/{learner}/predictions.npz"
                for learner in group.learners
            ],
        log:
            f"<run>/logs/train/{first}.log",
        benchmark:
            f"<run>/benchmarks/train/{first}.tsv"
        group:
            "methods"
        threads: THREADS
        resources:
            mem_mb=memory(6000),
            runtime=minutes(60),
            gpu=GPU,
        params:
            data=data.replication.params(),
            learners=[cell.params() for cell in cells],
            device=CONFIG.device,
            threads=THREADS,
            code=code("train", *dict.fromkeys(entries), *module_of(data)),
        message:
            f"Train: {group.data}: {', '.join(group.learners)}"
        script:
            "../scripts/train.py"
