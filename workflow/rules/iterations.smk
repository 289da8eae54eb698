# The loop of Algorithm 1.  Iteration t consists of
#     cluster           M_c: environments_t from Psi_V (Psi without theta_(t-1))
#     learn_invariant   M_p: theta_t from all environments so far
# and both files are the checkpoint from which iteration t+1 starts.  Any one can be
# rerun: snakemake -f results/paper/classification/r2=0.70/iterations/2/environments.npz


rule cluster:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        theta=last_theta,
    output:
        f"{ITERATION}/environments.npz",
    log:
        f"{LOGS}/cluster/{ONE_SETTING}/{{t}}.log",
    benchmark:
        f"{BENCHMARKS}/cluster/{ONE_SETTING}/{{t}}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(15),
        gpu=GPU,
    params:
        k=k_of,
        clustering=clustering_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("cluster"),
    script:
        "../scripts/cluster.py"


rule learn_invariant:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        environments=environments_so_far,
    output:
        f"{ITERATION}/theta.npz",
    log:
        f"{LOGS}/learn_invariant/{ONE_SETTING}/{{t}}.log",
    benchmark:
        f"{BENCHMARKS}/learn_invariant/{ONE_SETTING}/{{t}}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=memory(4000),
        runtime=minutes(5),
        gpu=GPU,
    params:
        invariance=invariance_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("learn_invariant"),
    script:
        "../scripts/learn_invariant.py"
