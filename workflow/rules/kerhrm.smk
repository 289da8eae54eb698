# Algorithm 1 for learners with `checkpoint_iterations: true`, whose iterations are jobs:
#     learn_environments   M_c: environments_t from what iterations 1, ..., t - 1 have left
#     learn_direction      M_p: theta_t from all environments so far
# Both files are what iteration t + 1 starts from, and any of them can be made again:
#     snakemake -f results/paper/classification+r2=0.7/kerhrm/iterations/2/environments.npz

#: names of these learners, but for those of another selection criterion, which one job trains
WITH_ITERATIONS = (
    rf"(?:{any_of(CONFIG.checkpointed)})(?:\+(?!select=)[^/+]+)*"
    if CONFIG.checkpointed
    else "(?!)"
)


def last_iteration(wildcards):
    return learner_of(wildcards).options.n_iterations


def pretest_of(wildcards):
    """The test for heterogeneity, where there is one: binary labels cannot be tested."""
    if learner_of(wildcards).options.pretest is None:
        return []
    if data_of(wildcards).task != "regression":
        return []
    return f"<run>/{wildcards.data}/{wildcards.learner}/heterogeneity.npz"


def penalty_of(wildcards):
    """Penalty of M_p, whose code it runs, in a list."""
    entries = learner_of(wildcards).entries
    return [entries["penalty"]] if "penalty" in entries else []


def learner_params(wildcards):
    """Parameter function: what a job needs to know of its learner."""
    return learner_of(wildcards).params()


def iteration_params(wildcards):
    """Parameter function: what an iteration needs to know of its learner."""
    params = learner_params(wildcards)
    return {key: params[key] for key in ("options", "n_seeds")}


rule test_heterogeneity:
    input:
        features="<run>/{data}/features/training.npz",
        train="<run>/{data}/data/train.npz",
    output:
        "<run>/{data}/{learner}/heterogeneity.npz",
    log:
        "<run>/logs/test_heterogeneity/{data}/{learner}.log",
    benchmark:
        "<run>/benchmarks/test_heterogeneity/{data}/{learner}.tsv"
    wildcard_constraints:
        learner=WITH_ITERATIONS,
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
    params:
        pretest=lambda w: learner_of(w).options.pretest.model_dump(mode="json"),
        n_seeds=lambda w: learner_of(w).n_seeds,
        threads=THREADS,
        code=code("test_heterogeneity"),
    message:
        "Test for heterogeneity: {wildcards.data}/{wildcards.learner}"
    script:
        "../scripts/test_heterogeneity.py"


rule learn_environments:
    input:
        features="<run>/{data}/features/training.npz",
        train="<run>/{data}/data/train.npz",
        validation="<run>/{data}/data/validation.npz",
        environments=iterations("environments", 1, lambda w: int(w.t) - 1),
        directions=iterations("directions", 1, lambda w: int(w.t) - 1),
    output:
        "<run>/{data}/{learner}/iterations/{t}/environments.npz",
    log:
        "<run>/logs/learn_environments/{data}/{learner}/{t}.log",
    benchmark:
        "<run>/benchmarks/learn_environments/{data}/{learner}/{t}.tsv"
    wildcard_constraints:
        learner=WITH_ITERATIONS,
    priority: 1
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
        gpu=GPU,
    params:
        learner=iteration_params,
        device=CONFIG.device,
        threads=THREADS,
        code=code("learn_environments"),
    message:
        "M_c, iteration {wildcards.t}: {wildcards.data}/{wildcards.learner}"
    script:
        "../scripts/learn_environments.py"


rule learn_direction:
    input:
        features="<run>/{data}/features/training.npz",
        environments=iterations("environments", 1, lambda w: int(w.t)),
    output:
        "<run>/{data}/{learner}/iterations/{t}/directions.npz",
    log:
        "<run>/logs/learn_direction/{data}/{learner}/{t}.log",
    benchmark:
        "<run>/benchmarks/learn_direction/{data}/{learner}/{t}.tsv"
    wildcard_constraints:
        learner=WITH_ITERATIONS,
    group:
        "kerhrm"
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(5),
        gpu=GPU,
    params:
        learner=iteration_params,
        device=CONFIG.device,
        threads=THREADS,
        code=lambda w: code("learn_direction", *penalty_of(w)),
    message:
        "M_p, iteration {wildcards.t}: {wildcards.data}/{wildcards.learner}"
    script:
        "../scripts/learn_direction.py"


rule train_network:
    input:
        train="<run>/{data}/data/train.npz",
        validation="<run>/{data}/data/validation.npz",
        test_inputs="<run>/{data}/data/test_inputs.npz",
        features="<run>/{data}/features/training.npz",
        test_features="<run>/{data}/features/test.npz",
        environments=iterations("environments", 1, last_iteration),
        directions=iterations("directions", 1, last_iteration),
        heterogeneity=pretest_of,
    output:
        "<run>/{data}/{learner}/predictions.npz",
    log:
        "<run>/logs/train_network/{data}/{learner}.log",
    benchmark:
        "<run>/benchmarks/train_network/{data}/{learner}.tsv"
    wildcard_constraints:
        learner=WITH_ITERATIONS,
    group:
        "kerhrm"
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
        code=lambda w: code("train_network", *module_of(data_of(w))),
    message:
        "Train the network: {wildcards.data}/{wildcards.learner}"
    script:
        "../scripts/train_network.py"
