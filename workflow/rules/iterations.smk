# The loop of Algorithm 1.  Iteration t consists of
#     learn_environments   M_c: environments_t from Psi_V (Psi without theta_(t-1))
#     learn_direction      M_p: theta_t from all environments so far
# and both files are the checkpoint from which iteration t+1 starts.  Any one can be
# rerun: snakemake -f results/paper/classification/r2=0.70/iterations/2/environments.npz


rule learn_environments:
    input:
        features=owned("features", "features/training.npz"),
        theta=last_theta,
        earlier=earlier_thetas,
        begin=last_environments,
        inputs=inputs_clustered,
    output:
        f"{ITERATION}/environments.npz",
    log:
        f"{LOGS}/learn_environments/{ONE_SETTING}/{{t}}.log",
    benchmark:
        f"{BENCHMARKS}/learn_environments/{ONE_SETTING}/{{t}}.tsv"
    group:
        "kerhrm"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
        gpu=GPU,
    params:
        options=search_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("learn_environments"),
    message:
        "M_c, iteration {wildcards.t} of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/learn_environments.py"


rule learn_direction:
    input:
        features=owned("features", "features/training.npz"),
        environments=environments_so_far,
    output:
        f"{ITERATION}/theta.npz",
    log:
        f"{LOGS}/learn_direction/{ONE_SETTING}/{{t}}.log",
    benchmark:
        f"{BENCHMARKS}/learn_direction/{ONE_SETTING}/{{t}}.tsv"
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
        invariance=option("methods.kerhrm.invariance"),
        selection=option("methods.kerhrm.selection"),
        device=CONFIG.device,
        threads=THREADS,
        code=penalty_code,
    message:
        "M_p, iteration {wildcards.t} of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/learn_direction.py"


# Whether there is anything to find in regression data; where not, the next rule falls back.
rule test_heterogeneity:
    input:
        features=owned("features", "features/training.npz"),
        train=owned("data", "data/train.npz"),
    output:
        f"{SETTING}/heterogeneity.npz",
    log:
        f"{LOGS}/test_heterogeneity/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/test_heterogeneity/{ONE_SETTING}.tsv"
    group:
        "kerhrm"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
    params:
        options=option("methods.kerhrm.guard"),
        threads=THREADS,
        code=code("test_heterogeneity"),
    message:
        "Test {wildcards.experiment}, {wildcards.setting} for environments"
    script:
        "../scripts/test_heterogeneity.py"


# What Figure 2 shows beside the iterations: where they begin, and the released code's.
rule learn_beside:
    input:
        features=owned("features", "features/training.npz"),
    output:
        pooled=f"{SETTING}/pooled.npz",
        released=f"{SETTING}/released.npz",
    log:
        f"{LOGS}/learn_beside/{ONE_SETTING}.log",
    benchmark:
        f"{BENCHMARKS}/learn_beside/{ONE_SETTING}.tsv"
    group:
        "kerhrm"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
        gpu=GPU,
    params:
        k=option("methods.kerhrm.k"),
        released=option("methods.released"),
        device=CONFIG.device,
        threads=THREADS,
        code=code("learn_beside"),
    message:
        "Pooled ERM and released iterations of {wildcards.experiment}, {wildcards.setting}"
    script:
        "../scripts/learn_beside.py"
