# Input and parameter functions: what a rule needs for its wildcards, stage by stage.


def experiment_of(wildcards):
    return SETUPS[wildcards.experiment]


def setting_name(wildcards):
    return setting_in(wildcards.setting)


def setting_of(wildcards):
    return experiment_of(wildcards).settings[setting_name(wildcards)]


def kerhrm_of(wildcards):
    return setting_of(wildcards).methods.kerhrm


def seeds_of(wildcards):
    return experiment_of(wildcards).replicates


def hidden_of(wildcards):
    return list(experiment_of(wildcards).hidden)


def of_table(table):
    """Experiments that a table shows."""
    return [name for name, e in EXPERIMENTS.items() if e.table == table]


# --- data ---


def data_of(wildcards):
    return setting_of(wildcards).data.model_dump(mode="json")


def raw_of(wildcards):
    """Raw files that a setting is made from."""
    needs = {
        "colored_mnist": f"{RESULTS}/raw/mnist.npz",
        "houses": f"{RESULTS}/raw/houses.npz",
    }
    return needs.get(setting_of(wildcards).data.generator, [])


def lost_files(wildcards):
    """No file: tells Snakemake to make again what an interrupted run has lost.

    That can only be told while the DAG is built, which calls input functions; and data
    sets are at the root of every DAG.
    """
    make_lost_files_again(workflow)
    return []


# --- features ---


def k_max_of(wildcards):
    """Largest dimension that any method of the setting uses."""
    setting = setting_of(wildcards)
    k = list(setting.methods.kerhrm.k)
    return max(k + [setting.methods.released.k] if "released" in setting.run else k)


# --- iterations ---


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


def candidate_k_of(wildcards):
    return list(kerhrm_of(wildcards).k)


def clustering_of(wildcards):
    return kerhrm_of(wildcards).clustering.model_dump(mode="json")


def invariance_of(wildcards):
    return kerhrm_of(wildcards).invariance.model_dump(mode="json")


# --- predictors ---


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


def released_of(wildcards):
    return setting_of(wildcards).methods.released.model_dump(mode="json")


# --- methods without features ---

# Methods that are given the labels of the training environments.
LABELLED = ("irm", "iga")


def method_code(wildcards):
    return code(f"train_{wildcards.method}")


def labels_of(wildcards):
    """The true environments, for the methods that are given them."""
    if wildcards.method not in LABELLED:
        return []
    return f"{SETTING}/data/environments.npz".format(**wildcards)


def options_of(wildcards):
    """Option sets to train with: the selected and the oracle's, or in `tune` the grid."""
    name, methods = wildcards.method, setting_of(wildcards).methods
    if name == "least_squares":
        return [{}]
    if name in ("erm", "grayscale"):
        return [methods.erm.model_dump(mode="json")]
    baseline = getattr(methods, name)
    if wildcards.experiment not in EXPERIMENTS:
        return [c.model_dump(mode="json") for c in baseline.candidates()]
    chosen = [baseline.selected] + ([baseline.oracle] if baseline.oracle else [])
    return [c.model_dump(mode="json") for c in chosen]


# --- scoring ---

# Prediction files in the order of the tables' rows, and the name in `run` that makes each.
PREDICTIONS = {
    "erm": "erm",
    "dro": "dro",
    "eiil": "eiil",
    "hrm": "hrm",
    "irm": "irm",
    "kerhrm-s": "kerhrm",
    "kerhrm-ntf": "kerhrm",
    "kerhrm-network": "igd",
    "released": "released",
    "kerhrm-true": "true_environments",
    "iga": "iga",
    "grayscale": "grayscale",
    "least_squares": "least_squares",
}
CANDIDATES = {"kerhrm-ntf": "kerhrm", "kerhrm-network": "igd"}


def predictions_of(wildcards):
    names = [
        n for n, cause in PREDICTIONS.items() if cause in setting_of(wildcards).run
    ]
    return [f"{SETTING}/predictions/{n}.npz".format(**wildcards) for n in names]


def candidates_of(wildcards):
    names = [n for n, cause in CANDIDATES.items() if cause in setting_of(wildcards).run]
    return [f"{SETTING}/candidates/{n}.npz".format(**wildcards) for n in names]


def protocol_of(wildcards):
    return experiment_of(wildcards).protocol


# --- tuning ---


def tuning_files(wildcards, name):
    return [
        f"{RESULTS}/tune-{wildcards.tuned}/{folder_of(s)}/{name}"
        for s in TUNINGS[wildcards.tuned].settings
    ]


def tuning_predictions(wildcards):
    methods = EXPERIMENTS[wildcards.tuned].tuned_methods
    return [p for m in methods for p in tuning_files(wildcards, f"predictions/{m}.npz")]


def tuning_train(wildcards):
    return tuning_files(wildcards, "data/train.npz")


def tuning_validation(wildcards):
    return tuning_files(wildcards, "data/validation.npz")


def tuning_environments(wildcards):
    return tuning_files(wildcards, "data/environments.npz")


def tuning_test_labels(wildcards):
    return tuning_files(wildcards, "data/test_labels.npz")


# --- collecting ---


def scores_of(wildcards):
    names = experiment_of(wildcards).settings
    return [
        f"{RESULTS}/{wildcards.experiment}/{folder_of(s)}/scores.csv" for s in names
    ]


def restarts_of(wildcards):
    """Environments of every iteration of every setting."""
    return [
        f"{RESULTS}/{wildcards.experiment}/{folder_of(setting)}/iterations/{t}/environments.npz"
        for setting, options in experiment_of(wildcards).settings.items()
        if "kerhrm" in options.run
        for t in range(1, options.methods.kerhrm.iterations + 1)
    ]


# --- reporting ---


def table_scores(wildcards):
    return [f"{RESULTS}/scores/{name}.csv" for name in of_table(wildcards.table)]


def table_restarts(wildcards):
    return [f"{RESULTS}/restarts/{name}.csv" for name in of_table(wildcards.table)]


def table_title(wildcards):
    names = [EXPERIMENTS[name].title for name in of_table(wildcards.table)]
    kind, number = wildcards.table[:-1], wildcards.table[-1]
    return f"{kind.capitalize()} {number}: {'; '.join(names)}"


def notebook_of(wildcards):
    return os.path.relpath(ROOT / "notebooks" / f"{wildcards.table}.ipynb")


def notebook_code(wildcards):
    return fingerprint(notebook_of(wildcards))


def pictures_of(target):
    """Files of a figure; tables show theirs in the notebook alone."""
    formats = ["png", "pdf"] if target in FIGURES else []
    return expand(f"{RESULTS}/figures/{target}.{{format}}", format=formats)
