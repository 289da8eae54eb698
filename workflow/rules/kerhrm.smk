# Algorithm 1 for learners with `steps: true`, whose iterations are jobs:
#     learn_environments   M_c: environments_t from what iterations 1, ..., t - 1 have left
#     learn_direction      M_p: theta_t from all environments so far
# Both files are what iteration t + 1 starts from, and any of them can be made again:
#     snakemake -f results/paper/classification/r2=0.70/kerhrm/iterations/2/environments.npz

WITH_STEPS = any_of(CONFIG.with_steps)


def shows_iterations(wildcards):
    """Whether a table shows every iteration of a learner."""
    cell = tuple(at(wildcards).values())
    return any(
        cell in table.cells for table in TABLES.values() if table.kind == "iterations"
    )


def last_iteration(wildcards):
    return options_of(wildcards)["n_iterations"]


def options_of(wildcards):
    """Options of a learner that has one candidate."""
    return parameters(**at(wildcards))["candidates"][0]


def pretest_of(wildcards):
    """The test for heterogeneity, where there is one: binary labels cannot be tested."""
    pretest = options_of(wildcards)["pretest"]
    if pretest is None or parameters(**at(wildcards))["task"] != "regression":
        return []
    return "<run>/{data}/{setting}/{learner}/heterogeneity.npz".format(**at(wildcards))


rule test_heterogeneity:
    input:
        features="<run>/{data}/{setting}/features/training.npz",
        train="<run>/{data}/{setting}/data/train.npz",
    output:
        "<run>/{data}/{setting}/{learner}/heterogeneity.npz",
    log:
        "<run>/logs/test_heterogeneity/{data}/{setting}/{learner}.log",
    benchmark:
        "<run>/benchmarks/test_heterogeneity/{data}/{setting}/{learner}.tsv"
    wildcard_constraints:
        learner=WITH_STEPS,
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
    params:
        pretest=lambda wildcards: options_of(wildcards)["pretest"],
        seeds=of("seeds"),
        threads=THREADS,
        code=code("test_heterogeneity"),
    message:
        "Test for heterogeneity: {wildcards.data}/{wildcards.setting}/{wildcards.learner}"
    script:
        "../scripts/test_heterogeneity.py"


rule learn_environments:
    input:
        features="<run>/{data}/{setting}/features/training.npz",
        train="<run>/{data}/{setting}/data/train.npz",
        validation="<run>/{data}/{setting}/data/validation.npz",
        environments=iterations("environments", 1, lambda w: int(w.t) - 1),
        directions=iterations("directions", 1, lambda w: int(w.t) - 1),
    output:
        "<run>/{data}/{setting}/{learner}/iterations/{t}/environments.npz",
    log:
        "<run>/logs/learn_environments/{data}/{setting}/{learner}/{t}.log",
    benchmark:
        "<run>/benchmarks/learn_environments/{data}/{setting}/{learner}/{t}.tsv"
    wildcard_constraints:
        learner=WITH_STEPS,
    priority: 1
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
        gpu=GPU,
    params:
        options=options_of,
        seeds=of("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=code("learn_environments"),
    message:
        "M_c, iteration {wildcards.t}: {wildcards.data}/{wildcards.setting}/{wildcards.learner}"
    script:
        "../scripts/learn_environments.py"


rule learn_direction:
    input:
        features="<run>/{data}/{setting}/features/training.npz",
        environments=iterations("environments", 1, lambda w: int(w.t)),
    output:
        "<run>/{data}/{setting}/{learner}/iterations/{t}/directions.npz",
    log:
        "<run>/logs/learn_direction/{data}/{setting}/{learner}/{t}.log",
    benchmark:
        "<run>/benchmarks/learn_direction/{data}/{setting}/{learner}/{t}.tsv"
    wildcard_constraints:
        learner=WITH_STEPS,
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(5),
        gpu=GPU,
    params:
        options=options_of,
        seeds=of("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=code_of("learn_direction", "penalties"),
    message:
        "M_p, iteration {wildcards.t}: {wildcards.data}/{wildcards.setting}/{wildcards.learner}"
    script:
        "../scripts/learn_direction.py"


rule train_network:
    input:
        train="<run>/{data}/{setting}/data/train.npz",
        validation="<run>/{data}/{setting}/data/validation.npz",
        test_inputs="<run>/{data}/{setting}/data/test_inputs.npz",
        features="<run>/{data}/{setting}/features/training.npz",
        test_features="<run>/{data}/{setting}/features/test.npz",
        environments=iterations("environments", 1, last_iteration),
        directions=iterations("directions", 1, last_iteration),
        heterogeneity=pretest_of,
    output:
        "<run>/{data}/{setting}/{learner}/predictions.npz",
    log:
        "<run>/logs/train_network/{data}/{setting}/{learner}.log",
    benchmark:
        "<run>/benchmarks/train_network/{data}/{setting}/{learner}.tsv"
    wildcard_constraints:
        learner=WITH_STEPS,
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        options=options_of,
        outputs=lambda w: list(parameters(**at(w))["titles"]),
        task=of("task"),
        iterations=shows_iterations,
        network=of("network"),
        seeds=of("seeds"),
        device=CONFIG.device,
        threads=THREADS,
        code=code_of("train_network"),
    message:
        "Train the network: {wildcards.data}/{wildcards.setting}/{wildcards.learner}"
    script:
        "../scripts/train_network.py"
