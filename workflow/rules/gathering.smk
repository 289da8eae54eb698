# Input and parameter functions of what gathers results: scores, tuning, tables.

# --- scoring ---


def predictions_of(wildcards):
    """The files of all methods of a setting, in the order of the rows."""
    at = wildcards.experiment, setting_name(wildcards)
    run = setting_of(wildcards).run
    if experiment_of(wildcards).protocol == "iterations":  # which looks at theta itself
        return []
    return [
        of_owner(*at, stage_of(name), f"predictions/{row.stem}.npz")
        for name in METHODS
        if name in run
        for row in METHODS[name].rows
    ]


def with_option_sets(wildcards):
    """Methods of a setting whose predictions are of several option sets, and their rows."""
    run = setting_of(wildcards).run
    return [
        (name, row)
        for name in METHODS
        if name in run and METHODS[name].reads != "kerhrm"
        for row in METHODS[name].rows
    ]


def shown_in(wildcards):
    """By file of predictions and selection rule: the number of the option set chosen."""
    experiment, setting = experiment_of(wildcards), setting_name(wildcards)
    return {
        row.stem: experiment.shown(setting, name)
        for name, row in with_option_sets(wildcards)
    }


def bounded_in(wildcards):
    """Files of predictions among whose option sets an oracle chooses, too."""
    if not experiment_of(wildcards).has_oracle(setting_name(wildcards)):
        return []
    pairs = with_option_sets(wildcards)
    return [row.stem for name, row in pairs if METHODS[name].grid]


def stage_of(method):
    """Stage of :mod:`kerhrm.config.sharing` that a method's predictions belong to."""
    return {"kerhrm": "direction", "igd": "network"}.get(method, f"method:{method}")


def iterations_if_scored(name):
    """Input function: files of the iterations where the protocol looks at them."""

    def paths(wildcards):
        if experiment_of(wildcards).protocol != "iterations":
            return []
        if name in ("training", "test"):
            return owned("features", f"features/{name}.npz")(wildcards)
        return of_iterations(name)(wildcards)

    return paths


def beside_iterations(name):
    """Input function: what is scored beside the iterations, where the protocol is theirs."""

    def path(wildcards):
        if experiment_of(wildcards).protocol != "iterations":
            return []
        return f"{RUN}/{wildcards.experiment}/{wildcards.setting}/{name}.npz"

    return path


# --- collecting ---


def scores_of(wildcards):
    names = experiment_of(wildcards).settings
    return [f"{RUN}/{wildcards.experiment}/{folder_of(s)}/scores.csv" for s in names]


def searches_of(experiment):
    """Setting and iteration of every clustering that an experiment shows."""
    return [
        (name, t)
        for name, setting in SETUPS[experiment].settings.items()
        if "kerhrm" in setting.run
        for t in range(1, setting.methods.kerhrm.iterations + 1)
    ]


def searches_shown(wildcards):
    return [list(search) for search in searches_of(wildcards.experiment)]


def environments_of(wildcards):
    return [
        of_owner(
            wildcards.experiment, name, "iterations", f"iterations/{t}/environments.npz"
        )
        for name, t in searches_of(wildcards.experiment)
    ]


def running(method):
    """Parameter function: settings in whose predictions a step of KerHRM ends."""

    def names(wildcards):
        experiment = experiment_of(wildcards)
        if experiment.protocol == "iterations":  # which looks at theta itself
            return []
        return [name for name, s in experiment.settings.items() if method in s.run]

    return names


def chosen_in(method, file):
    """Input function: a file of that step, of every such setting."""

    def paths(wildcards):
        at, stage = wildcards.experiment, stage_of(method)
        return [of_owner(at, name, stage, file) for name in running(method)(wildcards)]

    return paths


def tested_settings(wildcards):
    """Parameter function: settings whose data were tested for environments."""
    settings = experiment_of(wildcards).settings
    return [name for name in running("kerhrm")(wildcards) if is_tested(settings[name])]


def tests_of(wildcards):
    at, file = wildcards.experiment, "heterogeneity.npz"
    names = tested_settings(wildcards)
    return [of_owner(at, name, "heterogeneity", file) for name in names]


# --- tuning ---


