# Input and parameter functions: what a rule needs for its wildcards, stage by stage.


def experiment_of(wildcards):
    return SETUPS[wildcards.experiment]


def setting_name(wildcards):
    name, known = setting_in(wildcards.setting), experiment_of(wildcards).settings
    if name not in known:
        told = f"{wildcards.experiment} has no setting '{name}'; {suggest(name, known)}"
        raise WorkflowError(told)
    return name


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
    """Raw file that a setting is made from, or the user's own."""
    data = setting_of(wildcards).data
    raw = source_of(data)
    return f"{RUN}/raw/{raw}.npz" if raw else file_of(data) or []


def digest_of(wildcards):
    """Hash of the user's file: another content makes the data anew, whatever the file's time."""
    path = file_of(setting_of(wildcards).data)
    if path is None or not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def data_code(wildcards):
    data = setting_of(wildcards).data
    raw = [RAW[source_of(data)]] if source_of(data) else []
    return code("generate_data", DATA_SETS[data.generator].entry, *raw)


def ntf_code(wildcards):
    return code("extract_ntf", *network_code(wildcards))


def reduce_code(wildcards):
    return code("reduce_ntf", *network_code(wildcards))


def landmarks_code(wildcards):
    return code("reduce_by_landmarks", *network_code(wildcards))


def score_code(wildcards):
    truths = DATA_SETS[setting_of(wildcards).data.generator].truths
    return code("score", *([truths] if truths else []))


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


def earlier_thetas(wildcards):
    """theta_1, ..., theta_(t-2), where Psi_V is Psi without all directions so far."""
    if kerhrm_of(wildcards).clustering.projection != "all":
        return []
    return iterations_until(int(wildcards.t) - 2, "theta", wildcards)


def inputs_clustered(wildcards):
    """Training and validation points, where the first clustering has the kernel x1^T x2."""
    if wildcards.t != "1" or kerhrm_of(wildcards).clustering.kernel != "inputs":
        return []
    parts = ("train", "validation")
    return [owned("data", f"data/{part}.npz")(wildcards) for part in parts]


def last_environments(wildcards):
    """Environments of the last iteration, with which nested starts begin."""
    t, starts = int(wildcards.t), kerhrm_of(wildcards).clustering.starts
    if t == 1 or starts != "nested":
        return []
    return owned("iterations", f"iterations/{t - 1}/environments.npz")(wildcards)


def iterations_until(last, name, wildcards):
    """A file of every iteration 1, ..., ``last``."""
    files = [f"iterations/{t}/{name}.npz" for t in range(1, last + 1)]
    return [owned("iterations", file)(wildcards) for file in files]


def environments_so_far(wildcards):
    return iterations_until(int(wildcards.t), "environments", wildcards)


def search_of(wildcards):
    """Options of M_c; later iterations may keep the k chosen in the one before."""
    kerhrm = plain(kerhrm_of(wildcards))
    free = wildcards.t == "1" or kerhrm["clustering"]["later_k"] == "free"
    return {name: kerhrm[name] for name in ("k", "clustering") if name != "k" or free}


def penalty_code(wildcards):
    return code("learn_direction", PENALTIES[kerhrm_of(wildcards).invariance.penalty])


def is_tested(setting):
    """Whether a setting's data are tested for environments: binary labels cannot be."""
    regression = task_of(setting.data) == "regression"
    return regression and setting.methods.kerhrm.guard is not None


def guard_of(wildcards):
    """The test for environments, if there is one."""
    if not is_tested(setting_of(wildcards)):
        return []
    return owned("heterogeneity", "heterogeneity.npz")(wildcards)


def end_of(wildcards):
    """How the loop ends: arguments of `kerhrm.algorithm.prediction.finish`."""
    kerhrm = kerhrm_of(wildcards)
    return {"rule": kerhrm.selection, "end": kerhrm.end}


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
    names = ("entry", "options", "reads", "path")
    return {name: getattr(method, name) for name in names}


def method_code(wildcards):
    method, entries = METHODS[wildcards.method], network_code(wildcards)
    if method.reads == "features":
        entries = [PENALTIES[kerhrm_of(wildcards).invariance.penalty]]
    return code("train_method", *method.entries, *entries)


def told_whole(wildcards):
    """What Algorithm 1 is told where one job runs it: the first of its option sets."""
    return experiment_of(wildcards).choices(setting_name(wildcards), wildcards.method)[
        0
    ]


def whole_code(wildcards):
    penalty = PENALTIES[told_whole(wildcards)["invariance"]["penalty"]]
    entries = [penalty, *network_code(wildcards)]
    return code("train_method", *METHODS[wildcards.method].entries, *entries)


def guard_of_whole(wildcards):
    """The test for environments, where the options have one."""
    regression = task_of(setting_of(wildcards).data) == "regression"
    if not regression or told_whole(wildcards)["guard"] is None:
        return []
    return owned("heterogeneity", "heterogeneity.npz")(wildcards)


def labels_of(wildcards):
    """The true environments, for the methods that are given them."""
    if not METHODS[wildcards.method].labels:
        return []
    return owned("data", "data/environments.npz")(wildcards)


def options_of(wildcards):
    """Option sets to train with: those that rules have chosen, and all on trial for an oracle."""
    experiment = experiment_of(wildcards)
    try:
        return experiment.options(setting_name(wildcards), wildcards.method)
    except KerhrmError as error:
        # Snakemake tells exceptions of such functions with all frames and wildcards, and this
        # one not at all: it ends the process, which tells it in one line.
        sys.exit(f"error: {error}")
