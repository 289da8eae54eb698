# The first line of a run: preset, size, what it took; what the jobs to come will take, as the
# last line of a dry run and the first of another; and their order, which follows from it.


def jobs_from_nothing():
    """How many jobs `all` has in an empty folder."""
    tables = {EXPERIMENTS[name].table for name in IN_ALL}
    made = {(t, kind) for t in tables for kind in ("summarise", "render")}
    made |= {(name, "collect") for name in IN_ALL} | {
        "configuration",
        "check",
        "all",
    }
    for name in IN_ALL:
        experiment = EXPERIMENTS[name]
        for setting, options in experiment.settings.items():
            stages = {"data": 1} | {stage_of(method): 1 for method in options.run}
            if "kerhrm" in options.run:
                stages |= {
                    "features": 2,
                    "iterations": 2 * options.methods.kerhrm.iterations,
                    "heterogeneity": int(is_tested(options)),
                }
            if experiment.protocol == "iterations":  # looks at theta itself
                stages = {
                    s: n
                    for s, n in stages.items()
                    if s in ("data", "features", "iterations")
                }
                made.add((name, setting, "beside"))
            owned = (
                (SHARED.owner(name, setting, s), s, i)
                for s, n in stages.items()
                for i in range(n)
            )
            made |= {
                *owned,
                (name, setting, "score"),
                source_of(options.data),
            }
    return len(made - {None})


def first_line():
    """Preset, size and time of the last run."""
    seconds = sum(cost.s for cost in OWN_COSTS.values())
    took = (
        f"about {max(1, round(seconds / 60))} core-minutes last time"
        if seconds
        else "never run"
    )
    return f"kerhrm: preset {CONFIG.preset}, {jobs_from_nothing()} jobs from nothing, {took} -> {RUN}"


def predicted(dag):
    """What the jobs that will run are going to take, by Snakemake's ids of them."""
    needed = {job: dag.jobid(job) for job in dag.needrun_jobs(exclude_finished=False)}
    jobs = {}
    for job, number in needed.items():
        # A job that does something has a benchmark, named by its rule and by what it is of.
        key = Path(str(job.benchmark).removesuffix(".tsv")) if job.benchmark else Path()
        key = key.relative_to(BENCHMARKS).parts if job.benchmark else ()
        needs = [
            needed[other] for other in dag.job_dependencies(job) if other in needed
        ]
        asked = job.resources.get("mem_mb", 0) if key else 0
        jobs[number] = Job(
            key,
            job.threads,
            asked if isinstance(asked, int) else 0,
            needs,
            size_of(key, SETUPS) if key else None,
        )
    return predict(jobs, stored(Path(REFERENCE), OWN_COSTS), cores_given())


def cores_given():
    """Cores that jobs may use; of a cluster nobody knows, and this machine's stand in."""
    return workflow.global_resources["_cores"].value or os.cpu_count()


def say(line):
    print(line, file=sys.stderr)


def tell_at_the_end():
    """The last line of a dry run that has jobs."""
    if workflow.dag is not None and workflow.dryrun and len(workflow.dag):
        say(f"{PREDICTED}{told(predicted(workflow.dag), cores_given())}")


def tell_while_it_runs(prediction):
    """What the run will take, and once in a while how much of it is left."""
    say(f"{PREDICTED}{told(prediction, cores_given())}")
    logger.addHandler(TimeLeft(Remaining(prediction.tasks, cores_given()), say))


def longest_first(prediction):
    """Of the jobs that are ready the one with the longest way to the end goes first.

    Else, by chance, the longest job comes last, and all cores but one wait for it.  What makes
    temporary files disposable goes before that, or those of every setting lie about.
    """
    ahead = ways(prediction.tasks)
    # finite, as a solver has to take it
    before_all = 1 + max(ahead.values(), default=0)
    jobs = list(workflow.dag.needrun_jobs())
    temporary = {f for job in jobs for f in job.output if f.is_flagged("temp")}
    priorities = {
        (job.rule.name, frozenset(job.wildcards_dict.items())): (
            ahead[number] if temporary.isdisjoint(job.input) else before_all
        )
        for job in jobs
        if (number := workflow.dag.jobid(job)) in ahead
    }

    def of_rule(name):
        return lambda wildcards: priorities.get(
            (name, frozenset(wildcards.items())), 0.0
        )

    for declared in workflow.rules:
        declared.priority = of_rule(declared.name)
    workflow.dag.update_priority()


if "--mode" not in sys.argv:  # and not a job's own Snakemake on a cluster
    OWN_COSTS = measured(RUN)
    say(first_line())
    atexit.register(tell_at_the_end)
