# The loop of Algorithm 1.  Iteration t consists of
#     cluster           M_c: environments_t from Psi_V (Psi without theta_(t-1))
#     learn_invariant   M_p: theta_t from all environments so far
# and both files are the checkpoint from which iteration t+1 starts.  Any one can be
# rerun: snakemake -f results/paper/classification/r2=0.70/iterations/2/environments.npz

ITERATION = SETTING + "/iterations/{t}"


def last_theta(wildcards):
    """theta_(t-1); the first iteration has none."""
    t = int(wildcards.t)
    if t == 1:
        return []
    return f"{SETTING}/iterations/{t - 1}/theta.npz".format(**wildcards)


def environments_so_far(wildcards):
    return [
        f"{SETTING}/iterations/{t}/environments.npz".format(**wildcards)
        for t in range(1, int(wildcards.t) + 1)
    ]


def k_of(wildcards):
    """Candidate dimensions; later iterations keep the k chosen in the one before."""
    return list(kerhrm_of(wildcards).k) if int(wildcards.t) == 1 else None


def clustering_of(wildcards):
    return kerhrm_of(wildcards).clustering.model_dump(mode="json")


def invariance_of(wildcards):
    return kerhrm_of(wildcards).invariance.model_dump(mode="json")


rule cluster:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        theta=last_theta,
    output:
        ITERATION + "/environments.npz",
    params:
        k=k_of,
        clustering=clustering_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("cluster"),
    log:
        LOGS + "cluster/{experiment}/{setting}/{t}.log",
    benchmark:
        BENCHMARKS + "cluster/{experiment}/{setting}/{t}.tsv"
    threads: THREADS
    resources:
        mem_mb=4000,
        runtime=60,
        gpu=GPU,
    script:
        "../scripts/cluster.py"


rule learn_invariant:
    input:
        psi=rules.reduce_ntf.output[0],
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        environments=environments_so_far,
    output:
        ITERATION + "/theta.npz",
    params:
        invariance=invariance_of,
        device=CONFIG.device,
        threads=THREADS,
        code=code("learn_invariant"),
    log:
        LOGS + "learn_invariant/{experiment}/{setting}/{t}.log",
    benchmark:
        BENCHMARKS + "learn_invariant/{experiment}/{setting}/{t}.tsv"
    threads: THREADS
    resources:
        mem_mb=4000,
        runtime=20,
        gpu=GPU,
    script:
        "../scripts/learn_invariant.py"
