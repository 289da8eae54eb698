# The first line of a run: preset, size, and what it may take.


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
