# Kernelized Heterogeneous Risk Minimization, from raw data to tables.
#
#   snakemake --cores 8 all                          everything, at the paper's sizes
#   snakemake --cores 2 all --config preset=smoke    the whole DAG in two minutes
#   snakemake --cores 2 table1                       one table
#
# The data walk one way: raw -> data set -> NTF -> SVD (Psi) -> environments_t / theta_t
# -> predictions -> scores -> tables -> notebooks.  Rules stand by stage in workflow/rules.


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/functions.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/iterations.smk"
include: "workflow/rules/predictors.smk"
include: "workflow/rules/scoring.smk"
include: "workflow/rules/reporting.smk"


localrules:
    all,
    table1,
    table3,
    table4,
    write_configuration,


rule all:
    default_target: True
    input:
        f"{RESULTS}/config.yaml",
        rules.table1.input,
        rules.table3.input,
        rules.table4.input,
        README_STAMP,
