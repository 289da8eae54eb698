# What was measured besides the tables (docs/studies.md): one rule for each study.
#     snakemake --cores 2 study_pretest                        half an hour: results/paper/studies
#     snakemake --cores 2 study_drift --config preset=smoke    a few data sets, in seconds
# What a study reads and writes is declared in src/kerhrm_paper/studies/registry.py; its units of
# work, summaries and figures are in the module that the declaration names.

from kerhrm_paper.studies import registry

# None whose raw data are of a data set that the user leaves out; a target says so.
STUDIES = {
    name: study
    for name, study in registry.STUDIES.items()
    if study.raw is None or study.raw in RAW
}
LEFT_OUT = {
    registry.TARGET + name: study.raw
    for name, study in registry.STUDIES.items()
    if name not in STUDIES
}
for name, raw in LEFT_OUT.items():
    if COMMAND and name in COMMAND.targets:
        raise WorkflowError(
            f"{name} needs the raw data {raw}, whose data set the configuration leaves "
            f"out; delete its null in data"
        )
STUDY_RULES = [registry.TARGET + name for name in STUDIES]
SMOKE = CONFIG.preset == "smoke"


def read_by(study):
    """Named inputs of a study: raw data of the run, and files of the checkout."""
    files = {name: own(file) for name, file in study.files_read.items()}
    if study.raw:
        files["raw"] = f"<run>/raw/{study.raw}.npz"
    return files


for name, study in STUDIES.items():

    rule:
        name:
            registry.TARGET + name
        input:
            **read_by(study),
        output:
            [
                shown(
                    f"<run>/studies/{file}", "study", "Studies", study=name, file=file
                )
                for file in study.files
            ],
        # In full, as the names that the workflow reserves are read from such texts.
        log:
            f"<run>/logs/study_{name}.log",
        benchmark:
            f"<run>/benchmarks/study_{name}.tsv"
        threads: THREADS
        resources:
            mem_mb=memory(study.memory_mb),
            runtime=minutes(2 * study.minutes),
        params:
            study=study.entry,
            few=study.smoke if SMOKE else None,
            threads=THREADS,
            code=code("run_study", study.entry, *study.methods),
        message:
            f"Study: {name}"
        script:
            "../scripts/run_study.py"


rule studies:
    """All studies."""
    input:
        [f"<run>/studies/{file}" for study in STUDIES.values() for file in study.files],
    localrule: True
