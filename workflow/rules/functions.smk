# Input and parameter functions: what a rule needs for its wildcards, stage by stage.


def experiment_of(wildcards):
    return SETUPS[wildcards.experiment]


def setting_name(wildcards):
    return setting_in(wildcards.setting)


def setting_of(wildcards):
    return experiment_of(wildcards).settings[setting_name(wildcards)]


def kerhrm_of(wildcards):
    return setting_of(wildcards).methods.kerhrm


def plain(options):
    """Options as JSON-able values, which Snakemake compares with those of the last run."""
    return options.model_dump(mode="json")


def looked_up(root, path):
    """Parameter function: what stands at a place below the experiment or the setting."""

    def value(wildcards):
        found = functools.reduce(getattr, path.split("."), root(wildcards))
        return plain(found) if hasattr(found, "model_dump") else found

    return value


def option(path):
    return looked_up(setting_of, path)


def of_experiment(path):
    return looked_up(experiment_of, path)


def of_owner(experiment, setting, stage, file):
    """Path of a file in the folder of the setting that makes it."""
    owner, name = SHARED.owner(experiment, setting, stage)
    return f"{RUN}/{owner}/{folder_of(name)}/{file}"


def owned(stage, file):
    """Input function: a file of a stage, made once for all settings that share it."""

    def path(wildcards):
        return of_owner(wildcards.experiment, setting_name(wildcards), stage, file)

    return path


def lost_of(experiments):
    """Lost files that settings of these experiments use, and that a rule still makes."""
    used = {
        f"{RUN}/{owner}/{folder_of(name)}/": {
            row.stem
            for method in SETUPS[owner].settings[name].run
            for row in METHODS[method].rows
        }
        for experiment in experiments
        for owner, name in SHARED.used_by(experiment)
    }
    return [
        file
        for folder, stems in used.items()
        for file in LOST
        if file.startswith(folder)
        and (f"{folder}predictions/" not in file or Path(file).stem in stems)
    ]


# --- data and features ---


def raw_code(wildcards):
    return code("fetch_raw", RAW[wildcards.raw])


def network_code(wildcards):
    """Entry points behind the network, for the fingerprint."""
    factory = experiment_of(wildcards).network.module
    return [factory] if factory else []


def raw_of(wildcards):
    """Raw file that a setting is made from."""
    raw = DATA_SETS[setting_of(wildcards).data.generator].raw
    return f"{RUN}/raw/{raw}.npz" if raw else []


def data_code(wildcards):
    data_set = DATA_SETS[setting_of(wildcards).data.generator]
    raw = [RAW[data_set.raw]] if data_set.raw else []
    return code("generate_data", data_set.entry, *raw)


def ntf_code(wildcards):
    return code("extract_ntf", *network_code(wildcards))


def reduce_code(wildcards):
    return code("reduce_ntf", *network_code(wildcards))


def k_max_of(wildcards):
    """Largest dimension that any method uses which shares the features."""
    return SHARED.k_max(wildcards.experiment, setting_name(wildcards))


# --- iterations ---


def last_theta(wildcards):
    """theta_(t-1); the first iteration has none."""
    t = int(wildcards.t)
    return (
        []
        if t == 1
        else owned("iterations", f"iterations/{t - 1}/theta.npz")(wildcards)
    )


def iterations_until(last, name, wildcards):
    """A file of every iteration 1, ..., ``last``."""
    files = [f"iterations/{t}/{name}.npz" for t in range(1, last + 1)]
    return [owned("iterations", file)(wildcards) for file in files]


def environments_so_far(wildcards):
    return iterations_until(int(wildcards.t), "environments", wildcards)


def search_of(wildcards):
    """Options of M_c; later iterations keep the k chosen in the one before."""
    kerhrm = plain(kerhrm_of(wildcards))
    return {
        name: kerhrm[name]
        for name in ("k", "clustering")
        if name != "k" or wildcards.t == "1"
    }


def penalty_code(wildcards):
    return code("learn_direction", PENALTIES[kerhrm_of(wildcards).invariance.penalty])


def igd_code(wildcards):
    return code("train_network", *network_code(wildcards))


def of_iterations(name):
    """Input function: a file of every iteration t = 1, ..., T."""

    def paths(wildcards):
        return iterations_until(kerhrm_of(wildcards).iterations, name, wildcards)

    return paths


# --- methods ---


def reading(kind):
    """Names of the methods that are given points, or features."""
    return [name for name, method in METHODS.items() if method.reads == kind]


def method_of(wildcards):
    """What the training script has to know of a method."""
    method = METHODS[wildcards.method]
    return {"entry": method.entry, "options": method.options, "reads": method.reads}


def method_code(wildcards):
    method, entries = METHODS[wildcards.method], network_code(wildcards)
    if method.section == "kerhrm":
        entries = [PENALTIES[kerhrm_of(wildcards).invariance.penalty]]
    return code("train_method", *method.entries, *entries)