def sets_on_trial(wildcards):
    """By method what distinguishes the option sets of a search."""
    tuned = SETUPS[f"tune-{wildcards.tuned}"]
    first = next(iter(tuned.settings))
    return {
        name: [plain(one) for one in tuned.trained(first, name)]
        for name in tuned.settings[first].run
    }


def tuning_files(stage, file):
    """Input function: a file of every setting of a search."""

    def paths(wildcards):
        tuned = f"tune-{wildcards.tuned}"
        return [of_owner(tuned, s, stage, file) for s in SETUPS[tuned].settings]

    return paths


def searched_rows(wildcards):
    """Setting, method and row of every prediction of a search."""
    tuned = SETUPS[f"tune-{wildcards.tuned}"]
    return [
        (s, m, row.stem)
        for m in METHODS
        for s, setting in tuned.settings.items()
        if m in setting.run
        for row in METHODS[m].rows
    ]


def tuning_predictions(wildcards):
    tuned = f"tune-{wildcards.tuned}"
    return [
        of_owner(tuned, s, f"method:{m}", f"predictions/{stem}.npz")
        for s, m, stem in searched_rows(wildcards)
    ]


# --- data sets of one's own ---


def of_dataset(stage, file):
    """Input function: a file of the one setting that a data set has."""

    def path(wildcards):
        (setting,) = SETUPS[wildcards.experiment].settings
        return of_owner(wildcards.experiment, setting, stage, file)

    return path


def dataset_iterations(wildcards):
    """Environments of every iteration; none without KerHRM."""
    found = searches_of(wildcards.experiment)
    return environments_of(wildcards) if found else []


def dataset_truth(wildcards):
    """The hidden rows of a semi-synthetic table, which environments are compared with."""
    (setting,) = SETUPS[wildcards.experiment].settings.values()
    if setting.data.inject is None:
        return []
    return of_dataset("data", "data/environments.npz")(wildcards)


# --- reporting ---


def of_table(table):
    """Experiments that a table shows."""
    return [name for name, e in EXPERIMENTS.items() if e.table == table]


def kept_of(experiments):
    """What is published of experiments beside their tables."""
    kinds = ("scores", "choices", "restarts")
    return [f"{RUN}/{kind}/{name}.csv" for kind in kinds for name in experiments]


def table_scores(wildcards):
    return [f"{RUN}/scores/{name}.csv" for name in of_table(wildcards.table)]


def table_restarts(wildcards):
    """Reports on the clusterings, of the experiments that have any."""
    shown = [name for name in of_table(wildcards.table) if searches_of(name)]
    return [f"{RUN}/restarts/{name}.csv" for name in shown]


def table_choices(wildcards):
    """Reports on what KerHRM's rule has chosen."""
    return [f"{RUN}/choices/{name}.csv" for name in of_table(wildcards.table)]


def table_described(wildcards):
    """What the page of a data set tells, beside the numbers."""
    return described(wildcards.table) if wildcards.table in DATASETS else []


def described(table):
    return f"{RUN}/described/{DATASETS[table]}.json"


def table_title(wildcards):
    return title_of(
        {name: EXPERIMENTS[name].title for name in of_table(wildcards.table)}
    )


def table_about(wildcards):
    return "\n\n".join(EXPERIMENTS[name].about for name in of_table(wildcards.table))


def notebook_of(wildcards):
    (notebook,) = {EXPERIMENTS[name].notebook for name in of_table(wildcards.table)}
    return os.path.relpath(ROOT / "notebooks" / f"{notebook}.ipynb")


def notebook_code(wildcards):
    return fingerprint(ROOT / "notebooks" / Path(notebook_of(wildcards)).name)


def products_of(table):
    """Files that the target of a table or figure stands for."""
    files = [f"tables/{table}.{suffix}" for suffix in ("csv", "md", "tex")]
    files += [f"tables/{table}-comparisons.csv"]
    files += [
        f"figures/{table}.{suffix}" for suffix in ("png", "pdf") if table in FIGURES
    ]
    files += [
        f"figures/{table}-variants.{suffix}"
        for suffix in ("png", "pdf")
        if table in VARIED
    ]
    files += [f"pages/{table}.html"] if table in DATASETS else []
    return [f"{RUN}/{file}" for file in (*files, f"notebooks/{table}.ipynb")]
