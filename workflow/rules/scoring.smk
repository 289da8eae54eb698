# predictions + test labels -> scores: the only rule that reads test labels.

# Which files a method leaves, in the order of the tables' rows.
PREDICTIONS = {"erm": ["erm"], "kerhrm": ["kerhrm-s", "kerhrm-ntf", "kerhrm-network"]}
CANDIDATES = {"erm": [], "kerhrm": ["kerhrm-ntf", "kerhrm-network"]}


def predictions_of(wildcards):
    names = [n for method in setting_of(wildcards).run for n in PREDICTIONS[method]]
    return [f"{SETTING}/predictions/{n}.npz".format(**wildcards) for n in names]


def candidates_of(wildcards):
    names = [n for method in setting_of(wildcards).run for n in CANDIDATES[method]]
    return [f"{SETTING}/candidates/{n}.npz".format(**wildcards) for n in names]


def scores_of(wildcards):
    names = experiment_of(wildcards).settings
    return [f"{RESULTS}/{wildcards.experiment}/{s}/scores.csv" for s in names]


def restarts_of(wildcards):
    """Environments of every iteration of every setting."""
    return [
        f"{RESULTS}/{wildcards.experiment}/{setting}/iterations/{t}/environments.npz"
        for setting, options in experiment_of(wildcards).settings.items()
        if "kerhrm" in options.run
        for t in range(1, options.methods.kerhrm.iterations + 1)
    ]


rule score:
    input:
        predictions=predictions_of,
        candidates=candidates_of,
        train=rules.generate_data.output.train,
        validation=rules.generate_data.output.validation,
        test_labels=rules.generate_data.output.test_labels,
    output:
        SETTING + "/scores.csv",
    params:
        code=code("score"),
    log:
        LOGS + "score/{experiment}/{setting}.log",
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/score.py"


rule collect_scores:
    input:
        scores_of,
    output:
        f"{RESULTS}/scores/{{experiment}}.csv",
    params:
        code=code("collect_scores"),
    log:
        LOGS + "collect_scores/{experiment}.log",
    script:
        "../scripts/collect_scores.py"


rule report_restarts:
    input:
        restarts_of,
    output:
        f"{RESULTS}/restarts/{{experiment}}.csv",
    params:
        code=code("report_restarts"),
    log:
        LOGS + "report_restarts/{experiment}.log",
    script:
        "../scripts/report_restarts.py"