def labels_of(wildcards):
    """The true environments, for the methods that are given them."""
    if not METHODS[wildcards.method].labels:
        return []
    return owned("data", "data/environments.npz")(wildcards)


def options_of(wildcards):
    """Option sets to train with: the selected and the oracle's, or in `tune` the grid."""
    experiment = experiment_of(wildcards)
    return experiment.options(setting_name(wildcards), wildcards.method)


# --- scoring ---


def scored(folder, skipped=()):
    """Input function: the files of all methods of a setting, in the order of the rows."""

    def paths(wildcards):
        at = wildcards.experiment, setting_name(wildcards)
        run = setting_of(wildcards).run
        if (
            experiment_of(wildcards).protocol == "iterations"
        ):  # which looks at theta itself
            return []
        return [
            of_owner(*at, stage_of(name), f"{folder}/{row.stem}.npz")
            for name in METHODS
            if name in run
            and (folder == "predictions" or METHODS[name].reads == "kerhrm")
            for row in METHODS[name].rows
            if row.stem not in skipped
        ]

    return paths


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


# --- tuning ---


def tuning_files(stage, file):
    """Input function: a file of every setting of a search."""

    def paths(wildcards):
        tuned = f"tune-{wildcards.tuned}"
        return [of_owner(tuned, s, stage, file) for s in SETUPS[tuned].settings]

    return paths


def searched_methods(wildcards):
    """Setting and method of every prediction of a search."""
    tuned = SETUPS[f"tune-{wildcards.tuned}"]
    return [
        (s, m)
        for m in METHODS
        for s, setting in tuned.settings.items()
        if m in setting.run
    ]


def tuning_predictions(wildcards):
    tuned = f"tune-{wildcards.tuned}"
    return [
        of_owner(tuned, s, f"method:{m}", f"predictions/{m}.npz")
        for s, m in searched_methods(wildcards)
    ]


# --- reporting ---


def of_table(table):
    """Experiments that a table shows."""
    return [name for name, e in EXPERIMENTS.items() if e.table == table]


def table_scores(wildcards):
    return [f"{RUN}/scores/{name}.csv" for name in of_table(wildcards.table)]


def table_restarts(wildcards):
    """Reports on the clusterings, of the experiments that have any."""
    shown = [name for name in of_table(wildcards.table) if searches_of(name)]
    return [f"{RUN}/restarts/{name}.csv" for name in shown]


def table_title(wildcards):
    return "; ".join(EXPERIMENTS[name].title for name in of_table(wildcards.table))


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
    files += [
        f"figures/{table}.{suffix}" for suffix in ("png", "pdf") if table in FIGURES
    ]
    return [f"{RUN}/{file}" for file in (*files, f"notebooks/{table}.ipynb")]


# --- the first line of a run ---


def jobs_from_nothing():
    """How many jobs `all` has in an empty folder."""
    made = {(t, kind) for t in TABLES for kind in ("summarise", "render")}
    made |= {(name, "collect") for name in EXPERIMENTS} | {
        "configuration",
        "check",
        "all",
    }
    for name, experiment in EXPERIMENTS.items():
        for setting, options in experiment.settings.items():
            stages = {"data": 1} | {stage_of(method): 1 for method in options.run}
            if "kerhrm" in options.run:
                stages |= {
                    "features": 2,
                    "iterations": 2 * options.methods.kerhrm.iterations,
                }
            if experiment.protocol == "iterations":  # looks at theta itself
                stages = {
                    s: n
                    for s, n in stages.items()
                    if s in ("data", "features", "iterations")
                }
            owned = (
                (SHARED.owner(name, setting, s), s, i)
                for s, n in stages.items()
                for i in range(n)
            )
            made |= {
                *owned,
                (name, setting, "score"),
                DATA_SETS[options.data.generator].raw,
            }
    return len(made - {None})


def seconds_of(folder):
    """Seconds of the jobs of a run, from the benchmarks that it has left."""
    rows = []
    for path in Path(folder).rglob("*.tsv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file, delimiter="\t")
    return sum(float(row["s"]) for row in rows)


def first_line():
    """Preset, size and expected time of a complete run."""
    seconds = seconds_of(BENCHMARKS) or (
        seconds_of(REFERENCE) if CONFIG.preset == "paper" else 0
    )
    took = (
        f"about {max(1, round(seconds / 60))} core-minutes last time"
        if seconds
        else "time unknown"
    )
    return f"kerhrm: preset {CONFIG.preset}, {jobs_from_nothing()} jobs from nothing, {took} -> {RUN}"


if "--mode" not in sys.argv:  # and not a job's own Snakemake on a cluster
    print(first_line(), file=sys.stderr)
