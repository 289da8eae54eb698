# predictions -> scores.  score and score_cell read test labels; of the other rules only
# select_hyperparameters does, for the oracle, and none that trains

from kerhrm_paper.config.tables import table_of
from kerhrm_paper.data.registry import DATA_SETS


def facts_of(table):
    """What scoring has to know of the data of a table, by name."""
    found = {}
    for name in table.data:
        data = checked(CONFIG.data, name)
        found[name] = {
            "generator": data.generator,
            "options": data.options.model_dump(mode="json"),
            "replicates": list(data.seeds.names),
        }
    return found


def seeds_of(table):
    """How many replicates each cell of a table has, as DATA/LEARNER."""
    return {
        f"{row.data}/{row.learner}": checked(
            CONFIG.learner, row.data, row.learner
        ).n_seeds
        for row in table.rows
    }


def code_of_scores(table):
    """:func:`code` with what scoring asks of the table's data sets.

    Closed forms and the attribute of a package's data set are loaded by its name.
    """
    modules = []
    for name in table.data:
        cell = checked(CONFIG.data, name)
        package = cell.entries["generate"].partition(".")[0].partition(":")[0]
        generator = DATA_SETS[cell.generator]
        for function in (generator.closed_forms, generator.attribute):
            home = getattr(function, "__module__", "")
            if home.partition(".")[0] == package:
                modules.append(home)
    return code("score", *dict.fromkeys(modules))


def single(wildcards):
    """The table of a single cell."""
    return table_of(data_of(wildcards), learner_of(wildcards))


rule score:
    input:
        predictions=predictions_of_cells(scored_table),
        train=files_of_data(scored_table, "train"),
        test_labels=files_of_data(scored_table, "test_labels"),
        published=lambda w: CONFIG.published.get(w.table, []),
    output:
        "<run>/scores/{table}.csv.gz",
    log:
        "<run>/logs/score/{table}.log",
    benchmark:
        "<run>/benchmarks/score/{table}.tsv"
    localrule: True
    params:
        data=lambda w: facts_of(scored_table(w)),
        n_seeds=lambda w: seeds_of(scored_table(w)),
        table=lambda w: scored_table(w).params(),
        code=lambda w: code_of_scores(scored_table(w)),
    message:
        "Score: {wildcards.table}"
    script:
        "../scripts/score.py"


# One cell, whatever its options are: no table need have it.
rule score_cell:
    input:
        predictions="<run>/{data}/{learner}/predictions.npz",
        train="<run>/{data}/data/train.npz",
        test_labels="<run>/{data}/data/test_labels.npz",
    output:
        "<run>/{data}/{learner}/scores.csv",
    log:
        "<run>/logs/score_cell/{data}/{learner}.log",
    benchmark:
        "<run>/benchmarks/score_cell/{data}/{learner}.tsv"
    localrule: True
    params:
        data=lambda w: facts_of(single(w)),
        n_seeds=lambda w: seeds_of(single(w)),
        table=lambda w: single(w).params(),
        code=lambda w: code_of_scores(single(w)),
    message:
        "Score: {wildcards.data}/{wildcards.learner}"
    script:
        "../scripts/score.py"
