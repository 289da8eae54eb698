# Input and parameter functions: what a rule needs for its wildcards, stage by stage.


def experiment_of(wildcards):
    return EXPERIMENTS[wildcards.experiment]


def setting_of(wildcards):
    return experiment_of(wildcards).settings[wildcards.setting]


def kerhrm_of(wildcards):
    return setting_of(wildcards).methods.kerhrm


def seeds_of(wildcards):
    return experiment_of(wildcards).seeds


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
    needs = {"colored_mnist": f"{RESULTS}/raw/mnist.npz"}
    return needs.get(setting_of(wildcards).data.generator, [])


# --- features ---


def k_max_of(wildcards):
    return max(kerhrm_of(wildcards).k)


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


def erm_of(wildcards):
    return setting_of(wildcards).methods.erm.model_dump(mode="json")


# --- scoring ---

# Which files a method leaves, in the order of the tables' rows.
PREDICTIONS = {
    "erm": ["erm"],
    "kerhrm": ["kerhrm-s", "kerhrm-ntf"],
    "igd": ["kerhrm-network"],
}
CANDIDATES = {"erm": [], "kerhrm": ["kerhrm-ntf"], "igd": ["kerhrm-network"]}


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


# --- reporting ---


def table_scores(wildcards):
    return [f"{RESULTS}/scores/{name}.csv" for name in of_table(wildcards.table)]


def table_restarts(wildcards):
    return [f"{RESULTS}/restarts/{name}.csv" for name in of_table(wildcards.table)]


def table_title(wildcards):
    names = [EXPERIMENTS[name].title for name in of_table(wildcards.table)]
    return f"Table {wildcards.table.removeprefix('table')}: {'; '.join(names)}"


def notebook_of(wildcards):
    return os.path.relpath(ROOT / "notebooks" / f"{wildcards.table}.ipynb")


def notebook_code(wildcards):
    return fingerprint(notebook_of(wildcards))
